import AccelByteIO

extension Checkpoint {
    /// Fields of config.json that let other tools run Python code of the model.
    private static let codeFields = ["auto_map", "custom_pipelines", "trust_remote_code"]

    /// Sentences about the model's files: unsupported requests, and hard-link warnings.
    public var remarks: [String] {
        let fields = Self.codeFields.filter { configuration[$0].exists && configuration[$0].value != false }
        let code =
            fields.isEmpty
            ? []
            : ["\(configuration.file) asks for code of its own (\(fields.joined(separator: ", "))), which is never run"]
        let paths = files.map(\.path) + assets.map(\.path)
        let unread = unreadWeightFiles.map { "\(folder)/\($0) lies beside the model's weights and is not read" }
        return code + unread + cutOff + paths.filter { Files.writableNames(of: $0) > 1 }.map(sharedFileRemark)
    }

    /// Sentences on files that are passed through, as JSON by their name, and that do not end as JSON: programs that need them fail.
    private var cutOff: [String] {
        assets.filter { $0.name.hasSuffix(".json") }.compactMap { asset in
            let end = asset.content.withBytes { bytes in bytes.last { !" \t\r\n".utf8.contains($0) } }
            guard end != UInt8(ascii: "}"), end != UInt8(ascii: "]") else { return nil }
            return
                "\(asset.path) is no whole JSON file, since it does not end with a bracket: it is passed through as it is; get it again"
        }
    }

    /// The names of files that look like further weights of the model.
    private var unreadWeightFiles: [String] {
        guard files.contains(where: { Files.name(of: $0.path).hasPrefix("model") }) else { return [] }
        let read = Set(files.map { Files.name(of: $0.path) })
        let names = (try? reader.names()) ?? []
        return names.filter { $0.hasPrefix("model") && $0.hasSuffix(".safetensors") && !read.contains($0) }
    }
}

/// Returns a warning that a file has several hard links, so that its content may change after it was checked.
public func sharedFileRemark(_ path: String) -> String {
    "\(path) has \(Files.writableNames(of: path)) names (hard links): what is written by another one changes it too"
}
