import AccelByteIO

extension Checkpoint {
    /// Returns the folder or file that a model's name refers to; nil if there is none. Reads no file.
    public static func path(of model: String) -> String? { try? ModelLocation.resolve(model) }

    /// Returns where a model of the local Hugging Face cache comes from, such as `hf:OWNER/NAME@COMMIT`; nil for any other model.
    public static func origin(of model: String) -> String? {
        guard let path = path(of: model) else { return nil }
        let parts = path.split(separator: "/")
        guard let index = parts.lastIndex(of: "snapshots"), index > 0, index + 1 < parts.count else { return nil }
        let (repository, commit) = (parts[index - 1].parts(between: "--"), parts[index + 1])
        guard (2...3).contains(repository.count), repository[0] == "models", Digest.isHexadecimal(commit, 40...40)
        else {
            return nil
        }
        return "hf:\(repository.dropFirst().joined(separator: "/"))@\(commit)"
    }
}
