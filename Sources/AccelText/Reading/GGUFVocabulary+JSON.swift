public import AccelByteIO

extension GGUFVocabulary {
    /// The name of the file that holds the tokenizer of a GGUF file in packages: a JSON object of its entries `tokenizer.*`.
    public static let assetName = "tokenizer.gguf.json"

    /// Reads the entries among a package's files.
    /// - Returns: nil if there is no such file.
    public init?(files: NamedFiles) throws {
        guard let bytes = try files.bytes(Self.assetName) else { return nil }
        try self.init(json: bytes, file: files.path(of: Self.assetName))
    }

    /// Reads the entries of a GGUF file from JSON. Entries that tokenizers do not have are skipped.
    /// - Throws: `FormatError` naming the offset.
    public init(json: ByteView, file: String) throws {
        self.init(model: "", tokens: [], file: file)
        try json.withBytes { bytes in
            var cursor = JSONCursor(bytes, file: file, origin: 0)
            try cursor.list("{", "}") { cursor in
                let key = try cursor.string { String(decoding: $0, as: UTF8.self) }
                try cursor.expect(":")
                let prefix = "tokenizer.ggml."
                try read(key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : "", &cursor)
            }
            try cursor.finish()
        }
    }

    private mutating func read(_ key: String, _ cursor: inout JSONCursor) throws {
        switch key {
        case "model": model = try cursor.text()
        case "pre": pre = try cursor.text()
        case "tokens": tokens = try cursor.elements { try $0.text() }
        case "merges": merges = try cursor.elements { try $0.text() }
        case "scores": scores = try cursor.elements { Float(try $0.number()) }
        case "token_type": types = try cursor.elements { try $0.tokenID() }
        case "precompiled_charsmap":
            characterMap = try cursor.elements { cursor in
                guard let byte = UInt8(exactly: try cursor.tokenID()) else { throw cursor.error("expected a byte") }
                return byte
            }
        case "bos_token_id": startToken = try cursor.tokenID()
        case "eos_token_id": endToken = try cursor.tokenID()
        case "unknown_token_id": unknownToken = try cursor.tokenID()
        case "seperator_token_id": separatorToken = try cursor.tokenID()
        case "add_bos_token": addsStart = try cursor.flag()
        case "add_eos_token": addsEnd = try cursor.flag()
        case "add_space_prefix": addsSpacePrefix = try cursor.flag()
        case "remove_extra_whitespaces": removesExtraSpaces = try cursor.flag()
        case "normalizer.lowercase": lowercases = try cursor.flag()
        default: _ = try cursor.skipValue()
        }
    }
}

extension JSONCursor {
    fileprivate mutating func text() throws -> String { try string { String(decoding: $0, as: UTF8.self) } }

    fileprivate mutating func elements<Element>(
        _ read: (inout JSONCursor) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        try list("[", "]") { elements.append(try read(&$0)) }
        return elements
    }

    fileprivate mutating func flag() throws -> Bool {
        switch try bytes(of: skipValue()) {
        case Array("true".utf8): true
        case Array("false".utf8): false
        default: throw error("expected true or false")
        }
    }
}
