import AccelByteIO

/// The files of a tokenizer among those of a model.
struct TokenizerFolder {
    private let files: NamedFiles

    init(_ files: NamedFiles) { self.files = files }

    private func path(_ name: String) -> String { files.path(of: name) }

    /// - Returns: nil if no file is a tokenizer's.
    func pipeline() throws -> Pipeline? {
        if let bytes = try files.bytes("tokenizer.json") {
            return try TokenizerDocument.pipeline(bytes, file: path("tokenizer.json"))
        }
        if let entries = try GGUFVocabulary(files: files) { return try entries.pipeline() }
        for name in ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model"] {
            if let bytes = try files.bytes(name) {
                return try SentencePieceModel(bytes, file: path(name)).pipeline()
            }
        }
        if let words = try files.bytes("vocab.json"), let merges = try lines("merges.txt") {
            return try byteLevel(words, merges)
        }
        return try lines("vocab.txt").map(wordPiece)
    }

    /// A member of tokenizer_config.json; missing without that file.
    private func setting(_ name: String) throws -> JSONField {
        try files.document("tokenizer_config.json")[name]
    }

    private func flag(_ name: String, default value: Bool) throws -> Bool {
        let field = try setting(name)
        return field.exists ? try field.bool() : value
    }

    /// Returns a special token's text: a string, or an object with `content`.
    private func token(_ name: String, default value: String) throws -> String {
        let field = try setting(name)
        guard field.exists else { return value }
        return try field["content"].exists ? field["content"].string() : field.string()
    }

    /// The lines of a text file, without their ends; nil if there is no such file.
    private func lines(_ name: String) throws -> [[UInt8]]? {
        guard let bytes = try files.bytes(name) else { return nil }
        try Vocabulary.checkSize(bytes.count, file: path(name))
        return try bytes.withBytes { bytes in
            let text = bytes.bindMemory(to: UInt8.self)
            guard UTF8Text.validPrefix(text) == text.count else {
                throw FormatError(file: path(name), reason: "is not UTF-8")
            }
            var lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
            if lines.last?.isEmpty ?? false { lines.removeLast() }
            return lines.map { $0.last == 0x0D ? Array($0.dropLast()) : $0 }
        }
    }

    // MARK: - BERT

    private func wordPiece(_ words: [[UInt8]]) throws -> Pipeline {
        var vocabulary = Vocabulary()
        for (index, line) in words.enumerated() {
            guard index < Int(TokenID.max) else { break }
            line.withUnsafeBufferPointer { vocabulary.add($0, TokenID(index)) }
        }
        let lowercases = try flag("do_lower_case", default: true)
        let accents = try setting("strip_accents")
        let unknown = try token("unk_token", default: "[UNK]")
        let (classifier, separator) = (
            try token("cls_token", default: "[CLS]"), try token("sep_token", default: "[SEP]")
        )
        let special = [
            try token("pad_token", default: "[PAD]"), unknown, classifier, separator,
            try token("mask_token", default: "[MASK]"),
        ]
        var numbers = AddedTokenNumbers(vocabulary)
        let added = special.map {
            AddedToken(id: numbers.number(of: $0), content: $0, isNormalized: false, isSpecial: true)
        }
        let (first, last) = (numbers.number(of: classifier), numbers.number(of: separator))
        let single: [Template.Part] = [.tokens([first], type: 0), .text(0, type: 0), .tokens([last], type: 0)]
        return Pipeline(
            addedTokens: AddedTokens(added, normalizer: nil),
            normalizer: .bert(
                BertNormalizer(
                    cleansText: true, separatesIdeographs: try flag("tokenize_chinese_chars", default: true),
                    stripsAccents: accents.exists ? try accents.bool() : lowercases, lowercases: lowercases)),
            preTokenizer: .bert,
            model: .wordPiece(
                WordPieceModel(
                    vocabulary, unknownToken: unknown, continuingPrefix: Array("##".utf8), longestWord: 100)),
            postProcessor: .template(
                Template(single: single, pair: single + [.text(1, type: 1), .tokens([last], type: 1)])),
            decoder: .wordPiece(prefix: Array("##".utf8), cleansUp: true), file: path("vocab.txt"))
    }

    // MARK: - GPT-2 and its kin

    private func byteLevel(_ bytes: ByteView, _ merges: [[UInt8]]) throws -> Pipeline {
        let file = path("vocab.json")
        try Vocabulary.checkSize(bytes.count, file: file)
        let vocabulary = try bytes.withBytes { part in
            var cursor = JSONCursor(part, file: file, origin: 0)
            let vocabulary = try ModelReader.vocabulary(&cursor, byteCount: bytes.count)
            try cursor.finish()
            return vocabulary
        }
        var reader = MergeReader(vocabulary, prefixLength: 0)
        for (index, line) in merges.enumerated() {
            if let problem = line.withUnsafeBufferPointer({ reader.add(line: $0) }) {
                throw FormatError(file: path("merges.txt"), location: .line(index + 1, column: 1), reason: problem)
            }
        }
        let kind = try setting("tokenizer_class")
        let name = kind.exists ? try kind.string() : ""
        let isRoberta = ["Roberta", "Bart", "LED", "Longformer"].contains { name.hasPrefix($0) }
        let isQwen = name.hasPrefix("Qwen2")
        let prefix = try flag("add_prefix_space", default: false)
        let unknown = try token("unk_token", default: isRoberta ? "<unk>" : "<|endoftext|>")
        let added = try listedTokens(vocabulary, isRoberta: isRoberta)
        var postProcessor = PostProcessor.byteLevel(nil)
        if isRoberta {
            let (first, last) = (vocabulary.find("<s>"), vocabulary.find("</s>"))
            guard first >= 0, last >= 0 else {
                throw FormatError(file: file, reason: "the vocabulary has no <s> and </s>")
            }
            postProcessor = .roberta(separator: last, classifier: first, trim: .init(addsPrefixSpace: prefix))
        }
        let field = JSONField(nil, file: file)
        let preTokenizer: PreTokenizer =
            isQwen
            ? .sequence([
                .split(try Pattern(expression: SplitExpressions.qwen2, field), .isolated, inverted: false),
                .byteLevel(addsPrefixSpace: prefix, words: nil),
            ])
            : .byteLevel(
                addsPrefixSpace: prefix, words: try Pattern(expression: PreTokenizer.wordExpression, field))
        var options = BPEModel.Options()
        options.unknownToken = vocabulary.find(unknown) >= 0 && !isQwen ? unknown : nil
        return Pipeline(
            addedTokens: AddedTokens(added, normalizer: isQwen ? .form(.canonicalComposition) : nil),
            normalizer: isQwen ? .form(.canonicalComposition) : nil, preTokenizer: preTokenizer,
            model: .bpe(BPEModel(vocabulary, MergeTable(reader.merges), options)), postProcessor: postProcessor,
            decoder: .byteLevel,
            file: file)
    }

    /// The tokens of `added_tokens_decoder` in tokenizer_config.json, else the usual ones of the family.
    private func listedTokens(_ vocabulary: Vocabulary, isRoberta: Bool) throws -> [AddedToken] {
        let listed = try setting("added_tokens_decoder")
        guard listed.exists else {
            let names = isRoberta ? ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] : ["<|endoftext|>"]
            return names.compactMap { name in
                let id = vocabulary.find(name)
                guard id >= 0 else { return nil }
                return AddedToken(
                    id: id, content: name, stripsLeft: name == "<mask>", isNormalized: false, isSpecial: true)
            }
        }
        return try listed.members().map { key, entry in
            guard let id = TokenID(key), id >= 0 else { throw entry.error("is not a token's number") }
            return AddedToken(
                id: id, content: try entry["content"].string(), isSingleWord: try entry["single_word"].bool(),
                stripsLeft: try entry["lstrip"].bool(), stripsRight: try entry["rstrip"].bool(),
                isNormalized: try entry["normalized"].bool(), isSpecial: try entry["special"].bool())
        }
    }
}
