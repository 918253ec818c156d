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
    public static let version = 4
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
        try model.functions.rejectInexpressible(in: "MLX")
        let layout = try MLXLayout(
            of: model.plan.map(\.source.name), family: model.family, origins: model.origins, assets: model.assets)
        let largest = layout.largestGroup(of: model.plan.map { ($0.source.name, $0.source.shape) })
        var (gaps, rejections) = ([String: String](), WeightRejections())
        for weight in model.plan {
            let (codec, source) = (weight.choice.codec, weight.source)
            guard let target = layout.targets[source.name] else {
                try layout.settings.check(computed: source.name, source.floats())
                gaps[source.name] = "MLX computes it"
                continue
            }
            let storage = MLXScheme.storage(
                of: codec, elementType: source.elementType, shape: source.shape, as: target.name, groupsUpTo: largest)
            if case .unsupported(let scheme) = storage { rejections.add(source.name, scheme) }
        }
        if !allowsFallback { try rejections.reject() }
        return gaps.merging(rejections.reasons) { $1 }
    }

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        try model.program.functions.rejectInexpressible(in: "MLX")
        try model.rejectScaledChannels(in: "MLX")
        let layout = try MLXLayout(
            of: model.program.weights.map(\.tensor.name), family: model.family, origins: model.origins,
            assets: model.assets)
        var (weights, aside) = (layout.settings.extra.map { MLXWeight($0) }, [MLXWeight]())
        let largest = layout.largestGroup(of: model.program.weights.map { ($0.tensor.name, $0.tensor.shape) })
        for weight in model.program.weights.map(\.tensor) {
            guard let target = layout.targets[weight.name] else {
                aside.append(try layout.computed(weight))
                continue
            }
            var stored = try MLXWeight(weight, as: target.name, order: target.order, groupsUpTo: largest)
            if layout.family.names.tensor(named: target.name)?.name != weight.name { stored.ownName = weight.name }
            weights.append(stored)
        }
        weights.sort { $0.name < $1.name }
        let quantization = MLXQuantization(of: weights.compactMap { $0.layer })
        let folder = MLXFolder(
            weights: weights, aside: aside, configuration: try layout.settings.text(quantization),
            assets: try model.assets.withCheckpointTokenizer(), provenance: model.provenance,
            fileName: layout.family.isOneFile ? MLXWhisper.fileName : nil)
        try folder.write(to: path, shardBytes: shardBytes)
        let plain = PlainWeights(model.plain, of: model.program.weights.map(\.tensor))
        return try report(folder, in: path, quantization, layout.settings.remarks, plain)
    }

    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        try MLXFolder.index.provenance(file)
    }
}

/// The names of a model's tensors in MLX's class, and its configuration.
struct MLXLayout {
    let family: MLXFamily
    /// The names in the class and the order of axes, by the names of the weights; those that the class computes have none.
    let targets: [String: (name: String, order: AxisOrder)]
    let settings: any MLXSettings

    /// - Parameter weights: the names of all weights.
    /// - Throws: `RequestError` if no class of MLX is the model's.
    init(of weights: [String], family: String, origins: TensorOrigins, assets: [Asset]) throws {
        let family = try MLXFamily.named(family)
        self.family = family
        targets = Dictionary(
            weights.compactMap { weight in family.names.place(of: weight).map { (weight, $0) } }
        ) { first, _ in first }
        for (weight, derivation) in origins.derivations where weights.contains(weight) {
            guard derivation.rule == .transpose, targets[weight]?.order == .transposed else {
                throw RequestError("MLX: \(quoted(weight)) is not a tensor of the checkpoint, as MLX expects it")
            }
        }
        try family.check(targets.values.map(\.name))
        let ownsHead = weights.contains(family.ownHead)
        if family.name == MLXWhisper.family.name {
            guard !ownsHead else {
                throw RequestError("MLX: mlx-whisper has no head of its own, but the model has \(family.ownHead)")
            }
            settings = try MLXWhisper(of: assets)
        } else {
            settings = try MLXConfiguration(of: assets, for: family, ownsHead: ownsHead)
        }
    }

    /// Returns the largest group for scales that hold for whole rows: mlx-whisper has one size of groups for all layers.
    func largestGroup(of weights: [(name: String, shape: Shape)]) -> Int {
        let largest = MLXScheme.largestGroup
        guard family.name == MLXWhisper.family.name else { return largest }
        let layers = weights.filter { $0.shape.rank == 2 && targets[$0.name]?.name.hasSuffix(".weight") == true }
        return layers.map { MLXScheme.part(of: $0.shape, upTo: largest) }.min() ?? largest
    }

    /// Returns a tensor that the class computes, as accelc writes it beside the weights: numbers differ in their last bits.
    /// - Throws: `RequestError` for a tensor that the class computes in another way.
    func computed(_ weight: CompressedTensor) throws -> MLXWeight {
        let base = family.names.base(weight.name)
        var tensor = StoredTensor(name: base, floats: weight.floats(), shape: weight.shape)
        // A package may have rounded it.
        if case .values(let type, let bytes)? = weight.encoding {
            try settings.check(computed: weight.name, tensor.floats())
            tensor = StoredTensor(name: base, elementType: type, shape: weight.shape, bytes: bytes)
        }
        var stored = MLXWeight(tensor)
        if family.names.tensor(named: base)?.name != weight.name { stored.ownName = weight.name }
        return stored
    }
}
