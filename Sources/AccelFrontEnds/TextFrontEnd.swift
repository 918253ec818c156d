public import AccelByteIO
public import AccelChatTemplates
public import AccelText

/// The text at the ends of a model: its tokenizer, its chat templates, the defaults of its generation, and the names of its classes, as
/// its own files state them.
public struct TextFrontEnd: Sendable {
    /// Text to tokens, and back.
    public let tokenizer: Tokenizer
    /// The templates that make a prompt of a conversation.
    public let chatTemplates: ChatTemplateFiles
    /// How the model's author generates text.
    public let generation: GenerationDefaults
    /// The names of classes by their numbers: `id2label` of config.json. Empty for models without classes.
    public let labels: [Int: String]
    /// The conversion of logits to the scores of classes.
    public let scores: ClassScores
    /// The text that a sentence encoder puts before each text, by the default of its author; empty for none.
    public let defaultPrompt: String
    /// The texts of special tokens by the names that templates use, such as `bos_token`.
    public let specialTokens: [JSON.Member]
    /// The most tokens of a text that the model was made for, with special ones; nil if no file states it.
    public let longestText: Int?
    /// The model or package, for errors.
    public let place: String

    /// The name of the file that holds the tokenizer of a GGUF file.
    public static let ggufFile = GGUFVocabulary.assetName

    /// Returns whether a file of this name is a tokenizer's, or a part of one.
    public static func isTokenizer(_ name: String) -> Bool { Tokenizer.isFile(name) }

    /// Reads the front end of a model.
    /// - Returns: nil if the model has no tokenizer.
    /// - Throws: `FormatError` for a file that is corrupt, or has a part that is not supported.
    public init?(files: NamedFiles) throws {
        // The entries of a GGUF file, which are many, are read once: for the tokenizer and for the special tokens.
        let entries = try files.has("tokenizer.json") ? nil : GGUFVocabulary(files: files)
        guard let tokenizer = try entries.map(Tokenizer.init(gguf:)) ?? Tokenizer(files: files) else { return nil }
        self.tokenizer = tokenizer
        place = files.place
        chatTemplates = try ChatTemplateFiles(files: files)
        generation = try GenerationDefaults(files.document("generation_config.json"))
        let configuration = try files.document("config.json")
        let classes = try ClassLabels(configuration)
        (labels, scores) = (classes.names, classes.scores)
        let prompts = try files.document("config_sentence_transformers.json")
        let prompt = prompts["default_prompt_name"]
        defaultPrompt =
            try prompt.exists && prompt.value != .null ? prompts["prompts"][try prompt.string()].string() : ""
        specialTokens = try Self.specialTokens(files, tokenizer, entries)
        longestText = try Self.longestText(files)
    }

    /// The limit of sentence-transformers, else the one of the tokenizer. Values such as 1e30 stand for none.
    private static func longestText(_ files: NamedFiles) throws -> Int? {
        for (file, name) in [
            ("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length"),
        ] {
            let field = try files.document(file)[name]
            guard field.exists else { continue }
            let limit = try field.double()
            if limit >= 1, limit < 1e9 { return Int(limit) }
        }
        return nil
    }

    /// The named special tokens of tokenizer_config.json, special_tokens_map.json, or a GGUF file.
    private static func specialTokens(
        _ files: NamedFiles, _ tokenizer: Tokenizer, _ entries: GGUFVocabulary?
    ) throws -> [JSON.Member] {
        var members: [JSON.Member] = []
        let documents = try ["tokenizer_config.json", "special_tokens_map.json"].map(files.document)
        for name in ["bos", "eos", "unk", "sep", "pad", "cls", "mask"].map({ "\($0)_token" }) {
            for field in documents.map({ $0[name] }) where field.exists {
                let text = try field["content"].exists ? field["content"].string() : field.string()
                members.append(JSON.Member(name, .string(text)))
                break
            }
        }
        guard members.isEmpty, let entries else { return members }
        for (name, id) in [
            ("bos_token", entries.startToken), ("eos_token", entries.endToken), ("unk_token", entries.unknownToken),
            ("sep_token", entries.separatorToken),
        ] {
            if let text = id.flatMap(tokenizer.token) { members.append(JSON.Member(name, .string(text))) }
        }
        return members
    }

    /// Returns the text of a special token by its name in templates, such as `mask_token`.
    public func specialToken(_ name: String) -> String? {
        specialTokens.first { $0.key == name }.flatMap { member in
            if case .string(let text) = member.value { text } else { nil }
        }
    }

    /// Returns the number of a token by its text; nil if there is none.
    public func tokenID(_ token: String) -> Int64? { tokenizer.tokenID(of: token).map(Int64.init) }

    /// The number of tokens of the tokenizer.
    public var vocabularySize: Int { tokenizer.vocabularySize }

    /// Whether there is a template for conversations.
    public var hasChatTemplate: Bool { chatTemplates.source(hasTools: false) != nil }

    /// Returns the prompt of a conversation, which ends with the beginning of the model's answer.
    /// - Parameter variables: further values that the template reads, such as `enable_thinking`.
    /// - Throws: `RequestError` without a template; `ChatTemplateError` with the template's line.
    public func prompt(of messages: [ChatMessage], tools: JSON? = nil, variables: [JSON.Member] = []) throws -> String {
        guard let source = chatTemplates.source(hasTools: tools != nil) else {
            throw RequestError("\(place) has no chat template", status: .unavailable)
        }
        return try source.template().render(
            ChatInput(
                messages: .array(messages.map(\.json)), tools: tools, addGenerationPrompt: true,
                specialTokens: specialTokens, variables: variables))
    }

    /// Returns the tokens of a conversation's prompt. The template writes its special tokens itself.
    public func tokens(of messages: [ChatMessage], tools: JSON? = nil, variables: [JSON.Member] = []) throws -> [Int64]
    {
        try tokenizer.encode(try prompt(of: messages, tools: tools, variables: variables), addSpecialTokens: false)
            .map(Int64.init)
    }

    /// Returns the token that the tokenizer puts before each text; nil if it puts none there.
    public func startToken() throws -> Int64? {
        let start = try tokens(of: "").first
        // A token that only ends texts is not before another one.
        return try tokens(of: "a").first == start ? start : nil
    }

    /// Returns the tokens of a text, with the special ones around it.
    public func tokens(of text: String) throws -> [Int64] { try tokenizer.encode(text).map(Int64.init) }
}
