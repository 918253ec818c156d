package import AccelByteIO

/// The classes of a model, as its config.json states them.
package struct ClassLabels: Sendable {
    /// The names of classes by their numbers: `id2label`. Empty for models without classes.
    package let names: [Int: String]
    /// The conversion of logits to the scores of classes.
    package let scores: ClassScores

    /// Reads config.json.
    /// - Throws: `FormatError` naming a field of another type.
    package init(_ configuration: JSONField) throws {
        let field = configuration["id2label"]
        var names: [Int: String] = [:]
        for (key, name) in try field.exists ? field.members() : [] {
            guard let number = Int(key) else { throw name.error("is not the number of a class") }
            names[number] = try name.string()
        }
        self.names = names
        scores = try ClassScores(configuration)
    }
}
