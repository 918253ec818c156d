public import AccelByteIO
public import AccelText

/// Reads the metadata of a GGUF file that scripts/tokenizer_goldens.py wrote as JSON.
public enum GGUFMetadata {
    public static func vocabulary(_ path: String) throws -> GGUFVocabulary {
        try vocabulary(MappedFile(path).bytes, file: path)
    }

    public static func vocabulary(_ bytes: ByteView, file: String) throws -> GGUFVocabulary {
        let document = JSONField(try JSON.parse(bytes, file: file), file: file)
        var vocabulary = GGUFVocabulary(
            model: try document["model"].string(), tokens: try document["tokens"].array().map { try $0.string() },
            file: file)
        if document["pre"].exists { vocabulary.pre = try document["pre"].string() }
        if document["merges"].exists { vocabulary.merges = try document["merges"].array().map { try $0.string() } }
        if document["scores"].exists {
            vocabulary.scores = try document["scores"].array().map { Float(try $0.double()) }
        }
        if document["token_type"].exists {
            vocabulary.types = try document["token_type"].array().map { Int32(truncatingIfNeeded: try $0.int()) }
        }
        func token(_ key: String) throws -> TokenID? {
            document[key].exists ? TokenID(truncatingIfNeeded: try document[key].int()) : nil
        }
        func flag(_ key: String) throws -> Bool? { document[key].exists ? try document[key].bool() : nil }
        vocabulary.startToken = try token("bos_token_id")
        vocabulary.endToken = try token("eos_token_id")
        vocabulary.unknownToken = try token("unknown_token_id")
        vocabulary.separatorToken = try token("seperator_token_id")
        vocabulary.addsStart = try flag("add_bos_token")
        vocabulary.addsEnd = try flag("add_eos_token")
        vocabulary.addsSpacePrefix = try flag("add_space_prefix")
        vocabulary.removesExtraSpaces = try flag("remove_extra_whitespaces")
        vocabulary.lowercases = try flag("normalizer.lowercase")
        if document["precompiled_charsmap"].exists {
            vocabulary.characterMap = try document["precompiled_charsmap"].array().map {
                UInt8(truncatingIfNeeded: try $0.int())
            }
        }
        return vocabulary
    }
}
