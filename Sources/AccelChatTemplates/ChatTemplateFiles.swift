public import AccelByteIO

/// The chat templates that come with a model: their texts by names, such as `default` and `tool_use`.
public struct ChatTemplateFiles: Equatable, Sendable {
    /// The text of a template, and the file that it comes from.
    public struct Source: Equatable, Sendable {
        /// The name, by which a request chooses the template.
        public var name: String
        /// The text.
        public var text: String
        /// The path of the file, or the name of the entry of a GGUF.
        public var origin: String

        /// Creates a source.
        public init(name: String, text: String, origin: String) {
            (self.name, self.text, self.origin) = (name, text, origin)
        }

        /// Parses the template.
        /// - Throws: `ChatTemplateError` with the line.
        public func template(limits: ChatTemplateLimits = ChatTemplateLimits()) throws -> ChatTemplate {
            try ChatTemplate(text, name: origin, limits: limits)
        }
    }

    /// The name of the template that is taken without a request.
    public static let defaultName = "default"
    /// The most bytes of one template file.
    private static let mostBytes = 4 << 20

    /// The templates, the default one first.
    public private(set) var sources: [Source] = []

    /// No templates.
    public init() {}

    /// Finds the templates of a model's folder; `init(files:)` says how.
    /// - Throws: `FormatError` for a file that cannot be read.
    public init(folder: String) throws { try self.init(files: NamedFiles(folder: folder)) }

    /// Finds the templates among a model's files: `chat_template.jinja`, `chat_templates/NAME.jinja`, `chat_template.json`, and
    /// `chat_template` in `tokenizer_config.json` or `processor_config.json`. As in transformers, files of their own replace what the
    /// configurations hold.
    /// - Throws: `FormatError` for a file that cannot be read.
    public init(files: NamedFiles) throws {
        for file in ["tokenizer_config.json", "processor_config.json", "chat_template.json"] {
            try add(try files.document(file)["chat_template"])
        }
        let folder = "chat_templates/"
        for file in try files.names where file.hasSuffix(".jinja") {
            if file == "chat_template.jinja" {
                try add(files, file, name: Self.defaultName)
            } else if file.hasPrefix(folder) {
                try add(files, file, name: String(file.dropFirst(folder.count).dropLast(".jinja".count)))
            }
        }
        sort()
    }

    /// Finds the templates among the texts of a GGUF file: `tokenizer.chat_template`, and `tokenizer.chat_template.NAME`.
    public init(gguf texts: [(key: String, text: String)]) {
        let prefix = "tokenizer.chat_template"
        for (key, text) in texts {
            if key == prefix { add(.init(name: Self.defaultName, text: text, origin: key)) }
            guard key.hasPrefix(prefix + "."), key.count > prefix.count + 1 else { continue }
            add(.init(name: String(key.dropFirst(prefix.count + 1)), text: text, origin: key))
        }
        sort()
    }

    /// Finds the templates in the value of `chat_template` of a configuration: a text, or a list of names with texts.
    /// - Throws: `FormatError` naming the field.
    public init(configuration field: JSONField) throws {
        try add(field)
        sort()
    }

    /// The template of a name; nil if there is none.
    public subscript(name: String) -> Source? { sources.first { $0.name == name } }

    /// The template for a conversation, as transformers chooses it: `tool_use` where tools are given, else the default one, or the only
    /// one.
    public func source(hasTools: Bool) -> Source? {
        if hasTools, let tools = self["tool_use"] { return tools }
        return self[Self.defaultName] ?? (sources.count == 1 ? sources.first : nil)
    }

    private mutating func add(_ field: JSONField) throws {
        switch field.value {
        case nil, .null?: return
        case .string(let text)?: add(.init(name: Self.defaultName, text: text, origin: field.file))
        case .object?:
            for (name, text) in try field.members() {
                add(.init(name: name, text: try text.string(), origin: field.file))
            }
        default:
            for entry in try field.array() {
                let text = try entry["template"].string()
                add(.init(name: try entry["name"].string(), text: text, origin: field.file))
            }
        }
    }

    private mutating func add(_ files: NamedFiles, _ file: String, name: String) throws {
        let path = files.path(of: file)
        guard try files.bytes(file)?.count ?? 0 <= Self.mostBytes else {
            throw FormatError(file: path, reason: "a chat template has at most \(Self.mostBytes) bytes")
        }
        if let text = try files.text(file) { add(.init(name: name, text: text, origin: path)) }
    }

    private mutating func add(_ source: Source) {
        sources.removeAll { $0.name == source.name }
        sources.append(source)
    }

    private mutating func sort() {
        sources.sort { ($0.name != Self.defaultName, $0.name) < ($1.name != Self.defaultName, $1.name) }
    }
}

private func < (left: (Bool, String), right: (Bool, String)) -> Bool {
    left.0 == right.0 ? left.1 < right.1 : !left.0
}
