import AccelByteIO
import AccelTensors

/// CTranslate2 models: `model.bin` with variables, config.json and a vocabulary.
public enum CTranslate2Format: ModelFormat {
    public static let name = "ctranslate2"
    public static let title = "a CTranslate2 model"
    public static let exporter: (any Exporter.Type)? = CTranslate2Exporter.self

    public static func recognises(_ path: String) -> Bool {
        let file = "\(path)/\(CTranslate2File.fileName)"
        guard Files.kind(of: path) == .folder, Files.kind(of: file) == .file, let bytes = try? MappedFile(file).bytes
        else {
            return false
        }
        return CTranslate2File.isStart(of: bytes, file: file)
    }

    public static func open(_ path: String, _ options: OpeningOptions) throws -> any ModelSource {
        try options.rejectConfiguration(of: path, title)
        try options.rejectInterfaces("\(path): the roles of its ports are those of its family")
        let mapped = try MappedFile("\(path)/\(CTranslate2File.fileName)")
        let file = try CTranslate2File(parsing: mapped.bytes, file: mapped.path)
        try file.check(file: mapped.path)
        do {
            return try CTranslate2Source(file, of: mapped, path: path)
        } catch let reason as RequestError where reason.diagnostic.code == .functionsNotRead {
            return CTranslate2VariableSource(file, path: path, reason: reason)
        }
    }
}
