public import AccelByteIO

/// A message of a conversation, with all members that a template may read.
public struct ChatMessage: Equatable, Sendable {
    /// The members in their order: `role`, `content`, and others such as `tool_calls` or `name`.
    public let members: [JSON.Member]

    /// Who speaks: `system`, `user`, `assistant`, `tool`, or another role that the template knows.
    public var role: String { text("role") }
    /// The text; empty where the content is none.
    public var content: String { text("content") }

    /// Creates a message.
    public init(role: String, content: String) {
        members = [.init("role", .string(role)), .init("content", .string(content))]
    }

    /// Takes a message of a JSON document as it is.
    /// - Throws: `FormatError` for anything but an object with a role.
    public init(parsing field: JSONField) throws {
        _ = try field["role"].string()
        guard case .object(let members)? = field.value else { throw field.error("is no message") }
        self.members = members
    }

    var json: JSON { .object(members) }

    private func text(_ name: String) -> String {
        if case .string(let text)? = members.first(where: { $0.key == name })?.value { text } else { "" }
    }
}

/// A conversation of a file, with what its template reads besides.
public struct Conversation: Equatable, Sendable {
    /// The messages in their order.
    public var messages: [ChatMessage]
    /// The tools that the model may call, as JSON schemas; nil for none.
    public var tools: JSON?
    /// Further values that the template reads, such as `documents` and `enable_thinking`.
    public var variables: [JSON.Member] = []

    /// Parses a list of messages, or an object with `messages`. Its other members are variables of the template; those of
    /// `chat_template_kwargs` are, too.
    /// - Throws: `FormatError` with the location of a value that is no message.
    public init(parsing root: JSONField) throws {
        guard case .object(let members)? = root.value else {
            messages = try root.array().map(ChatMessage.init(parsing:))
            return
        }
        messages = try root["messages"].array().map(ChatMessage.init(parsing:))
        for member in members {
            switch (member.key, member.value) {
            case ("messages", _), ("tools", .null): break
            case ("tools", let list): tools = list
            case ("chat_template_kwargs", .object(let more)): variables += more
            default: variables.append(member)
            }
        }
    }
}
