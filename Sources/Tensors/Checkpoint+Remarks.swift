import ByteIO

extension Checkpoint {
    /// Fields of config.json by which other tools run Python code of the model's.
    private static let codeFields = ["auto_map", "custom_pipelines", "trust_remote_code"]

    /// What is worth knowing of the model's files, in sentences: what they ask for that is never done, and who else may change them.
    public var remarks: [String] {
        let fields = Self.codeFields.filter { configuration[$0].exists && configuration[$0].value != false }
        let code =
            fields.isEmpty
            ? []
            : ["\(configuration.file) asks for code of its own (\(fields.joined(separator: ", "))), which is never run"]
        let paths = files.map(\.path) + assets.map(\.path)
        return code + paths.filter { Files.writableNames(of: $0) > 1 }.map(sharedFileRemark)
    }
}

/// Says that a file can be written to by another name: what was checked may then no longer be what is there.
public func sharedFileRemark(_ path: String) -> String {
    "\(path) has \(Files.writableNames(of: path)) names (hard links): what is written by another one changes it too"
}
