extension Checkpoint {
    /// The folder or file that the name of a model stands for; nil when there is none. Nothing is read but names.
    public static func path(of model: String) -> String? { try? ModelLocation.resolve(model) }
}
