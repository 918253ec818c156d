import ByteIO
import Programs
import Tensors
import WeightCompression

/// Writes weights and tables: small ones into the program, the others into the blob file, each once for all functions.
struct WeightLowering {
    let tensors: [String: CompressedTensor]
    let options: CoreMLOptions
    var blobs = BlobFile()
    /// What became of the weights, by name.
    private(set) var outcomes: [String: WeightOutcome] = [:]
    private(set) var clamped: Set<String> = []

    init(_ weights: [CompressedWeight], options: CoreMLOptions) {
        tensors = Dictionary(uniqueKeysWithValues: weights.map { ($0.tensor.name, $0.tensor) })
        self.options = options
    }

    /// The operand for a constant of the program.
    /// - Throws: `RequestError` naming the tensor whose form the target has no words for; `FormatError` for a weight that
    ///   does not fit float16.
    mutating func lowered(
        _ constant: Program.Constant, as type: MILDataType, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let name = constant.tensor.name
        guard constant.isWeight, let weight = tensors[name] else {
            return try table(constant.tensor, as: type, in: &builder)
        }
        var place = WeightPlace(name: name, extents: weight.shape.dimensions, type: type)
        if type.isFloatingPoint {
            do {
                let operand = try compressed(weight.form, &place, in: &builder)
                if let operand {
                    let known = outcomes[name]
                    outcomes[name] = WeightOutcome(
                        form: place.form, byteCount: max(known?.byteCount ?? 0, place.byteCount),
                        count: weight.shape.count, fallback: nil)
                    return operand
                }
            } catch let gap as FormGap {
                guard options.allowsFallback else {
                    throw RequestError(
                        "weight \"\(name)\" as \(weight.codec.specification) cannot be written for "
                            + "\(options.target.rawValue): \(gap.reason); \(gap.alternative), or add --allow-fallback")
                }
                place.fallback = gap.reason
            }
        }
        let operand = try dense(weight, place, in: &builder)
        outcomes[name] = WeightOutcome(
            form: "const", byteCount: weight.shape.count * (type.bits ?? 32) / 8, count: weight.shape.count,
            fallback: place.fallback)
        return operand
    }

    private mutating func compressed(
        _ form: WeightForm?, _ place: inout WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand? {
        switch form {
        case nil: throw FormGap(reason: "no operation of Core ML's holds it", alternative: "use int8 or a palette")
        case .values: nil
        case .affine(let affine): try self.affine(affine, &place, in: &builder)
        case .palette(let palette): try self.palette(palette, &place, in: &builder)
        }
    }

    /// All elements, as a constant of `place.type`.
    private mutating func dense(
        _ weight: CompressedTensor, _ place: WeightPlace, in builder: inout MILBuilder
    ) throws -> MILOperand {
        guard place.type.isFloatingPoint else {
            let stored = StoredTensor(
                name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: weight.sections[0])
            return try table(stored, as: place.type, in: &builder)
        }
        let stored: ElementType = place.type == .float16 ? .float16 : .float32
        let value = value(place.name, place.type, place.extents) {
            if case .values(stored, let bytes)? = weight.form { return bytes }
            return try StoredTensor(name: weight.name, floats: weight.floats(), shape: weight.shape).bytes(as: stored)
        }
        return builder.declare(place.name, try value())
    }

    /// A table that the tool made, or a weight of integers.
    private mutating func table(
        _ tensor: StoredTensor, as type: MILDataType, in builder: inout MILBuilder
    ) throws -> MILOperand {
        let host = HostTensor(tensor)
        let extents = tensor.shape.dimensions
        guard type.isFloatingPoint else {
            let content: MILValue.Content =
                type == .bool ? .flags(host.flags) : .integers(host.integers.map(Int32.init(clamping:)))
            return builder.declare(tensor.name, MILValue(MILTensorType(type, extents), content))
        }
        var floats = host.floats
        if type == .float16 {
            // Masks: "minus infinity" as float32 has it. Half of float16's range hides as well, and does not overflow
            // when a score is added.
            for index in floats.indices where abs(floats[index]) > Self.largestHalf && floats[index].isFinite {
                floats[index] = floats[index] < 0 ? -30000 : 30000
                clamped.insert(tensor.name)
            }
        }
        let content = ByteView(floats)
        let key = "\(tensor.name) \(SHA256.digest(of: content))"
        let value = value(key, type, extents) {
            try StoredTensor(name: tensor.name, elementType: .float32, shape: tensor.shape, bytes: content)
                .bytes(as: type == .float16 ? .float16 : .float32)
        }
        return builder.declare(tensor.name, try value())
    }

    private static let largestHalf: Float = 65504

    /// A constant: an entry of the blob file from 10 elements on, as coremltools has it, else in the program.
    mutating func value(
        _ key: String, _ type: MILDataType, _ extents: [Int], _ content: @escaping () throws -> ByteView
    ) -> () throws -> MILValue {
        let (milType, count) = (MILTensorType(type, extents), extents.reduce(1, *))
        if count >= 10 {
            let offset = blobs.offset("\(key) \(type.word)", type, elements: count, content: content)
            return { MILValue(milType, .blob(offset: offset)) }
        }
        return {
            let bytes = try content().withBytes { Array($0) }
            guard type == .float32 else { return MILValue(milType, .bytes(bytes)) }
            let floats = bytes.withUnsafeBytes { raw in
                (0..<count).map { raw.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
            return MILValue(milType, .floats(floats))
        }
    }
}

/// A weight on its way into the program.
struct WeightPlace {
    let name: String
    let extents: [Int]
    /// What it is when it is decompressed.
    let type: MILDataType
    /// What it became, e.g. `constexpr_lut_to_dense`.
    var form = "const"
    var byteCount = 0
    /// Why it is not stored as the recipe says; nil when it is.
    var fallback: String?

    var rows: Int { extents.first ?? 1 }
    var columns: Int { extents.dropFirst().reduce(1, *) }
}

/// A stored form that a target has no words for.
struct FormGap: Error {
    let reason: String
    let alternative: String
}

/// What a weight became in the written file.
public struct WeightOutcome: Equatable, Sendable {
    /// `const`, or the operation that decompresses it.
    public let form: String
    public let byteCount: Int
    public let count: Int
    /// Why it is not stored as the recipe says; nil when it is.
    public let fallback: String?

    public var bitsPerWeight: Double { count == 0 ? 0 : Double(byteCount * 8) / Double(count) }
}

extension StoredTensor {
    /// Its elements as float16 or float32.
    /// - Throws: `FormatError` naming the element that is too large.
    func bytes(as type: ElementType) throws -> ByteView {
        let codec = try Codecs.codec(type == .float16 ? "float16" : "float32")
        return try CompressedTensor.compressing(self, with: codec, threads: 1).tensor.sections[0]
    }
}

extension [Float] {
    /// Rounded to binary16, little-endian; what is too large becomes infinite.
    var halfBytes: [UInt8] {
        flatMap { value in
            let bits = Half.bits(value)
            return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
        }
    }
}
