public import AccelByteIO
import AccelText

/// The tokenizer of a GGUF file in the files that Hugging Face's tools read.
public struct CheckpointTokenizer: Sendable {
    /// The files by name: tokenizer.json and tokenizer_config.json.
    public let files: [(name: String, content: ByteView)]

    /// Makes the files of the entries of a GGUF file among a model's files.
    /// - Returns: nil if the model has a tokenizer.json or no such entries, or if no tokenizer.json gives the same tokens.
    /// - Throws: `FormatError` naming the entry, for one that is not valid.
    public init?(of assets: NamedFiles) throws {
        guard try !assets.has("tokenizer.json"), let entries = try GGUFVocabulary(files: assets),
            let document = try entries.document()
        else { return nil }
        let special = [
            ("bos_token", entries.startToken), ("eos_token", entries.endToken), ("unk_token", entries.unknownToken),
        ].compactMap { name, id in id.map { JSON.Member(name, .string(entries.tokens[Int($0)])) } }
        // Another class would replace parts of the document by its own.
        let settings = JSON.object([.init("tokenizer_class", "PreTrainedTokenizerFast")] + special)
        var files = [("tokenizer.json", document)]
        if try !assets.has("tokenizer_config.json") { files.append(("tokenizer_config.json", settings)) }
        self.files = files.map { ($0, ByteView(Array($1.text().utf8))) }
    }
}
