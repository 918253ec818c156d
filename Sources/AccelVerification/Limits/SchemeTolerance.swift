import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The tolerance of a storage scheme where nothing tells what the scheme loses on a weight or on inputs: outputs against a
/// golden without a model, weights whose bytes have no proof, and exports whose weights have names of their own.
///
/// Elsewhere outputs are held to the loss that the reference has with the stored weights, on the same inputs
/// (`Tolerance.allowing(loss:)`), and stored bytes are proved. These limits only find values that are not a model's, so
/// they are well below the values measured for correct packages (in
/// dB; worst weight and worst output of all-MiniLM-L6-v2 on random tokens; small models with random weights are above):
///
/// | scheme | worst weight | worst output |
/// |---|---|---|
/// | float32 | exact | 124.4 |
/// | float16 | 68.4 | 57.8 |
/// | bfloat16 | 53.4 | 40.4 |
/// | int8, a scale a channel | 29.3 | 25.8 |
/// | int8, one scale | 8.1 | 8.9 |
/// | palette, 8 bits | 40.5 | 30.8 |
/// | palette, 6 bits | 28.1 | 19.6 |
/// | palette, 4 bits | 16.2 | 6.4 |
/// | int4, blocks of 32 | 16.3 | 8.9 |
/// | palette, 3, 2, 1 bits | 10.7, 6.8, 3.3 | -2.2, -5.5, -7.1 |
/// | float16 states | exact | 58.6 |
/// | int8 states | exact | 37.5 |
///
/// The error of pruning depends on the pruned fraction, so "sparse" has its own limit, for every encoding of the other
/// elements.
///
/// At 3 bits and below the outputs no longer resemble the model's; those limits only catch diverging values.
public struct SchemeTolerance: Sendable {
    /// The storage scheme, e.g. `4 bits`.
    public let scheme: String
    /// The lowest number of bits per code.
    let bits: Double
    /// SQNR of one weight in dB.
    public let weight: Double
    /// SQNR of an output end to end in dB.
    public let output: Double

    /// The scheme may lose something of a float32 weight.
    var isLossy: Bool { output < Self.rounding }

    /// Float32 arithmetic in another order, in dB: kernels were measured at 128 and more, whole models at 118 and more.
    public static let rounding = 100.0

    /// The table, from the most bits to the fewest. A codec has the limits of the first line whose bits it reaches; a
    /// line with infinite bits is found by its name only. Half precision loses more than its rounding below 6e-5;
    /// bfloat16 never does.
    public static let table: [SchemeTolerance] = [
        SchemeTolerance(scheme: "float32", bits: 32, weight: 140, output: rounding),
        SchemeTolerance(scheme: "float16", bits: 16, weight: 30, output: 45),
        SchemeTolerance(scheme: "bfloat16", bits: 16, weight: 48, output: 30),
        SchemeTolerance(scheme: "sparse", bits: .infinity, weight: 0.3, output: -12),
        SchemeTolerance(scheme: "int8 with one scale", bits: .infinity, weight: 2, output: 2),
        SchemeTolerance(scheme: "8 bits", bits: 8, weight: 5, output: 2),
        SchemeTolerance(scheme: "6 bits", bits: 6, weight: 12, output: 10),
        SchemeTolerance(scheme: "4 bits", bits: 4, weight: 5, output: 2),
        SchemeTolerance(scheme: "3 bits", bits: 3, weight: 3, output: -6),
        SchemeTolerance(scheme: "2 bits", bits: 2, weight: 1.5, output: -9),
        SchemeTolerance(scheme: "1 bit", bits: 0, weight: 0.3, output: -12),
    ]

    /// The line for key/value caches of float16, of a model that has float32 ones. Measured on packages without other
    /// losses: the 13 decoders of the tests, each on its golden and on three draws, have from 58.6 to 74.5 dB in their worst
    /// output or state; a decoder of 362 M random weights has 67.2 dB over 648 positions.
    static let halfStates = SchemeTolerance(scheme: "float16 states", bits: .infinity, weight: 140, output: 50)

    /// The line for key/value caches of int8, measured as that of float16: the 13 decoders have at least 37.5 dB. Keys of large
    /// models have a few large channels, which leave fewer codes to the others, so the limit is further below.
    static let byteStates = SchemeTolerance(scheme: "int8 states", bits: .infinity, weight: 140, output: 25)

    /// Returns the line for key/value caches; nil if nothing is rounded.
    static func line(for states: StateStorage) -> SchemeTolerance? {
        switch states {
        case .float32: nil
        case .float16: halfStates
        case .int8: byteStates
        }
    }

    /// The line for activations that are rounded to 8 bits. All-MiniLM-L6-v2 with float32 weights has 25.0 dB at least in its
    /// worst output over five draws of random tokens, and the limit is well below, as in the table.
    static let int8Activations = SchemeTolerance(scheme: "int8 activations", bits: .infinity, weight: 140, output: 15)

    /// The line for activations that are rounded to a fixed range. All-MiniLM-L6-v2 with int8 weights has 12.9 dB at least in
    /// its last hidden state over three draws of random tokens, with ranges of samples of text.
    static let fixedRanges = SchemeTolerance(
        scheme: "int8 activations with fixed ranges", bits: .infinity, weight: 140, output: 8)

    /// The line for activations and weights that are rounded to bfloat16 where they are multiplied. All-MiniLM-L6-v2 with float32
    /// weights has 43.2 dB at least in its worst output over three draws of random tokens, and 38.0 dB with bfloat16 weights, so the
    /// limit is that of such weights.
    static let bfloat16Activations = SchemeTolerance(
        scheme: "bfloat16 activations", bits: .infinity, weight: 140, output: 30)

    /// Returns the line for activations that are rounded.
    static func line(for rounding: QuantizedLinear.Rounding) -> SchemeTolerance {
        switch rounding {
        case .rows: int8Activations
        case .range: fixedRanges
        case .bfloat16: bfloat16Activations
        }
    }

    /// Returns the line for a stored weight.
    static func line(for weight: CompressedTensor) -> SchemeTolerance { line(for: EncodedWeight(weight)) }

    /// Returns the line for a weight of a model's files.
    static func line(for weight: EncodedWeight) -> SchemeTolerance {
        let isWhole = weight.codec.name == "int8" && weight.codec.values["axis"] == "tensor"
        let isSparse = weight.codec.values.layers.contains { $0.codec == "sparse" }
        let name = isSparse ? "sparse" : isWhole ? "int8 with one scale" : weight.codec.name
        return table.first { $0.scheme == name } ?? table.first { weight.codeBits >= $0.bits } ?? table[0]
    }
}

extension Tolerance {
    /// Returns the limit of outputs where no model tells what a scheme loses on the inputs.
    static func scheme(of line: SchemeTolerance) -> Tolerance {
        Tolerance(sqnr: line.output, origin: "the default for \(line.scheme)")
    }

    static func scheme(ofWeight weight: CompressedTensor) -> Tolerance {
        let line = SchemeTolerance.line(for: weight)
        return Tolerance(sqnr: line.weight, origin: "the default for \(line.scheme)")
    }

    /// Returns the tolerance for outputs of a function: the line of the weakest lossy scheme.
    /// - Parameters:
    ///   - states: the storage of the package's key/value caches, if the model has float32 ones.
    ///   - activations: the ways in which the package rounds some activations.
    static func scheme(
        ofOutputsReading lossy: [CompressedTensor], states: StateStorage = .float32,
        activations: Set<QuantizedLinear.Rounding> = []
    ) -> Tolerance {
        let others =
            [SchemeTolerance.line(for: states)].compactMap(\.self) + activations.map { SchemeTolerance.line(for: $0) }
        let weights = lossy.map(SchemeTolerance.line)
        guard let weakest = (weights + others).min(by: { $0.output < $1.output }) else { return .rounding }
        let subject = others.contains { $0.scheme == weakest.scheme } ? "" : "weights in "
        return Tolerance(sqnr: weakest.output, origin: "the default for \(subject)\(weakest.scheme)")
    }

    /// The tolerance for results that depend on key/value caches of float16, against the reference implementation with
    /// the same caches: sums in another order may round a key or value to the next float16.
    ///
    /// Measured over the 13 decoders of the tests, each on its golden and on three draws: most runs have no such number,
    /// and more than 100 dB; the worst output or state has 87.4 dB. A decoder of 362 M weights has 109.3 dB. Each
    /// operator by itself, also the rounding, is held to `rounding`, or compared exactly.
    static var roundedStates: Tolerance {
        .arithmetic(.float32, sqnr: 75, origin: "float32 arithmetic in another order, rounded to float16 in states")
    }

    /// The same for key/value caches of int8, where a key or value may be rounded to the next code.
    ///
    /// In the same runs no code was another one, and the worst output or state has 122.0 dB. One code of a cache of 100
    /// numbers that is the next one leaves about 50 dB.
    static var byteStates: Tolerance {
        .arithmetic(.float32, sqnr: 40, origin: "float32 arithmetic in another order, rounded to int8 in states")
    }

    /// Returns the tolerance for results against the reference implementation with the same key/value caches.
    static func rounding(in states: StateStorage) -> Tolerance {
        switch states {
        case .float32: .rounding
        case .float16: .roundedStates
        case .int8: .byteStates
        }
    }

    /// The tolerance for results that are rounded to float16 after each operation.
    ///
    /// Measured as the SQNR of a Core ML package's outputs, run with each fp16 result rounded, against the model in
    /// float32 with the same stored weights. All-MiniLM-L6-v2 with 128 random tokens has, over eight draws, at least
    /// 55.1 dB if everything is float16 (the Neural Engine's layout, norms included) and 56.2 dB if norms are float32;
    /// four weight encodings are between 55.8 and 57.1 dB. Of the models of `scripts/peers/coreml_models.py`, over all
    /// targets, a Phi-3-like decoder has the least, 51.0 dB, and the Kokoro generator 51.1 dB. The limit leaves 6 dB,
    /// twice the noise of the worst model: an epsilon of 6e-5 instead of MiniLM's 1e-12 gives 43.3 dB, and fails.
    static var halves: Tolerance {
        .arithmetic(.float16, sqnr: 45, origin: "computing in float16")
    }

    static var rounding: Tolerance {
        .arithmetic(.float32, sqnr: SchemeTolerance.rounding, origin: "float32 arithmetic in another order")
    }
}
