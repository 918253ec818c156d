import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The weights that an exported model stores, decoded, by the names of the model's constants.
struct RuntimeWeights {
    /// By the constant's name.
    let stored: [String: StoredTensor]
    /// Each weight against the model's.
    let findings: [WeightFinding]
    /// All weights together.
    let metrics: Metrics
    /// The weights of the model that the export does not have.
    let missing: [String]
    /// The lossy scheme that loses most; nil if no weight has lost anything.
    let weakest: SchemeTolerance?

    /// The limit of numbers that are stored as float32: a recipe may have rounded them to bfloat16 before (55 dB were measured), and
    /// gains that GGUF stores plus 1 lose their last bits (111 dB).
    private static let plain = 48.0

    /// A weight of the export.
    private struct Weight {
        let tensor: StoredTensor
        let codec: String
        let byteCount: Int
        let line: SchemeTolerance
    }

    /// - Parameter programs: of the model.
    /// - Returns: nil for formats whose weights have no names of the model's.
    init?(of source: any ModelSource, against programs: [Program], budget: Budget?, progress: (Double) -> Void) throws {
        guard let weights = try Self.weights(of: source) else { return nil }
        let constants = programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
        let originals = Dictionary(constants.map { ($0.name, $0) }) { first, _ in first }.sorted { $0.key < $1.key }
        guard originals.isEmpty || originals.contains(where: { weights[$0.key] != nil }) else { return nil }
        var (findings, all): ([WeightFinding], Metrics) = ([], Metrics())
        var stored: [String: StoredTensor] = [:]
        var weakest: SchemeTolerance?
        for (index, (name, original)) in originals.enumerated() {
            progress(Double(index) / Double(originals.count))
            guard let weight = weights[name], weight.tensor.shape == original.shape else { continue }
            let metrics = Metrics(weight.tensor.floats(), against: original.floats())
            let tolerance =
                budget?.tolerance(forWeight: name)
                ?? Tolerance(
                    sqnr: min(weight.line.weight, Self.plain), origin: "the default for \(weight.line.scheme)")
            findings.append(
                WeightFinding(
                    name: name, shape: original.shape, codec: weight.codec, byteCount: weight.byteCount,
                    sourceByteCount: original.bytes.count, isTable: false, metrics: metrics.summarized,
                    tolerance: tolerance, bound: nil, failure: tolerance.failureReason(for: metrics)))
            all.merge(metrics)
            stored[name] = weight.tensor
            if !metrics.isExact, weight.line.output < weakest?.output ?? .infinity { weakest = weight.line }
        }
        (self.stored, self.findings, self.metrics, self.weakest) = (stored, findings, all, weakest)
        missing = originals.map(\.key).filter { stored[$0] == nil }
    }

    /// - Returns: nil if the source has neither functions nor names.
    private static func weights(of source: any ModelSource) throws -> [String: Weight]? {
        guard source.abilities.contains(.graph) else {
            return try source.weights.reduce(into: [:]) { all, weight in
                all[weight.name] = Weight(
                    tensor: try weight.values(), codec: weight.scheme, byteCount: (weight.storedBits + 7) / 8,
                    line: .line(for: weight))
            }
        }
        let model = try source.model()
        let bits = Dictionary(try source.weights.map { ($0.name, $0.storedBits) }) { first, _ in first }
        let constants = model.programs.flatMap(\.constants).filter(\.isWeight).compactMap(\.tensor)
        return constants.reduce(into: [:]) { all, tensor in
            let encoded = model.encoded[tensor.name]
            all[tensor.name] = Weight(
                tensor: tensor, codec: encoded?.codec.specification ?? tensor.elementType.rawValue,
                byteCount: bits[tensor.name].map { ($0 + 7) / 8 } ?? encoded?.byteCount ?? tensor.bytes.count,
                line: encoded.map { SchemeTolerance.line(for: $0) } ?? .line(for: tensor.elementType))
        }
    }
}

extension SchemeTolerance {
    /// Returns the line for uncompressed numbers.
    static func line(for type: ElementType) -> SchemeTolerance {
        table.first { $0.scheme == (type == .bfloat16 ? "bfloat16" : type == .float16 ? "float16" : "float32") }
            ?? table[0]
    }

    /// Returns the line for a weight of an export, by its scheme's name and the bits of its codes.
    static func line(for weight: SourceWeight) -> SchemeTolerance {
        let bits = Double(weight.storedBits) / Double(max(weight.shape.count, 1))
        let isSparse = weight.scheme.contains("sparse")
        let isWhole = weight.scheme.hasPrefix("int8") && bits <= 8 + 32.0 / Double(max(weight.shape.count, 1))
        let name = isSparse ? "sparse" : isWhole ? "int8 with one scale" : weight.scheme.lowercased()
        let plain = ["f32": "float32", "f16": "float16", "bf16": "bfloat16"][name] ?? name
        return table.first { $0.scheme == plain } ?? table.first { weight.codeBits >= $0.bits } ?? table[0]
    }

    /// Returns the line of the weights that lose most, for formats whose weights cannot be compared with the model's.
    /// - Returns: nil if all have float32 elements.
    static func weakest(of weights: [SourceWeight]) -> SchemeTolerance? {
        weights.filter { $0.shape.rank > 1 }.map { line(for: $0) }.filter { $0.output < rounding }
            .min { $0.output < $1.output }
    }
}
