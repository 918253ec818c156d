import AccelByteIO

/// Files of whisper.cpp (`ggml-*.bin`): a file, or a folder of accelc with one.
public enum WhisperCPPFormat: ModelFormat {
    public static let name = "whisper.cpp"
    public static let title = "a whisper.cpp model"
    public static let exporter: (any Exporter.Type)? = WhisperCPPExporter.self

    public static func recognises(_ path: String) -> Bool {
        guard let file = file(of: path), let bytes = try? MappedFile(file).bytes else { return false }
        return bytes[0..<min(bytes.count, 4)].withBytes { Array($0) } == WhisperFile.magic
    }

    /// Returns the file of a model; nil if there is none.
    static func file(of path: String) -> String? {
        switch Files.kind(of: path) {
        case .file?: return path
        case .folder?:
            let file = "\(path)/\(WhisperCPPExporter.fileName)"
            return Files.kind(of: file) == .file ? file : nil
        default: return nil
        }
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        try options.rejectInterfaces("\(path): the roles of its ports are those of its family")
        return try WhisperCPPSource(path)
    }
}
