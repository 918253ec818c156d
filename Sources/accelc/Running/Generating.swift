import Accel
import AccelByteIO
import AccelFrontEnds

/// A run that generates text: of a prompt, of a conversation in a file, or in a conversation on the terminal.
struct TextGeneration {
    let model: AccelModel
    let frontEnd: TextFrontEnd
    let options: GenerationOptions
    let arguments: Arguments
    let console: Console

    func run() throws {
        let name = try arguments.required(RunCommand.package)
        guard model.functions.contains(where: { $0.inputs.contains { $0.role.kind == .position } }) else {
            throw RequestError(
                "\(name) generates no text, since it takes whole ones (--text)", status: .unavailable)
        }
        let states = model.functions.flatMap(\.states)
        guard !states.contains(where: { $0.role.kind == .crossAttention }) else {
            throw RequestError(
                "\(name): the decoder reads the output of an encoder; --audio transcribes a sound",
                status: .unavailable)
        }
        if !frontEnd.generation.unsupported.isEmpty {
            console.warning(
                "generation_config.json asks for what is not supported, and is left out: "
                    + frontEnd.generation.unsupported.joined(separator: ", "))
        }
        if arguments.has(TextOptions.chat) { try chat() } else { try answer() }
    }

    private func answer() throws {
        let session = try model.makeSession()
        let stream: TextStream
        if let path = arguments[TextOptions.messages] {
            let asked = try FormatError.ofRequest { try Conversation(parsing: JSONField(JSON.read(path), file: path)) }
            stream = try session.generate(
                answering: asked.messages, tools: asked.tools, variables: asked.variables, options)
        } else {
            let text = try arguments.required(TextOptions.prompt)
            let prompt = try text == "-" ? StandardInput.text() : text
            if arguments.has(TextOptions.raw) || !frontEnd.hasChatTemplate {
                try arguments.reject(
                    [TextOptions.system], "the prompt goes to the model as it is", for: "chat templates")
                stream = try session.generate(prompt: prompt, options)
            } else {
                let system = arguments[TextOptions.system].map { [ChatMessage(role: "system", content: $0)] } ?? []
                stream = try session.generate(
                    answering: system + [ChatMessage(role: "user", content: prompt)], options)
            }
        }
        let isJSON = arguments.has(CommonOptions.json)
        while !console.isOutputLost, let piece = try next(of: stream) {
            if !isJSON { console.stream(piece) }
        }
        guard let summary = stream.summary else { return }
        if isJSON {
            console.print(Self.document(stream.text, summary))
        } else {
            if !stream.text.hasSuffix("\n") { console.stream("\n") }
            console.note(Self.line(summary))
        }
    }

    private func next(of stream: TextStream) throws -> String? {
        try waiting {
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
    }

    private func chat() throws {
        let chat = try AccelChat(with: model, system: arguments[TextOptions.system], options)
        let isTerminal = StandardInput.isTerminal
        if isTerminal { console.note("each line is a message; Ctrl-D ends the conversation") }
        var forgotten = 0
        while true {
            if isTerminal { console.stream("> ") }
            guard let line = StandardInput.line() else { break }
            guard !line.allSatisfy(\.isWhitespace) else { continue }
            let stream: TextStream
            do {
                stream = try waiting { try await chat.send(line) }
            } catch let error as AccelError where error.code == .invalid {
                console.warning("\(error)")
                continue
            }
            let left = try waiting { await chat.forgotten }
            if left > forgotten {
                console.warning("the cache is full: \(left) messages are forgotten, from the first on")
            }
            forgotten = left
            while !console.isOutputLost, let piece = try next(of: stream) { console.stream(piece) }
            guard !console.isOutputLost else { break }
            console.stream("\n")
            guard let summary = stream.summary else { continue }
            if summary.reason == .cacheFull { console.warning("the cache is full, so that the answer ends here") }
            console.detail(Self.line(summary))
        }
        if isTerminal { console.stream("\n") }
    }

    // MARK: - Figures

    private static func line(_ summary: GenerationSummary) -> String {
        let parts = [
            "prompt: \(Wording.count(summary.promptTokens, "token")), \(speed(summary.promptTokensPerSecond))",
            "generated: \(Wording.count(summary.generatedTokens, "token")), \(speed(summary.tokensPerSecond))",
            "peak memory \(Wording.bytes(Timing.processPeak))", "ended by: \(summary.reason)",
        ]
        return parts.joined(separator: "; ")
    }

    private static func speed(_ value: Double) -> String { "\(Text.decimals(value, 1)) per second" }

    private static func document(_ text: String, _ summary: GenerationSummary) -> JSON {
        func part(_ tokens: Int, _ duration: Duration, _ speed: Double) -> JSON {
            [
                "tokens": .int(tokens), "ms": .number((duration / .microseconds(1)).rounded() / 1000),
                "tokens_per_second": .number((speed * 1000).rounded() / 1000),
            ]
        }
        return [
            "text": .string(text),
            "prompt": part(summary.promptTokens, summary.promptDuration, summary.promptTokensPerSecond),
            "generation": part(summary.generatedTokens, summary.generationDuration, summary.tokensPerSecond),
            "ended_by": .string("\(summary.reason)"), "peak_memory_bytes": .int(Timing.processPeak),
        ]
    }
}
