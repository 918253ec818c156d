extension OutputKind {
    /// The first member of a folder that is no regular file of these names, as an objection.
    public static func foreignMember(of folder: String, besides names: [String]) throws -> String? {
        try Files.list(folder).first {
            !names.contains($0) || Files.kindWithoutFollowing("\(folder)/\($0)") != .file
        }.map { "it holds \($0), which accelc did not put there" }
    }

    /// Whether the JSON document at `path` has the member "accelc" of this value; an objection where it has not.
    public static func missingMark(_ mark: String, in path: String) throws -> String? {
        try JSON.read(path)["accelc"] == .string(mark)
            ? nil : "\(path) does not say \"accelc\": \"\(mark)\""
    }
}
