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
        return code + unread + cutOff + sharedFilesRemark(paths)
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

/// Returns one warning about those files that have several hard links, so that their content may change after it was checked; none if
/// there are none.
public func sharedFilesRemark(_ paths: [String]) -> [String] {
    let shared = paths.filter { Files.writableNames(of: $0) > 1 }
    guard let first = shared.first else { return [] }
    let others = shared.count == 1 ? " has" : " and \(Wording.count(shared.count - 1, "other file")) have"
    return [
        "\(first)\(others) further names (hard links), through which \(shared.count == 1 ? "it" : "they") can be changed"
    ]
}
