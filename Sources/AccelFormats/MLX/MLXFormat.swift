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
        let block = JSONField(value, file: file)[MLXQuantization.key]
        return block["bits"].exists && block["group_size"].exists
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try HuggingFaceFormat.open(path, options, as: Self.self) { _ in nil }
    }
}
