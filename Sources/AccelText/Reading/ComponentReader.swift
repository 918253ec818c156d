import AccelByteIO

/// Reads the parts of a tokenizer.json around its model.
struct ComponentReader {
    /// Returns a normalizer; nil for null.
    func normalizer(_ field: JSONField) throws -> Normalizer? {
        guard field.exists else { return nil }
        let type = field["type"]
        switch try type.string() {
        case "BertNormalizer", "Bert":
            let lowercases = try field["lowercase"].bool()
            let accents = field["strip_accents"]
            return .bert(
                BertNormalizer(
                    cleansText: try field["clean_text"].bool(),
                    separatesIdeographs: try field["handle_chinese_chars"].bool(),
                    stripsAccents: accents.exists ? try accents.bool() : lowercases, lowercases: lowercases))
        case "NFC": return .form(.canonicalComposition)
        case "NFD": return .form(.canonicalDecomposition)
        case "NFKC": return .form(.compatibleComposition)
        case "NFKD": return .form(.compatibleDecomposition)
        case "Lowercase": return .lowercase
        case "StripAccents": return .stripAccents
        case "Strip": return .strip(left: try field["strip_left"].bool(), right: try field["strip_right"].bool())
        case "Replace":
            return .replace(try pattern(field["pattern"]), with: Array(try field["content"].string().utf8).scalars)
        case "Prepend": return .prepend(Array(try field["prepend"].string().utf8).scalars)
        case "Precompiled":
            let map = field["precompiled_charsmap"]
            guard let bytes = decodedBase64(try map.string()) else { throw map.error("is not Base64") }
            return .characterMap(try CharacterMap(bytes, map))
        case "Nmt": return .nmt
        case "ByteLevel": return .byteLevel
        case "Sequence": return .sequence(try field["normalizers"].array().compactMap(normalizer))
        case let name: throw type.error("the normalizer \(quoted(name)) is not supported")
        }
    }

    /// Returns a pre-tokenizer; nil for null.
    func preTokenizer(_ field: JSONField) throws -> PreTokenizer? {
        guard field.exists else { return nil }
        let type = field["type"]
        switch try type.string() {
        case "BertPreTokenizer": return .bert
        case "ByteLevel":
            let splits = field["use_regex"]
            return .byteLevel(
                addsPrefixSpace: try field["add_prefix_space"].bool(),
                words: try !splits.exists || splits.bool()
                    ? Pattern(expression: PreTokenizer.wordExpression, field) : nil)
        case "CharDelimiterSplit", "Delimiter": return .delimiter(try scalar(field["delimiter"]))
        case "Digits": return .digits(individual: try field["individual_digits"].bool())
        case "FixedLength":
            let length = field["length"]
            return .fixedLength(length.exists ? try length.int(in: 1...Int(Int32.max)) : 5)
        case "Metaspace": return .metaspace(try metaspace(field))
        case "Punctuation":
            let behavior = field["behavior"]
            return .punctuation(behavior.exists ? try self.behavior(behavior) : .isolated)
        case "Split":
            return .split(
                try pattern(field["pattern"]), try behavior(field["behavior"]), inverted: try field["invert"].bool())
        case "UnicodeScripts": return .unicodeScripts
        case "Whitespace": return .whitespace
        case "WhitespaceSplit": return .whitespaceSplit
        case "Sequence": return .sequence(try field["pretokenizers"].array().compactMap(preTokenizer))
        case let name: throw type.error("the pre-tokenizer \(quoted(name)) is not supported")
        }
    }

    /// Returns a post-processor; nil for null.
    func postProcessor(_ field: JSONField) throws -> PostProcessor? {
        guard field.exists else { return nil }
        let type = field["type"]
        switch try type.string() {
        case "BertProcessing":
            return .bert(separator: try token(field["sep"]), classifier: try token(field["cls"]))
        case "RobertaProcessing":
            return .roberta(
                separator: try token(field["sep"]), classifier: try token(field["cls"]), trim: try trim(field))
        case "ByteLevel": return .byteLevel(try trim(field))
        case "TemplateProcessing":
            return .template(
                Template(
                    single: try template(field["single"], field["special_tokens"]),
                    pair: try template(field["pair"], field["special_tokens"])))
        case "Sequence": return .sequence(try field["processors"].array().compactMap(postProcessor))
        case let name: throw type.error("the post-processor \(quoted(name)) is not supported")
        }
    }

    /// Returns a decoder; nil for null.
    func decoder(_ field: JSONField) throws -> Decoder? {
        guard field.exists else { return nil }
        func bytes(_ name: String) throws -> [UInt8] { Array(try field[name].string().utf8) }
        let type = field["type"]
        switch try type.string() {
        case "ByteLevel": return .byteLevel
        case "WordPiece": return .wordPiece(prefix: try bytes("prefix"), cleansUp: try field["cleanup"].bool())
        case "Metaspace":
            let metaspace = try metaspace(field)
            var mark: [UInt8] = []
            UTF8Text.append(metaspace.replacement, to: &mark)
            return .metaspace(replacement: mark, dropsFirst: metaspace.prefix != .never)
        case "BPEDecoder": return .bpe(suffix: try bytes("suffix"))
        case "ByteFallback": return .byteFallback
        case "Fuse": return .fuse
        case "Strip":
            return .strip(
                try scalar(field["content"]), start: try field["start"].int(in: 0...Int(Int32.max)),
                stop: try field["stop"].int(in: 0...Int(Int32.max)))
        case "Replace": return .replace(try pattern(field["pattern"]), with: try bytes("content"))
        case "CTC":
            return .ctc(
                pad: try bytes("pad_token"), delimiter: try bytes("word_delimiter_token"),
                cleansUp: try field["cleanup"].bool())
        case "Sequence": return .sequence(try field["decoders"].array().compactMap(decoder))
        case let name: throw type.error("the decoder \(quoted(name)) is not supported")
        }
    }

    // MARK: - Parts

    private func pattern(_ field: JSONField) throws -> Pattern {
        if field["Regex"].exists { return try Pattern(expression: try field["Regex"].string(), field["Regex"]) }
        return Pattern(text: try field["String"].string())
    }

    private func behavior(_ field: JSONField) throws -> SplitBehavior {
        guard let behavior = SplitBehavior(rawValue: try field.string()) else {
            throw field.error("the behavior is not supported")
        }
        return behavior
    }

    private func scalar(_ field: JSONField) throws -> UInt32 {
        let scalars = try field.string().unicodeScalars
        guard let first = scalars.first, scalars.count == 1 else { throw field.error("expected one character") }
        return first.value
    }

    private func metaspace(_ field: JSONField) throws -> Metaspace {
        let (scheme, adds, splits) = (field["prepend_scheme"], field["add_prefix_space"], field["split"])
        var prefix = Metaspace.Prefix.always
        if scheme.exists {
            guard let known = Metaspace.Prefix(rawValue: try scheme.string()) else {
                throw scheme.error("expected always, first or never")
            }
            prefix = known
        }
        if adds.exists, try !adds.bool() {
            guard !scheme.exists || prefix == .never else { throw adds.error("does not match prepend_scheme") }
            prefix = .never
        }
        return Metaspace(
            replacement: try scalar(field["replacement"]), prefix: prefix,
            splits: splits.exists ? try splits.bool() : true)
    }

    private func trim(_ field: JSONField) throws -> PostProcessor.OffsetTrim? {
        let addsPrefixSpace = try field["add_prefix_space"].bool()
        return try field["trim_offsets"].bool() ? .init(addsPrefixSpace: addsPrefixSpace) : nil
    }

    /// Reads a pair such as `["[SEP]", 102]`.
    private func token(_ field: JSONField) throws -> TokenID {
        let parts = try field.array()
        guard parts.count == 2 else { throw field.error("expected a token and its number") }
        return TokenID(try parts[1].int(in: 0...Int(TokenID.max)))
    }

    private func template(_ field: JSONField, _ tokens: JSONField) throws -> [Template.Part] {
        try field.array().map { part in
            let (sequence, special) = (part["Sequence"], part["SpecialToken"])
            if sequence.exists {
                let id = try sequence["id"].string()
                guard id == "A" || id == "B" else { throw sequence["id"].error("expected A or B") }
                return .text(id == "A" ? 0 : 1, type: try type(sequence))
            }
            let name = try special["id"].string()
            let token = tokens[name]
            guard token.exists else { throw special["id"].error("\(quoted(name)) is not one of special_tokens") }
            let ids = try token["ids"].array().map { TokenID(try $0.int(in: 0...Int(TokenID.max))) }
            return .tokens(ids, type: try type(special))
        }
    }

    private func type(_ field: JSONField) throws -> Int32 {
        Int32(try field["type_id"].int(in: 0...Int(Int32.max)))
    }
}
