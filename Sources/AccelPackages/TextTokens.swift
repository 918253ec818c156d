package import AccelByteIO

/// The tokens that begin and end a text, as a model's files name them.
package enum TextTokens {
    /// The files that name them; of these the first with an opinion decides, as in the framework.
    private static let files = ["generation_config.json", "config.json"]

    /// Returns a sentence on the tokens that a text begins and ends with; nil if the files name none.
    /// - Parameter document: returns the document of a file by its name; nil if there is none.
    package static func summary(in document: (_ name: String) throws -> JSONField?) -> String? {
        do {
            let start = try start(in: document)
            let stop = try stop(in: document).map(String.init)
            let end = stop.isEmpty ? nil : "ends with \(stop.joined(separator: " or ")) (eos_token_id)"
            let parts = [start, end].compactMap(\.self)
            return parts.isEmpty ? nil : parts.joined(separator: "; ")
        } catch {
            return "\(error)"
        }
    }

    /// Returns a phrase on the first tokens of a decoder beside an encoder, such as Whisper's start, language and task. Nil if the files
    /// name no start.
    private static func start(in document: (_ name: String) throws -> JSONField?) throws -> String? {
        for name in files {
            guard let document = try document(name), document["decoder_start_token_id"].exists else { continue }
            let first = try document["decoder_start_token_id"].int(in: 0...Int(Int32.max))
            let choices = [("a language", "lang_to_id"), ("a task", "task_to_id")].filter { document[$0.1].exists }
                .map { "\($0.0) (\($0.1) of \(name))" }
            let silent = document["no_timestamps_token_id"]
            let last =
                silent.exists
                ? ["\(try silent.int(in: 0...Int(Int32.max))) (no_timestamps_token_id) where no times are wanted"] : []
            return (["begins with \(first) (decoder_start_token_id)"] + choices + last).joined(separator: ", ")
        }
        return nil
    }

    /// Returns `eos_token_id` of generation_config.json, else of config.json, where it may be that of `text_config`. Empty if none of
    /// them has any.
    /// - Parameter document: returns the document of a file by its name; nil if there is none.
    /// - Throws: `FormatError` naming the file and the field, if it is no token or list of tokens.
    package static func stop(in document: (_ name: String) throws -> JSONField?) throws -> [Int64] {
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
