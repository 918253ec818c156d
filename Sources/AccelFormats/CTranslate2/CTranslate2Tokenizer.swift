import AccelByteIO
import AccelFrontEnds
import AccelPackages

/// The tokens of a model, read from the files of its tokenizer.
struct CTranslate2Tokenizer {
    /// The tokens by number; a number without a token has nil.
    private let tokens: [String?]
    /// tokenizer_config.json and special_tokens_map.json, the first to be asked first.
    private let settings: [JSONField]
    /// A number beyond it is corruption: no vocabulary is larger.
    private static let limit = 1 << 24

    /// - Throws: `FormatError` if a file is corrupt.
    init(_ assets: [Asset]) throws {
        func field(_ name: String) throws -> JSONField? {
            try assets.first { $0.name == name }.map { JSONField(try JSON.parse($0.content, file: name), file: name) }
        }
        settings = try ["tokenizer_config.json", "special_tokens_map.json"].compactMap(field)
        var found: [(id: Int, token: String)] = []
        func add(_ members: [(key: String, field: JSONField)]) throws {
            found += try members.map { (try $0.field.int(in: 0...Self.limit), $0.key) }
        }
        if let file = try field("tokenizer.json") {
            let vocabulary = file["model"]["vocab"]
            if case .array? = vocabulary.value {
                // Pieces with their scores, in the order of their numbers.
                found = try vocabulary.array().enumerated().map { index, pair in
                    guard let first = try pair.array().first else { throw pair.error("expected a token and its score") }
                    return (index, try first.string())
                }
            } else {
                try add(vocabulary.members())
            }
            if file["added_tokens"].exists {
                found += try file["added_tokens"].array().map {
                    (try $0["id"].int(in: 0...Self.limit), try $0["content"].string())
                }
            }
        } else if let file = try field("vocab.json") {
            try add(file.members())
            if let added = try field("added_tokens.json") { try add(added.members()) }
        } else if let file = try field(CTranslate2Folder.vocabularyName) {
            found = try file.array().enumerated().map { ($0.offset, try $0.element.string()) }
        } else if let lines = assets.first(where: { $0.name == "vocab.txt" }) {
            var words = lines.content.withBytes { bytes in
                bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
                    String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
                }
            }
            if words.last?.isEmpty == true { words.removeLast() }
            found = words.enumerated().map { ($0.offset, $0.element) }
        }
        var tokens = [String?](repeating: nil, count: (found.map(\.id).max() ?? -1) + 1)
        for (id, token) in found { tokens[id] = token }
        self.tokens = tokens
    }

    /// Returns the token of every row of the embeddings.
    /// - Parameters:
    ///   - count: the number of rows. Tokens beyond it cannot be embedded, and are left out.
    ///   - missing: returns the name of the n-th row without a token.
    /// - Throws: `RequestError` if the model has no file that CTranslate2's vocabulary can be made of.
    func vocabulary(_ count: Int, _ missing: (Int) -> String) throws -> [String] {
        guard !tokens.isEmpty else {
            throw RequestError(
                "CTranslate2: the model has no tokenizer.json, vocab.json or vocab.txt, of which its vocabulary is made: put "
                    + "the tokenizer's files beside config.json")
        }
        var gaps = 0
        return (0..<count).map { id in
            if id < tokens.count, let token = tokens[id] { return token }
            gaps += 1
            return missing(gaps - 1)
        }
    }

    /// Returns a special token; null if the tokenizer has none.
    /// - Parameter name: e.g. `eos_token`.
    func special(_ name: String, family: String) -> JSON {
        for field in settings {
            switch field[name].value {
            case .string(let text)?: return .string(text)
            case .object?: return field[name]["content"].value ?? .null
            case .null?: return .null
            default: continue
            }
        }
        let stated = settings.first?["tokenizer_class"].value
        let kind = if case .string(let text)? = stated { text } else { Self.classes[family] ?? "" }
        let base = kind.hasSuffix("Fast") ? String(kind.dropLast(4)) : kind
        return Self.defaults[base]?[name].map { .string($0) } ?? .null
    }

    /// The further special tokens that the tokenizer lists.
    var additional: [String] {
        for field in settings {
            guard let list = try? field["additional_special_tokens"].array() else { continue }
            return list.compactMap { entry in
                if case .string(let text)? = entry.value { return text }
                return try? entry["content"].string()
            }
        }
        return []
    }

    /// The tokens that are called as languages are.
    var languageNames: [String] { tokens.compactMap(\.self).filter(SpeechTokens.isLanguage) }

    /// Returns the numbers of tokens in their order, without those in `others`.
    func ids(of words: [String], except others: Set<String>) -> [Int64] {
        let numbers = Dictionary(
            tokens.enumerated().compactMap { pair in pair.element.map { ($0, Int64(pair.offset)) } }
        ) { first, _ in first }
        return words.filter { !others.contains($0) }.compactMap { numbers[$0] }
    }

    /// The tokenizers of transformers where no file names one.
    private static let classes = [
        "llama": "LlamaTokenizer", "mistral": "LlamaTokenizer", "phi3": "LlamaTokenizer", "gemma": "GemmaTokenizer",
        "qwen2": "Qwen2Tokenizer", "qwen3": "Qwen2Tokenizer", "bert": "BertTokenizer", "distilbert": "BertTokenizer",
        "roberta": "RobertaTokenizer",
    ]
    private static let sentencePiece = ["unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"]
    /// The special tokens of tokenizers whose files do not name them.
    private static let defaults: [String: [String: String]] = [
        "LlamaTokenizer": sentencePiece, "RobertaTokenizer": sentencePiece, "XLMRobertaTokenizer": sentencePiece,
        "GemmaTokenizer": ["unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"],
        "Qwen2Tokenizer": ["unk_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"],
        "BertTokenizer": ["unk_token": "[UNK]"], "DistilBertTokenizer": ["unk_token": "[UNK]"],
    ]
}
