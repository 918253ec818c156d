public import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Writes a folder that mlx-lm and mlx-swift load: quantized safetensors, config.json and the tokenizer.
public struct MLXExporter: Exporter {
    public static let name = "mlx"
    public static let summary = "an MLX model (quantized safetensors with config.json, for mlx-lm and mlx-swift)"
    public static let options = [ExportOption.allowFallback]
    public static let output = OutputKind.mlxFolder
    public static let version = 1
    public static let dependsOnShapes = false
    public static let plainScheme = "stored"

    private let allowsFallback: Bool
    /// The size at which a new file of weights begins, as in mlx-lm.
    private let shardBytes: Int

    public init(_ values: ExportOptionValues) {
        self.init(allowsFallback: values.has(.allowFallback))
    }

    init(allowsFallback: Bool, shardBytes: Int = 5 << 30) {
        (self.allowsFallback, self.shardBytes) = (allowsFallback, shardBytes)
    }

    public func check(_ model: PlannedExport) throws -> [String: String] {
        try Self.refuseRoundedActivations(model.functions)
        _ = try MLXLayout(
            of: model.plan.map(\.source.name), family: model.family, origins: model.origins, assets: model.assets)
        var gaps: [String: String] = [:]
        for weight in model.plan {
            let (codec, source) = (weight.choice.codec, weight.source)
            let storage = MLXScheme.storage(of: codec, elementType: source.elementType, shape: source.shape)
            guard case .unsupported(let reason) = storage else { continue }
            guard allowsFallback else {
                throw RequestError(
                    "weight \(quoted(source.name)): \(reason), or --allow-fallback to leave such weights as they are")
            }
            gaps[source.name] = reason
        }
        return gaps
    }

    private static func refuseRoundedActivations(_ functions: [FrozenProgram]) throws {
        guard !functions.contains(where: { $0.program.nodes.contains { $0.operation is QuantizedLinear } }) else {
            throw RequestError("MLX: rounded activations cannot be expressed: leave them out of the recipe")
        }
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        try Self.refuseRoundedActivations(model.program.functions)
        guard model.scalings.isEmpty else {
            throw RequestError(
                "MLX: the model's channels are scaled (method=awq, or smoothed activations), which MLX cannot undo")
        }
        let layout = try MLXLayout(
            of: model.program.weights.map(\.tensor.name), family: model.family, origins: model.origins,
            assets: model.assets)
        let weights = try model.program.weights.map { weight in
            try MLXWeight(weight.tensor, as: layout.names[weight.tensor.name] ?? weight.tensor.name)
        }.sorted { $0.name < $1.name }
        let quantization = MLXQuantization(of: weights.compactMap { $0.layer })
        let folder = MLXFolder(
            weights: weights, configuration: layout.configuration.text(quantization), assets: model.assets,
            provenance: model.provenance)
        try folder.write(to: path, shardBytes: shardBytes)
        return report(folder, quantization, layout.configuration.remarks, model.plain)
    }

    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        guard let bytes = try file(MLXFolder.indexName) else { return [:] }
        return MLXFolder.provenance(in: JSONField(try JSON.parse(bytes, file: MLXFolder.indexName), file: ""))
    }
}

/// The names of a model's tensors in mlx-lm's class, and its configuration.
struct MLXLayout {
    /// The names in the class, by the names of the weights.
    let names: [String: String]
    let configuration: MLXConfiguration

    /// - Parameter weights: the names of all weights.
    /// - Throws: `RequestError` if no class of mlx-lm is the model's.
    init(of weights: [String], family: String, origins: TensorOrigins, assets: [Asset]) throws {
        let family = try MLXFamily.named(family)
        if let derived = weights.first(where: { origins.derivations[$0] != nil }) {
            throw RequestError("MLX: \(quoted(derived)) is not a tensor of the checkpoint, as mlx-lm expects it")
        }
        let named = weights.map { ($0, MLXFamily.name(of: $0)) }
        try family.check(named.map(\.1))
        names = Dictionary(named) { first, _ in first }
        configuration = try MLXConfiguration(
            of: assets, for: family, ownsHead: named.contains { $0.1 == MLXFamily.head })
    }
}
