public import AccelFrontEnds

/// A conversation with a model: its messages, and one session whose cache holds what was said, so that each turn computes only what is
/// new.
///
///     let chat = try AccelChat(with: model, system: "Answer in one sentence.")
///     for try await piece in try await chat.send("Why is the sky blue?") { print(piece, terminator: "") }
public actor AccelChat {
    private let session: AccelSession
    private let options: GenerationOptions?
    private var sent: [ChatMessage]
    private let frontEnd: TextFrontEnd
    /// The tokens that the cache holds; nil for a model without one.
    private let capacity: Int?
    /// How many messages, from the oldest on, were left out because the cache holds no more.
    public private(set) var forgotten = 0
    /// The answer that is generated now.
    private var answer: TextStream?

    /// Begins a conversation.
    /// - Parameters:
    ///   - system: the system message before all others; nil for the template's own text.
    ///   - options: nil for the settings of the model's author.
    /// - Throws: `AccelError` (unsupported) if the package has no tokenizer or no chat template, (memory) without memory for the states.
    public init(
        with model: AccelModel, system: String? = nil, _ options: GenerationOptions? = nil
    ) throws(AccelError) {
        frontEnd = try model.text()
        capacity = model.positionCount
        guard frontEnd.hasChatTemplate else {
            throw AccelError(.unsupported, "the package has no chat template", at: model.package.path)
        }
        session = try model.makeSession()
        self.options = options
        sent = system.map { [ChatMessage(role: "system", content: $0)] } ?? []
    }

    /// The messages so far, with the answer as far as it was read.
    public var messages: [ChatMessage] {
        sent + (answer.map { [ChatMessage(role: "assistant", content: $0.text)] } ?? [])
    }

    /// Says something to the model, and returns its answer. An answer before that was not read to its end stays as far as it was read.
    /// Where the cache would have no capacity left for an answer, the oldest turns are left out, but for the instruction.
    /// - Throws: as `AccelSession.generate(answering:_:)`; then nothing was said.
    public func send(_ text: String) throws(AccelError) -> TextStream {
        let asked = try fitting(messages + [ChatMessage(role: "user", content: text)])
        let stream = try session.generate(answering: asked, options)
        (sent, answer) = (asked, stream)
        return stream
    }

    private func fitting(_ messages: [ChatMessage]) throws(AccelError) -> [ChatMessage] {
        guard let capacity else { return messages }
        var messages = messages
        let first = messages.firstIndex { $0.role != "system" } ?? 0
        do {
            // An eighth of the cache is left for the answer.
            while messages.count > first + 2, try frontEnd.tokens(of: messages).count > capacity - capacity / 8 {
                messages.removeSubrange(first..<first + 2)
                forgotten += 2
            }
        } catch { throw AccelError(error, at: session.model.package.path) }
        return messages
    }
}
