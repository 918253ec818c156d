import AccelByteIO

/// Core AI models of accelc: `main.mlirb` with the program and the weights, and `metadata.json`.
public enum CoreAIFormat: ModelFormat {
    public static let name = "coreai"
    public static let title = "a Core AI model (.aimodel)"
    public static let suffixes = [".aimodel"]
    public static let exporter: (any Exporter.Type)? = CoreAIExporter.self

    public static func recognises(_ path: String) -> Bool {
        Files.kind(of: path) == .folder && Files.kind(of: "\(path)/\(CoreAIFolder.moduleName)") == .file
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        try options.rejectInterfaces("\(path): functions of Core AI models are not read back")
        return CoreAISource(try CoreAIPackage(at: path))
    }
}
