extension OutputKind {
    /// Returns the reason that a folder has a member other than regular files of these names; nil if it has none.
    public static func foreignMember(of folder: String, besides names: [String]) throws -> String? {
        try Files.list(folder).first {
            !names.contains($0) || Files.kindWithoutFollowing("\(folder)/\($0)") != .file
        }.map { "it holds \($0), which accelc did not put there" }
    }

    /// Returns the reason that the JSON document at `path` lacks the member "accelc" with this value; nil if it has it.
    public static func missingMark(_ mark: String, in path: String) throws -> String? {
        try JSON.read(path)["accelc"] == .string(mark)
            ? nil : "\(path) does not say \"accelc\": \"\(mark)\""
    }
}
