import AccelPrograms

/// The functions of a recognizer with an encoder and a decoder: the encoder, the function that makes the decoder's cross-attention states
/// of its output, and the decoder's functions over one cache.
struct EncoderDecoderFunctions: Sendable {
    typealias Port = FunctionDescription.Port

    let encoder, cross: FunctionDescription
    /// The encoder's output, F32[1, states, width].
    let hidden: Port
    let decoder: DecodingFunctions

    /// - Throws: `AccelError` (unsupported) if no function of the decoder reads the states that `cross` makes.
    init(
        _ model: AccelModel, _ encoder: FunctionDescription, _ hidden: Port, _ cross: FunctionDescription
    ) throws(AccelError) {
        (self.encoder, self.hidden, self.cross) = (encoder, hidden, cross)
        decoder = try DecodingFunctions(model, reading: cross.states)
    }

    /// Returns the function that makes the states of a decoder of an encoder's output; nil if there is none.
    static func cross(of model: AccelModel, reading hidden: Port) -> FunctionDescription? {
        model.functions.first { function in
            function.role == .crossKeysAndValues && function.inputs.count == 1
                && function.inputs[0].shape == hidden.shape
        }
    }

    /// Returns the output of hidden states of an encoder; nil for a function of something else.
    static func hidden(of function: FunctionDescription) -> Port? {
        function.output(.hiddenStates).flatMap { $0.shape.rank == 3 ? $0 : nil }
    }

    /// Makes the decoder's cross-attention states of a sound.
    func encode(
        _ inputs: AccelFunction.Inputs, within deadline: Deadline, in session: AccelSession
    ) async throws(AccelError) {
        let outputs = try await session.prediction(
            of: encoder.name, from: inputs, options: RunOptions(timeLimit: deadline.left, outputs: [hidden.name]))
        _ = try await session.prediction(
            of: cross.name, from: [cross.inputs[0].name: try outputs[hidden.name]],
            options: RunOptions(timeLimit: deadline.left, outputs: []))
    }

    /// Returns the tokens that follow a prompt, after `encode`, up to one of `stopTokens`, which is the last one then.
    /// - Throws: `AccelError`: (cancelled) if the task is, (timed out), and the backend's.
    func tokens(
        after prompt: [Int64], atMost count: Int, until stopTokens: Set<Int64>, by chooser: any TokenChooser,
        within deadline: Deadline, in session: AccelSession
    ) async throws(AccelError) -> [Int64] {
        let stream = session.generate(
            from: prompt, GenerationOptions(maxTokens: count, stopTokens: stopTokens, timeLimit: deadline.left),
            by: chooser, with: decoder)
        var chosen: [Int64] = []
        for try await token in stream { chosen.append(token) }
        switch stream.summary?.reason {
        case .cancelled: throw AccelError(.cancelled, "was cancelled", at: "a transcription")
        case .timedOut: throw AccelError(timedOutAt: "a transcription")
        default: return chosen
        }
    }
}
