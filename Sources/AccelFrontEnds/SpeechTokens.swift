package import AccelByteIO
package import AccelText

/// The special tokens of a speech recognizer of Whisper's kind, and the tokens that it never chooses, as generation_config.json, else
/// config.json, else the names in the tokenizer state them.
package struct SpeechTokens: Sendable {
    /// The first token of a transcript, and the one that ends it. The tokens of text are those before `end`.
    package let start, end: Int64
    /// The token before the text of earlier windows; nil for a tokenizer without it.
    package let startOfPrevious: Int64?
    /// The token that asks for a transcript without times. The times follow it, a token for each fiftieth of a second.
    package let noTimestamps: Int64
    /// The tokens of languages by their codes, such as `en`; empty for a model of one language.
    package let languages: [String: Int64]
    /// The tokens of tasks by their names: `transcribe` and `translate`; empty for a model of one language.
    package let tasks: [String: Int64]
    /// The tokens that are never chosen, and those that are not chosen first.
    package let suppressed, suppressedFirst: Set<Int64>
    /// The latest time of a window's first token, in tokens.
    package let lastInitialTimestamp: Int64

    /// The token of the time 0.
    package var firstTimestamp: Int64 { noTimestamps + 1 }
    /// The token whose probability is that of a window without speech: in all vocabularies the one before `noTimestamps`.
    package var noSpeech: Int64 { noTimestamps - 1 }
    /// The tokens that a prompt or a transcript may have beside those of text and of later times.
    package var special: [Int64] {
        [start, end, firstTimestamp] + (startOfPrevious.map { [$0] } ?? []) + languages.values + tasks.values
    }
    /// Whether the model knows several languages, and translates.
    package var isMultilingual: Bool { !languages.isEmpty }

    /// The vocabulary of the published models that know English only. Their tokenizers have tokens of languages all the same.
    private static let englishVocabulary = 51864

    /// Reads the tokens of a model.
    /// - Returns: nil if the model has no tokens of times, so that it is no such recognizer.
    /// - Throws: `FormatError` naming a field of another type or range.
    package init?(files: NamedFiles, _ tokenizer: Tokenizer) throws {
        let documents = try ["generation_config.json", "config.json"].map(files.document)
        func field(_ name: String) -> JSONField? { documents.lazy.map { $0[name] }.first(where: \.exists) }
        func id(_ name: String, _ text: String) throws -> Int64? {
            guard let field = field(name) else { return tokenizer.tokenID(of: text).map(Int64.init) }
            // Of several ends the first one is the tokenizer's.
            let number = if case .array? = field.value { try field.array().first ?? field } else { field }
            return Int64(try number.int(in: 0...Int(Int32.max)))
        }
        guard let noTimestamps = try id("no_timestamps_token_id", "<|notimestamps|>"),
            let start = try id("decoder_start_token_id", "<|startoftranscript|>"),
            let end = try id("eos_token_id", "<|endoftext|>"), noTimestamps > 0
        else { return nil }
        (self.start, self.end, self.noTimestamps) = (start, end, noTimestamps)
        startOfPrevious = try id("prev_sot_token_id", "<|startofprev|>")
        let flag = documents[0]["is_multilingual"]
        let isMultilingual =
            try flag.exists ? flag.bool() : documents[1]["vocab_size"].value != .integer(Int64(Self.englishVocabulary))
        languages = try isMultilingual ? Self.languages(field("lang_to_id"), tokenizer) : [:]
        let tasks = try Self.tasks(field("task_to_id"), tokenizer)
        self.tasks = isMultilingual ? tasks : [:]

        func list(_ name: String) throws -> [Int64]? {
            try field(name)?.array().map { Int64(try $0.int(in: -1...Int(Int32.max))) }
        }
        let startOfLanguageModel = tokenizer.tokenID(of: "<|startoflm|>").map(Int64.init)
        let special = [start, startOfPrevious, startOfLanguageModel, noTimestamps - 1].compactMap(\.self)
        var listed = Set(try list("suppress_tokens") ?? [Self.annotations])
        if listed.remove(Self.annotations) != nil { listed.formUnion(try Self.annotationTokens(of: tokenizer)) }
        suppressed = listed.union(special).union(tasks.values)
        suppressedFirst = Set(
            try list("begin_suppress_tokens")
                ?? tokenizer.encode(" ", addSpecialTokens: false).map(Int64.init) + [end])
        lastInitialTimestamp = Int64(try field("max_initial_timestamp_index")?.int(in: 0...1 << 20) ?? 50)
    }

    /// In a list of tokens: those of annotations, as OpenAI's code derives them from the tokenizer.
    private static let annotations: Int64 = -1

    /// The tokens that begin what is not spoken, such as `[music]`, names of speakers and notes: brackets and signs that are one token, alone
    /// or after a space, and the first token of signs of music. Hyphens and apostrophes stay, but not at the beginning of a word.
    private static func annotationTokens(of tokenizer: Tokenizer) throws -> Set<Int64> {
        let signs = ##""#()*+/:;<=>@[\]^_`{|}~「」『』"##.map(String.init)
        let groups = #"<< >> <<< >>> -- --- -( -[ (' (" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪"#.split(separator: " ")
        let notes = "♩♪♫♬♭♮♯".map(String.init)
        func tokens(_ text: String) throws -> [TokenID] { try tokenizer.encode(text, addSpecialTokens: false) }
        var found: [TokenID?] = [try tokens(" -").first, try tokens(" '").first]
        for text in (signs + groups.map(String.init)).flatMap({ [$0, " " + $0] }) {
            let whole = try tokens(text)
            if whole.count == 1 { found += whole }
        }
        for text in notes.flatMap({ [$0, " " + $0] }) { found.append(try tokens(text).first) }
        return Set(found.compactMap(\.self).map(Int64.init))
    }

    /// Whether a token is called as languages are, such as `<|en|>`.
    package static func isLanguage(_ token: String) -> Bool {
        let code = token.dropFirst(2).dropLast(2)
        return token.hasPrefix("<|") && token.hasSuffix("|>") && (2...3).contains(code.utf8.count)
            && code.allSatisfy(\.isLowercase)
    }

    /// The languages by their codes. Names are such as `<|en|>`.
    private static func languages(_ field: JSONField?, _ tokenizer: Tokenizer) throws -> [String: Int64] {
        let named: [(String, Int64)]
        if let field {
            named = try field.members().map { ($0.key, Int64(try $0.field.int(in: 0...Int(Int32.max)))) }
        } else {
            named = tokenizer.specialTokens.map { ($0.content, Int64($0.id)) }
                .filter { isLanguage($0.0) }
        }
        let codes = named.filter { $0.0.hasPrefix("<|") && $0.0.hasSuffix("|>") }.map { name, id in
            (String(name.dropFirst(2).dropLast(2)), id)
        }
        return Dictionary(codes) { first, _ in first }
    }

    private static func tasks(_ field: JSONField?, _ tokenizer: Tokenizer) throws -> [String: Int64] {
        if let field {
            return Dictionary(
                try field.members().map { ($0.key, Int64(try $0.field.int(in: 0...Int(Int32.max)))) }
            ) { first, _ in first }
        }
        return ["transcribe", "translate"].reduce(into: [:]) { tasks, name in
            tasks[name] = tokenizer.tokenID(of: "<|\(name)|>").map(Int64.init)
        }
    }
}
