extension Checkpoint {
    /// Returns the folder or file that a model's name refers to; nil if there is none. Reads no file.
    public static func path(of model: String) -> String? { try? ModelLocation.resolve(model) }
}
