import AccelByteIO
import AccelFrontEnds
import AccelPackages

extension [Asset] {
    /// Returns the files with those that Hugging Face's tools read a tokenizer from: a model of a GGUF file has only that file's entries.
    /// - Throws: `FormatError` for an entry that is not valid.
    func withCheckpointTokenizer() throws -> [Asset] {
        let files = NamedFiles(in: "the model", names: map(\.name)) { name in first { $0.name == name }?.content }
        guard let made = try CheckpointTokenizer(of: files) else { return self }
        return self + made.files.map { Asset(name: $0.name, content: $0.content) }
    }
}
