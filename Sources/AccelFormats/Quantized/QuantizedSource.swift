import AccelByteIO
import AccelModelFamilies
public import AccelPackages
public import AccelTensors
import AccelWeightCompression

/// A Hugging Face checkpoint with quantized weights: the programs of its family with decoded weights, and their encodings.
public struct QuantizedSource: CheckpointSource {
    public let path: String
    private let checkpoint: Checkpoint
    private let isConfigured: Bool
    /// The weights whose codes a codec has, by name.
    private let encoded: [String: CompressedTensor]
    /// The weights that are decoded, by name, each with the reason.
    private let decoded: [String: (tensor: StoredTensor, reason: String)]
    /// The tensors that are no parts of these.
    private let plain: [StoredTensor]
    private let titles: [String]
    private let hasActivations: Bool

    private static let configurationKeys = ["quantization_config", "compression_config"]
    /// Files of older tools, each with the member that has the configuration.
    private static let files = [
        "quantize_config.json": "", "quant_config.json": "", "hf_quant_config.json": "quantization",
    ]

    /// Reads the quantized weights of a checkpoint; nil if it has none.
    /// - Throws: `FormatError` if tensors contradict each other; `RequestError` for a scheme that is not supported.
    init?(_ checkpoint: Checkpoint, path: String, isConfigured: Bool) throws {
        let configuration = try Self.configuration(of: checkpoint)
        try Self.refuse(configuration)
        try QuantizedSchemes.refuseMarked(checkpoint)
        var (encoded, decoded) = ([String: CompressedTensor](), [String: (tensor: StoredTensor, reason: String)]())
        var (taken, titles) = (Set<String>(), Set<String>())
        for tensor in checkpoint.tensors {
            guard let layer = Self.layer(marked: tensor, in: checkpoint, configuration) else { continue }
            let name = layer.name + layer.scheme.weightName
            switch try layer.scheme.weight(of: layer) {
            case .encoded(let codec, let shape, let sections):
                encoded[name] = try CompressedTensor(
                    name: name, elementType: .float32, shape: shape, codec: Codecs.codec(codec), sections: sections,
                    file: tensor.file)
            case .decoded(let floats, let shape, let reason):
                decoded[name] = (StoredTensor(name: name, floats: floats, shape: shape), reason)
            }
            titles.insert(layer.scheme.title)
            taken.formUnion(layer.scheme.parts.map { layer.name + $0 })
        }
        guard !titles.isEmpty else { return nil }
        (self.checkpoint, self.path, self.isConfigured) = (checkpoint, path, isConfigured)
        (self.encoded, self.decoded, self.titles) = (encoded, decoded, titles.sorted())
        plain = checkpoint.tensors.filter { !taken.contains($0.name) }
        hasActivations = checkpoint.tensors.contains { taken.contains($0.name) && $0.name.contains(".input_") }
    }

    private static func layer(
        marked tensor: StoredTensor, in checkpoint: Checkpoint, _ configuration: JSONField
    ) -> QuantizedLayer? {
        for scheme in QuantizedSchemes.all where tensor.name.hasSuffix(scheme.mark) {
            let layer = QuantizedLayer(
                checkpoint: checkpoint, name: String(tensor.name.dropLast(scheme.mark.count)),
                configuration: configuration, scheme: scheme)
            if scheme.fits(layer) { return layer }
        }
        return nil
    }

    /// Returns the quantization's configuration, a missing field if there is none.
    private static func configuration(of checkpoint: Checkpoint) throws -> JSONField {
        let document = checkpoint.configuration
        for field in [document, document["text_config"]] {
            for key in configurationKeys where field[key].exists { return field[key] }
        }
        for (name, member) in files.sorted(by: { $0.key < $1.key })
        where Files.kind(of: "\(checkpoint.folder)/\(name)") == .file {
            guard let file = try checkpoint.document(name) else { continue }
            return member.isEmpty ? file : file[member]
        }
        return document[configurationKeys[0]]
    }

    private static func refuse(_ configuration: JSONField) throws {
        guard configuration["quant_method"].exists, case let name = try configuration["quant_method"].string(),
            let reason = QuantizedSchemes.refused[name]
        else { return }
        throw RequestError(
            "\(configuration["quant_method"].error("\(name) \(reason), and is not supported")); convert the original model",
            status: .unavailable)
    }

    public var format: any ModelFormat.Type { HuggingFaceFormat.self }
    public var abilities: Set<SourceAbility> { [.shapes, .tensors, .graph] }
    public var files: ModelFiles { checkpoint.reader }
    public var assets: [Asset] { checkpoint.assets.map { Asset(name: $0.name, content: $0.content) } }

    public var remarks: [String] {
        let reasons = Set(decoded.values.map(\.reason)).sorted()
        let lost = reasons.map { reason in
            let names = decoded.filter { $0.value.reason == reason }.keys.sorted()
            return
                "\(Wording.count(names.count, "weight")) of \(titles.joined(separator: ", ")) are decoded to their exact "
                + "values in float32, because \(reason) (\(names.prefix(3).joined(separator: ", ")))"
        }
        let activations =
            hasActivations
            ? ["the checkpoint has scales of activations, which are not read: activations are not quantized here"] : []
        return checkpoint.remarks + lost + activations
    }

    public var weights: [SourceWeight] {
        let kept = encoded.values.map { weight in
            SourceWeight(
                name: weight.name, shape: weight.shape, scheme: weight.codec.specification,
                storedBits: weight.byteCount * 8
            ) {
                StoredTensor(name: weight.name, floats: weight.floats(), shape: weight.shape)
            }
        }
        return (kept + decoded.values.map { SourceWeight($0.tensor) } + plain.map { SourceWeight($0) })
            .sorted { $0.name < $1.name }
    }

    var configuration: JSONField { checkpoint.configuration }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try model(
            of: decodedCheckpoint(), changed: [], parts: parts, ignoredTensors: ignoredTensors,
            allowsIdlePatterns: allowsIdlePatterns)
    }

    func decodedCheckpoint() throws -> Checkpoint {
        try MachineMemory.require(
            MachineMemory.sum(encoded.values.map { $0.shape.count * 4 }), for: "the decoded weights of \(path)")
        let values = encoded.values.map { StoredTensor(name: $0.name, floats: $0.floats(), shape: $0.shape) }
        let paths = Self.configurationKeys.flatMap { [$0, "text_config.\($0)"] }
        let configuration = paths.reduce(checkpoint.configuration) { $0.removing($1) ?? $0 }
        return checkpoint.replacing(
            tensors: plain + values + decoded.values.map(\.tensor), configuration: configuration)
    }

    func model(
        of original: Checkpoint, changed: Set<String>, parts: [String], ignoredTensors: [String],
        allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try HuggingFaceModel(original, path: path, isConfigured: isConfigured)
            .model(parts: parts, ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns)
            .made(of: encoded.filter { !changed.contains($0.key) }, in: Set(checkpoint.tensors.map(\.name)))
    }
}
