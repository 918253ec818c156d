import AccelByteIO
import AccelTensors

/// MLX models as mlx-lm and mlx-swift load them: config.json with a `quantization` block, and safetensors files with codes,
/// scales and biases.
public enum MLXFormat: ModelFormat {
    public static let name = "mlx"
    public static let title = "a quantized MLX model"
    public static let takesConfiguration = true
    public static let takesAdapters = true
    public static let exporter: (any Exporter.Type)? = MLXExporter.self

    public static func recognises(_ path: String) -> Bool {
        let file = "\(path)/\(MLXConfiguration.fileName)"
        guard Files.kind(of: path) == .folder, Files.kind(of: file) == .file, let value = try? JSON.read(file) else {
            return false
        }
        let configuration = JSONField(value, file: file)
        let block = configuration[MLXQuantization.key]
        return block["bits"].exists && block["group_size"].exists || MLXWhisper.recognises(configuration)
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try HuggingFaceFormat.open(path, options, as: Self.self)
    }

    /// Returns the names and axes of a model, whether it is quantized or not; nil for those of checkpoints.
    /// - Throws: `FormatError` for a configuration without the sizes.
    static func layout(of checkpoint: Checkpoint) throws -> TensorLayout? {
        let configuration = checkpoint.configuration
        if MLXWhisper.recognises(configuration) { return try MLXWhisper.layout(of: checkpoint) }
        guard case .string(let type)? = configuration["model_type"].value,
            let names = MLXFamily.all.first(where: { $0.name == type })?.names, names.differs,
            !names.prefix.mlx.isEmpty,
            checkpoint.tensors.contains(where: { $0.name.hasPrefix(names.prefix.mlx) })
        else { return nil }
        let plain = [MLXQuantization.key, MLXQuantization.copyKey].reduce(configuration) { $0.removing($1) ?? $0 }
        return TensorLayout(configuration: plain, place: names.tensor(named:))
    }
}
