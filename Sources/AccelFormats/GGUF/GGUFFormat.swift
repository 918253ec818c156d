import AccelByteIO

/// GGUF files of llama.cpp: one file, the first file of several, or a folder with one of these.
public enum GGUFFormat: ModelFormat {
    public static let name = "gguf"
    public static let title = "a GGUF model"
    public static let suffixes = [GGUFFolder.suffix]
    public static let exporter: (any Exporter.Type)? = GGUFExporter.self

    public static func recognises(_ path: String) -> Bool {
        switch Files.kind(of: path) {
        case .file?:
            let start = (try? MappedFile(path).bytes).map { $0[0..<min($0.count, 4)].withBytes { Array($0) } }
            return start == GGUFFile.magic
        case .folder?:
            let names = (try? Files.list(path)) ?? []
            return names.contains { $0.hasSuffix(GGUFFolder.suffix) } && !names.contains("config.json")
        default: return false
        }
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        try options.rejectInterfaces("\(path): the roles of its ports are those of its family")
        return try GGUFSource(path)
    }
}
