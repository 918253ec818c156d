package import AccelByteIO

/// The tokens that end a text, as a model's files name them.
package enum StopTokens {
    /// The files that name them; of these the first with an opinion decides, as in the framework.
    private static let files = ["generation_config.json", "config.json"]

    /// Returns `eos_token_id` of generation_config.json, else of config.json, where it may be that of `text_config`. Empty if none of
    /// them has any.
    /// - Parameter document: returns the document of a file by its name; nil if there is none.
    /// - Throws: `FormatError` naming the file and the field, if it is no token or list of tokens.
    package static func numbers(in document: (_ name: String) throws -> JSONField?) throws -> [Int64] {
        for name in files {
            guard let document = try document(name) else { continue }
            for field in [document["eos_token_id"], document["text_config"]["eos_token_id"]] where field.exists {
                let fields = if case .array? = field.value { try field.array() } else { [field] }
                return try fields.map { Int64(try $0.int(in: 0...Int(Int32.max))) }
            }
        }
        return []
    }
}
