import AccelByteIO

/// The template of a model that converts a conversation to its prompt: Jinja2, as transformers sets it up.
///
///     let template = try ChatTemplate(source, name: "tokenizer_config.json")
///     let prompt = try template.render(ChatInput(messages: messages, addGenerationPrompt: true))
public struct ChatTemplate: Sendable {
    /// The name, for errors.
    public let name: String
    /// The text of the template.
    public let source: String
    private let limits: ChatTemplateLimits
    private let statements: [Statement]

    /// Parses a template.
    /// - Throws: `ChatTemplateError` with the line.
    public init(_ source: String, name: String, limits: ChatTemplateLimits = ChatTemplateLimits()) throws {
        (self.name, self.source, self.limits) = (name, source, limits)
        do {
            statements = try LargeStack.run { try StatementParser.parse(source, limits: limits) }
        } catch let failure as TemplateFailure {
            throw ChatTemplateError(failure, template: name, line: 1)
        }
    }

    /// Returns the prompt of a conversation.
    /// - Parameter now: the time that `strftime_now` prints.
    /// - Throws: `ChatTemplateError` with the line; of kind `raised` if the template rejects the conversation.
    public func render(_ input: ChatInput, now: ChatTime = .now) throws -> String {
        let evaluator = Evaluator(limits: limits, now: now)
        do {
            return try LargeStack.run {
                defer { evaluator.finish() }
                return try evaluator.render(statements, variables: try input.values()).string
            }
        } catch let failure as TemplateFailure {
            throw ChatTemplateError(failure, template: name, line: evaluator.line)
        }
    }
}

extension ChatTemplateError {
    fileprivate init(_ failure: TemplateFailure, template: String, line: Int) {
        self.init(template: template, line: failure.line ?? line, kind: failure.kind, reason: failure.reason)
    }
}
