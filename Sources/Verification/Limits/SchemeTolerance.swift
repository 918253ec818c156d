import ByteIO
import Programs
import Tensors
import WeightCompression

/// How much a way of storing weights may lose when no budget says otherwise.
///
/// The limits lie a few dB under what was measured on all-MiniLM-L6-v2 and on small models with random weights; they say
/// whether the scheme is still a fair stand-in for the model. They do not have to find faults: that every stored code is
/// the one that its codec had to choose is checked exactly, and that the package computes what its weights say is checked
/// to float32 rounding, whatever the scheme.
public struct SchemeTolerance: Sendable {
    /// What is stored, e.g. `4 bits`.
    public let scheme: String
    /// Bits a code, at least.
    let bits: Double
    /// SQNR of one weight in dB.
    public let weight: Double
    /// SQNR of an output end to end in dB.
    public let output: Double

    /// Float32 arithmetic in another order: what an output may differ when no weight loses anything, in dB.
    public static let rounding = 100.0

    /// The table, from the most bits to the least. The first line that a codec's bits reach is its limit.
    public static let table: [SchemeTolerance] = [
        SchemeTolerance(scheme: "float32", bits: 32, weight: 140, output: rounding),
        SchemeTolerance(scheme: "float16", bits: 16, weight: 60, output: 45),
        SchemeTolerance(scheme: "bfloat16", bits: 16, weight: 48, output: 30),
        SchemeTolerance(scheme: "8 bits", bits: 8, weight: 22, output: 15),
        SchemeTolerance(scheme: "6 bits", bits: 6, weight: 14, output: 8),
        SchemeTolerance(scheme: "4 bits", bits: 4, weight: 6, output: 2),
        SchemeTolerance(scheme: "3 bits", bits: 3, weight: 4, output: -2),
        SchemeTolerance(scheme: "2 bits", bits: 2, weight: 2, output: -5),
        SchemeTolerance(scheme: "1 bit", bits: 0, weight: 0.5, output: -8),
    ]

    /// The line for a stored weight.
    static func line(for weight: CompressedTensor) -> SchemeTolerance {
        let layouts = weight.codec.sections(elementType: weight.elementType, shape: weight.shape)
        let codeBytes = (layouts.first { $0.name == "codes" } ?? layouts.first)?.byteCount ?? 0
        let codes = Double(codeBytes * 8) / Double(max(weight.shape.count, 1))
        return table.first { $0.scheme == weight.codec.name } ?? table.first { codes >= $0.bits } ?? table[0]
    }
}

extension Tolerance {
    static func scheme(ofWeight weight: CompressedTensor) -> Tolerance {
        let line = SchemeTolerance.line(for: weight)
        return Tolerance(sqnr: line.weight, origin: "the default for \(line.scheme)")
    }

    /// For outputs of a function: the weakest of the schemes that lose something.
    static func scheme(ofOutputsReading lossy: [CompressedTensor]) -> Tolerance {
        guard let weakest = lossy.map(SchemeTolerance.line).min(by: { $0.output < $1.output }) else {
            return .rounding
        }
        return Tolerance(sqnr: weakest.output, origin: "the default for weights in \(weakest.scheme)")
    }

    static var rounding: Tolerance {
        Tolerance(sqnr: SchemeTolerance.rounding, origin: "float32 arithmetic in another order")
    }
}
