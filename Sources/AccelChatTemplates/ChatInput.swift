public import AccelByteIO

/// The input of a chat template.
public struct ChatInput: Sendable {
    /// The messages: objects with `role`, `content`, and what else the template reads.
    public var messages: JSON
    /// The tools that the model may call, as JSON schemas; nil for none.
    public var tools: JSON?
    /// The documents to answer from; nil for none.
    public var documents: JSON?
    /// The prompt ends with the start of the model's answer.
    public var addGenerationPrompt: Bool
    /// The special tokens, such as `bos_token`, with their texts.
    public var specialTokens: [JSON.Member]
    /// Further variables, such as `enable_thinking`. They replace others of the same name.
    public var variables: [JSON.Member]

    /// Creates an input.
    public init(
        messages: JSON, tools: JSON? = nil, documents: JSON? = nil, addGenerationPrompt: Bool = false,
        specialTokens: [JSON.Member] = [], variables: [JSON.Member] = []
    ) {
        self.messages = messages
        self.tools = tools
        self.documents = documents
        self.addGenerationPrompt = addGenerationPrompt
        self.specialTokens = specialTokens
        self.variables = variables
    }

    /// The names under which messages hold the model's reasoning, the usual one first.
    private static let reasoningNames = ["reasoning_content", "thinking", "reasoning"]

    /// Returns the variables of the template.
    func values() throws -> [String: Value] {
        var values: [String: Value] = [:]
        for member in specialTokens { values[member.key] = try Value(member.value) }
        values["messages"] = try Value(Self.withReasoning(messages))
        values["tools"] = try Value(tools ?? .null)
        values["documents"] = try Value(documents ?? .null)
        values["add_generation_prompt"] = .bool(addGenerationPrompt)
        for member in variables { values[member.key] = try Value(member.value) }
        return values
    }

    /// Gives the reasoning of messages each name that templates read, as transformers does.
    private static func withReasoning(_ messages: JSON) -> JSON {
        guard case .array(let elements) = messages else { return messages }
        return .array(
            elements.map { message in
                guard case .object(var members) = message,
                    let reasoning = reasoningNames.lazy.compactMap({ message[$0] }).first(where: { $0 != .null })
                else { return message }
                if message["thinking"] == nil { members.insert(.init("thinking", reasoning), at: 0) }
                if let index = members.firstIndex(where: { $0.key == "reasoning_content" }) {
                    members[index].value = reasoning
                } else {
                    members.append(.init("reasoning_content", reasoning))
                }
                return .object(members)
            })
    }
}

extension Value {
    /// The value of a JSON document.
    /// - Throws: `TemplateFailure` if it is nested too deeply.
    init(_ json: JSON) throws { try self.init(json, level: 0) }

    private init(_ json: JSON, level: Int) throws {
        guard level <= ValueSize.deepest else {
            throw TemplateFailure(.limit, "values are nested more than \(ValueSize.deepest) levels deep")
        }
        switch json {
        case .null: self = .none
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(Int(number))
        case .number(let number): self = .float(number)
        case .string(let string): self = .string(Text(string))
        case .array(let elements): self = try .list(elements.map { try Value($0, level: level + 1) })
        case .object(let members):
            let dict = Dict()
            for member in members { try dict.set(member.key, try Value(member.value, level: level + 1)) }
            self = .dict(dict)
        }
    }
}
