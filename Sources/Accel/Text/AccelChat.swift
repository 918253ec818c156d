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
    /// The answer that is generated now.
    private var answer: TextStream?

    /// Begins a conversation.
    /// - Parameters:
    ///   - system: what the model is told before; nil for the template's own text.
    ///   - options: nil for the settings of the model's author.
    /// - Throws: `AccelError` (unsupported) if the package has no tokenizer or no chat template, (memory) without memory for the states.
    public init(
        with model: AccelModel, system: String? = nil, _ options: GenerationOptions? = nil
    ) throws(AccelError) {
        guard try model.text().hasChatTemplate else {
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
    /// - Throws: as `AccelSession.generate(answering:_:)`; then nothing was said.
    public func send(_ text: String) throws(AccelError) -> TextStream {
        let asked = messages + [ChatMessage(role: "user", content: text)]
        let stream = try session.generate(answering: asked, options)
        (sent, answer) = (asked, stream)
        return stream
    }
}
