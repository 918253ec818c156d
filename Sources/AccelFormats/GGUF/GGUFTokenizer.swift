import AccelByteIO
import AccelPackages

/// The tokenizer of a model as llama.cpp reads it from a file's metadata.
struct GGUFTokenizer {
    private(set) var metadata: [(key: String, value: GGUFValue)] = []
    /// Why the file has no tokenizer; nil if it has one.
    private(set) var remark: String?

    /// The kinds of tokens by their numbers.
    private enum Kind: Int32 {
        case normal = 1, unknown, control, userDefined, unused, byte
    }
    private struct Token {
        var text: String
        var kind: Kind

        /// The token stands for a byte, such as `<0x0A>`.
        var isByte: Bool {
            text.utf8.count == 6 && text.hasPrefix("<0x") && text.hasSuffix(">")
                && UInt8(text.dropFirst(3).dropLast(), radix: 16) != nil
        }
    }
    /// Why a tokenizer cannot be expressed.
    private struct Gap: Error { let reason: String }

    private static let prefix = "tokenizer.ggml"
    /// The mark of a space before a word.
    private static let space = "\u{2581}"

    /// Reads the tokenizer of a GGUF file as it was there, else tokenizer.json, else vocab.txt.
    /// - Parameter vocabulary: the number of word embeddings, which is that of tokens.
    /// - Throws: `FormatError` if a file is corrupt.
    init(of assets: [Asset], vocabulary: Int) throws {
        let files = TokenizerFiles(assets)
        do {
            if let entries = try files.document(GGUFTokenizerAssets.name) {
                metadata = try GGUFTokenizerAssets.entries(of: entries)
            } else if let document = try files.document("tokenizer.json") {
                try take(document, files, vocabulary)
            } else if let text = files.text("vocab.txt") {
                var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                    String(line.hasSuffix("\r") ? line.dropLast() : line)
                }
                if lines.last == "" { lines.removeLast() }
                try takeWordPieces(lines.enumerated().map { ($1, $0) }, added: [], files, vocabulary)
                try addCase(files.document("tokenizer_config.json")?["do_lower_case"])
            } else {
                throw Gap(reason: "the model has no tokenizer.json and no vocab.txt")
            }
        } catch let gap as Gap {
            metadata = [("\(Self.prefix).model", .string("none"))]
            try addStopTokens(files, vocabulary)
            remark = "the file has no tokenizer, so that programs have to pass token numbers: \(gap.reason)"
        }
    }

    private mutating func add(_ key: String, _ value: GGUFValue) { metadata.append(("\(Self.prefix).\(key)", value)) }

    // MARK: - Kinds of tokenizers

    private mutating func take(_ document: JSONField, _ files: TokenizerFiles, _ vocabulary: Int) throws {
        let model = document["model"]
        let kind = try model["type"].exists ? model["type"].string() : "BPE"
        let added = try document["added_tokens"].exists ? document["added_tokens"].array() : []
        guard kind == "BPE" || kind == "WordPiece" else {
            throw Gap(reason: "tokenizers of type \(kind) are not supported")
        }
        let words = try model["vocab"].members().map { ($0.key, try $0.field.int(in: 0...1 << 24)) }
        if kind == "WordPiece" {
            try takeWordPieces(words, added: added, files, vocabulary)
            return try addCase(document["normalizer"]["lowercase"])
        }
        let merges = try model["merges"].exists ? model["merges"].array().map(Self.merge) : []
        if try model["byte_fallback"].exists && model["byte_fallback"].bool() {
            try takePieces(words, merges, added, document, files, vocabulary)
        } else {
            try takeBytes(words, merges, added, document, files, vocabulary)
        }
    }

    private static func merge(_ field: JSONField) throws -> (String, String) {
        let parts: [String]
        if case .string(let text)? = field.value {
            parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        } else {
            parts = try field.array().map { try $0.string() }
        }
        guard parts.count == 2 else { throw field.error("expected two parts of a token") }
        return (parts[0], parts[1])
    }

    /// BPE over bytes, as GPT-2 has it.
    private mutating func takeBytes(
        _ words: [(String, Int)], _ merges: [(String, String)], _ added: [JSONField], _ document: JSONField,
        _ files: TokenizerFiles, _ vocabulary: Int
    ) throws {
        guard let name = try Self.preTokenizer(document["pre_tokenizer"]) else {
            throw Gap(reason: "its way to divide text into words is none of gpt-2, llama-bpe and qwen2")
        }
        let tokens = try Self.tokens(words, added, count: vocabulary)
        add("model", .string("gpt2"))
        add("pre", .string(name))
        add("tokens", .strings(tokens.map(\.text)))
        add("token_type", .integers(tokens.map(\.kind.rawValue)))
        add("merges", .strings(merges.map { "\($0.0) \($0.1)" }))
        try addSpecial(tokens, files)
    }

    /// Returns llama.cpp's name for the pre-tokenizer; nil for an unknown one.
    private static func preTokenizer(_ field: JSONField) throws -> String? {
        guard field.exists else { return nil }
        let steps = try field["pretokenizers"].exists ? field["pretokenizers"].array() : [field]
        let kinds = try steps.map { try $0["type"].string() }
        guard kinds.last == "ByteLevel", let last = steps.last else { return nil }
        if kinds == ["ByteLevel"] {
            let usesPattern = try last["use_regex"].exists ? last["use_regex"].bool() : true
            return usesPattern ? "gpt-2" : nil
        }
        guard kinds == ["Split", "ByteLevel"], case .string(let pattern)? = steps[0]["pattern"]["Regex"].value else {
            return nil
        }
        func words(_ numbers: String) -> String {
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\(numbers)| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                + "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
        }
        return pattern == words("\\p{N}{1,3}") ? "llama-bpe" : pattern == words("\\p{N}") ? "qwen2" : nil
    }

    /// BPE over pieces with bytes for unknown characters, as SentencePiece has it. A piece's score is the rank of its merge.
    private mutating func takePieces(
        _ words: [(String, Int)], _ merges: [(String, String)], _ added: [JSONField], _ document: JSONField,
        _ files: TokenizerFiles, _ vocabulary: Int
    ) throws {
        var tokens = try Self.tokens(words, added, count: vocabulary)
        let unknown = document["model"]["unk_token"].value
        for index in tokens.indices {
            if unknown == .string(tokens[index].text) { tokens[index].kind = .unknown }
            if tokens[index].isByte { tokens[index].kind = .byte }
        }
        var ranks: [String: Int] = [:]
        for (rank, merge) in merges.enumerated() where ranks[merge.0 + merge.1] == nil {
            ranks[merge.0 + merge.1] = rank
        }
        add("model", .string("llama"))
        add("pre", .string("default"))
        add("tokens", .strings(tokens.map(\.text)))
        add(
            "scores",
            .floats(
                tokens.map { token in
                    token.kind == .normal ? -Float(ranks[token.text].map { $0 + 1 } ?? merges.count + 1) : 0
                }))
        add("token_type", .integers(tokens.map(\.kind.rawValue)))
        let before = [document["normalizer"], document["pre_tokenizer"]].map { $0.value?.text() ?? "" }
        let prepends =
            before[0].contains("\"Prepend\"")
            || before[1].contains("\"Metaspace\"") && !before[1].contains("\"never\"")
        add("add_space_prefix", .bool(prepends))
        try addSpecial(tokens, files)
    }

    /// WordPiece, as BERT has it. llama.cpp marks the beginnings of words instead of their continuations.
    private mutating func takeWordPieces(
        _ words: [(String, Int)], added: [JSONField], _ files: TokenizerFiles, _ vocabulary: Int
    ) throws {
        var tokens = try Self.tokens(words, added, count: vocabulary)
        let special: Set<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        for index in tokens.indices {
            if special.contains(tokens[index].text) { tokens[index].kind = .control }
            guard ![.control, .unused].contains(tokens[index].kind) else { continue }
            let text = tokens[index].text
            tokens[index].text = text.hasPrefix("##") ? String(text.dropFirst(2)) : Self.space + text
        }
        add("model", .string("bert"))
        add("pre", .string("default"))
        add("tokens", .strings(tokens.map(\.text)))
        add("token_type", .integers(tokens.map(\.kind.rawValue)))
        for (name, key) in [
            ("[CLS]", "bos"), ("[UNK]", "unknown"), ("[SEP]", "seperator"), ("[PAD]", "padding"), ("[MASK]", "mask"),
        ] {
            if let index = tokens.firstIndex(where: { $0.text == name }) {
                add("\(key)_token_id", .uint32(UInt32(index)))
            }
        }
    }

    /// Adds that words keep their capitals and accents; llama.cpp folds both otherwise.
    private mutating func addCase(_ isFolded: JSONField?) throws {
        if let isFolded, isFolded.exists, try !isFolded.bool() { add("normalizer.lowercase", .bool(false)) }
    }

    // MARK: - Tokens

    private static func tokens(_ words: [(String, Int)], _ added: [JSONField], count: Int) throws -> [Token] {
        var tokens = (0..<count).map { Token(text: "[PAD\($0)]", kind: .unused) }
        func put(_ text: String, _ index: Int, _ kind: Kind) throws {
            guard index < count else {
                throw Gap(
                    reason: "the token \(quoted(text)) has the number \(index), and the model has \(count) embeddings")
            }
            tokens[index] = Token(text: text, kind: kind)
        }
        for (text, index) in words { try put(text, index, .normal) }
        for token in added {
            let isSpecial = try token["special"].exists ? token["special"].bool() : false
            try put(
                try token["content"].string(), try token["id"].int(in: 0...1 << 24), isSpecial ? .control : .userDefined
            )
        }
        return tokens
    }

    /// Adds the tokens that end a text, which a file without a tokenizer has too: of several the first two, as `eos` and `eot`.
    private mutating func addStopTokens(_ files: TokenizerFiles, _ vocabulary: Int) throws {
        for (key, number) in zip(["eos", "eot"], try TextTokens.stop(in: files.document)) where number < vocabulary {
            add("\(key)_token_id", .uint32(UInt32(number)))
        }
    }

    /// Adds the numbers of special tokens, and the template of chats.
    private mutating func addSpecial(_ tokens: [Token], _ files: TokenizerFiles) throws {
        let settings = try files.document("tokenizer_config.json")
        let model = try files.document(GGUFSettings.fileName)
        for (name, key) in [("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")] {
            let named = settings?["\(name)_token"]
            let text = named?.value.flatMap { value -> JSON? in value["content"] ?? value }
            var number = tokens.firstIndex { text == .string($0.text) }
            if number == nil, let field = model?["\(name)_token_id"], field.exists {
                if case .array? = field.value {
                    number = try field.array().first?.int()
                } else {
                    number = try field.int()
                }
            }
            if let number, tokens.indices.contains(number) { add("\(key)_token_id", .uint32(UInt32(number))) }
        }
        for key in ["add_bos_token", "add_eos_token"] {
            if let field = settings?[key], field.exists { add(key, .bool(try field.bool())) }
        }
        if case .string(let template)? = settings?["chat_template"].value {
            metadata.append(("tokenizer.chat_template", .string(template)))
        } else if let template = files.text("chat_template.jinja") {
            metadata.append(("tokenizer.chat_template", .string(template)))
        }
    }
}

/// The files of a tokenizer among those that a package passes through.
private struct TokenizerFiles {
    private let assets: [Asset]

    init(_ assets: [Asset]) { self.assets = assets }

    func document(_ name: String) throws -> JSONField? {
        try assets.first { $0.name == name }.map { JSONField(try JSON.parse($0.content, file: name), file: name) }
    }

    func text(_ name: String) -> String? {
        assets.first { $0.name == name }.flatMap { asset in
            asset.content.withBytes { String(validating: $0, as: UTF8.self) }
        }
    }
}
