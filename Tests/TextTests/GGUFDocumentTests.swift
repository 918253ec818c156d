import AccelByteIO
import AccelText
import Foundation
import Testing
import TextGoldens

@Suite("The tokenizer of a GGUF file as tokenizer.json")
struct GGUFDocumentTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/tokenizers").path

    /// The vocabulary and merges of a tokenizer.json of byte pairs, as a GGUF file has them.
    private static func bytePairs(_ name: String, pre: String) throws -> GGUFVocabulary {
        let file = "\(folder)/\(name).json"
        let document = JSONField(try JSON.parse(MappedFile(file).bytes, file: file), file: file)
        var words = try document["model"]["vocab"].members().map { ($0.key, try $0.field.int()) }
        var types = [Int: Int32]()
        for token in try document["added_tokens"].array() {
            let (id, text) = (try token["id"].int(), try token["content"].string())
            if !words.contains(where: { $0.1 == id }) { words.append((text, id)) }
            types[id] = 3
        }
        words.sort { $0.1 < $1.1 }
        var vocabulary = GGUFVocabulary(model: "gpt2", tokens: words.map(\.0), file: file)
        vocabulary.pre = pre
        vocabulary.types = words.indices.map { types[$0] ?? 1 }
        vocabulary.merges = try document["model"]["merges"].array().map { merge in
            try (try? merge.string()) ?? merge.array().map { try $0.string() }.joined(separator: " ")
        }
        return vocabulary
    }

    private static func document(_ vocabulary: GGUFVocabulary) throws -> Tokenizer {
        let text = try #require(try vocabulary.document()).text()
        return try Tokenizer(json: ByteView(Array(text.utf8)), file: "tokenizer.json")
    }

    @Test("gives the same tokens and texts", arguments: ["gguf_llama", "gpt2", "llama3"])
    func equality(name: String) throws {
        var vocabulary =
            name == "gguf_llama"
            ? try GGUFMetadata.vocabulary("\(Self.folder)/\(name).metadata")
            : try Self.bytePairs(name, pre: name == "gpt2" ? "gpt-2" : "llama-bpe")
        for start in [nil, vocabulary.startToken ?? 0] {
            vocabulary.startToken = start
            let (own, made) = (try Tokenizer(gguf: vocabulary), try Self.document(vocabulary))
            var seen = 0
            for line in try GoldenReader.lines("\(Self.folder)/lines.bin") {
                let text = String(decoding: line, as: UTF8.self)
                let tokens = try own.encode(text)
                #expect(try made.encode(text) == tokens, "\(text.debugDescription)")
                #expect(made.decode(tokens) == own.decode(tokens), "\(text.debugDescription)")
                seen += tokens.count
            }
            #expect(seen > 300)
        }
    }

    @Test("has none where it would give other tokens")
    func none() throws {
        for name in ["gguf_bert", "gguf_t5", "gguf_gemma4"] {
            #expect(try GGUFMetadata.vocabulary("\(Self.folder)/\(name).metadata").document() == nil)
        }
    }
}
