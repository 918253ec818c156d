// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
import AccelFrontEnds
import AccelTensors
public import CAccel

/// The object behind a stream handle.
final class StreamObject: HandledObject {
    static let kind = Handle.Kind.stream
    let session: SessionObject
    let stream: TokenStream
    /// The same tokens as text; nil for a model without a tokenizer.
    let text: TextStream?
    /// The piece of text that the caller reads.
    private let lent = Locked<LentMemory?>(nil)

    init(_ stream: TokenStream, as text: TextStream?, of session: SessionObject) {
        (self.stream, self.text, self.session) = (stream, text, session)
    }

    /// A piece of text that lives until the next one.
    func lend(_ piece: String) -> UnsafePointer<CChar> {
        let memory = LentMemory()
        lent.withLock { $0 = memory }
        return memory.string(piece)
    }
}

extension GenerationOptions {
    fileprivate init(_ options: accel_generation, of model: AccelModel) throws(AccelError) {
        let place = "accel_generation"
        let most = Int64(Int32.max)
        if options.sampling == UInt32(ACCEL_MODEL_SETTINGS) {
            self.init(try model.text().generation, seed: options.seed)
        } else {
            self.init()
        }
        maxTokens = try number(options.max_tokens, atMost: most, "\(place).max_tokens").map { Int($0) } ?? 256
        switch Int(options.sampling) {
        case Int(ACCEL_GREEDY): sampling = .greedy
        case Int(ACCEL_RANDOM):
            sampling = .random(
                temperature: options.temperature == 0 ? 1 : options.temperature,
                topK: try number(options.top_k, atMost: most, "\(place).top_k").map { Int($0) },
                topP: options.top_p == 0 ? 1 : options.top_p, minP: options.min_p, seed: options.seed)
        case Int(ACCEL_MODEL_SETTINGS): break
        default: throw AccelError(.invalid, "there is no sampling \(options.sampling)", at: "\(place).sampling")
        }
        if options.repetition_penalty != 0 { repetitionPenalty = options.repetition_penalty }
        if options.stop_tokens != nil || options.stop_token_count != 0 {
            stopTokens = Set(try array(options.stop_tokens, options.stop_token_count, "\(place).stop_tokens"))
        }
        timeLimit = try AccelC.timeLimit(options.time_limit_ms, "\(place).time_limit_ms")
        isCancelled = try CancelTokens.all.poll(options.cancel)
        inputs = try AccelTensor.copied(options.inputs, options.input_count)
        try check()
    }
}

extension AccelTensor {
    /// Tensors of the caller's, which stay after the call.
    fileprivate static func copied(
        _ pointer: UnsafePointer<accel_tensor>?, _ count: Int
    ) throws(AccelError) -> [String: AccelTensor] {
        let given = try TensorArray(pointer, count, "accel_generation.inputs")
        var copies: [String: AccelTensor] = [:]
        for index in 0..<given.count {
            let tensor = try given.tensor(index)
            let name = try string(tensor.name, "inputs[\(index)].name")
            let place = "generation, input \"\(name)\""
            guard copies.updateValue(try AccelTensor(copying: tensor, place), forKey: name) == nil else {
                throw AccelError(.invalid, "is given more than once", at: place)
            }
        }
        return copies
    }

    private init(copying tensor: accel_tensor, _ place: String) throws(AccelError) {
        let (type, shape) = try tensor.ownTypeAndShape(place)
        let expected = shape.count * type.byteCount
        guard tensor.byte_count == expected else {
            throw AccelError(
                .invalid, expected: "\(type.rawValue)\(shape)", found: "\(UInt(bitPattern: tensor.byte_count)) bytes",
                at: place)
        }
        guard expected == 0 || tensor.data != nil else {
            throw AccelError(.invalid, expected: "\(type.rawValue)\(shape)", found: "NULL", at: place)
        }
        let bytes = [UInt8](UnsafeRawBufferPointer(start: tensor.data, count: expected))
        self.init(StoredTensor(name: "", elementType: type, shape: shape, bytes: ByteView(bytes)))
    }
}

@c @implementation public func accel_session_generate(
    _ session: OpaquePointer?, _ options: UnsafePointer<accel_generation>?,
    _ stream: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: stream, "stream") { () throws(AccelError) in
            let object = try HandleTable.all.object(session, as: SessionObject.self)
            let given = try CStruct.read(try required(options, "options"), "accel_generation")
            let options = try GenerationOptions(given, of: object.session.model)
            let prompts = [given.tokens != nil, given.prompt != nil, given.messages != nil].count { $0 }
            guard prompts <= 1 else {
                throw AccelError(
                    .invalid, expected: "tokens, a prompt or messages", found: "\(prompts) of them",
                    at: "accel_generation")
            }
            if given.prompt != nil {
                let text = try string(given.prompt, "accel_generation.prompt")
                let stream = try object.session.generate(prompt: text, options)
                return StreamObject(stream.tokens, as: stream, of: object)
            }
            if given.messages != nil {
                let asked = try Conversation(try string(given.messages, "accel_generation.messages"))
                let stream = try object.session.generate(
                    answering: asked.messages, tools: asked.tools, variables: asked.variables, options)
                return StreamObject(stream.tokens, as: stream, of: object)
            }
            let prompt = try array(given.tokens, given.token_count, "accel_generation.tokens")
            let stream = object.session.generate(from: prompt, options)
            return StreamObject(stream, as: try? object.session.text(of: stream, options), of: object)
        }
    }
}

@c @implementation public func accel_stream_next(
    _ stream: OpaquePointer?, _ token: UnsafeMutablePointer<Int64>?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    var hasEnded = false
    let status = attempt(error) { () throws(AccelError) in
        let target = try required(token, "token")
        let object = try HandleTable.all.object(stream, as: StreamObject.self)
        let next = try object.session.alone { _ throws(AccelError) in
            var iterator = object.stream.makeAsyncIterator()
            return try await iterator.next()
        }
        if let next { target.pointee = next } else { hasEnded = true }
    }
    return hasEnded ? accel_status(ACCEL_END) : status
}

@c @implementation public func accel_stream_next_text(
    _ stream: OpaquePointer?, _ text: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    var hasEnded = false
    let status = attempt(error) { () throws(AccelError) in
        let target = try required(text, "text")
        let object = try HandleTable.all.object(stream, as: StreamObject.self)
        guard let stream = object.text else {
            throw AccelError(
                .unsupported, "the package has no tokenizer", at: object.session.session.model.package.path)
        }
        let piece = try object.session.alone { _ throws(AccelError) in
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
        if let piece { target.pointee = object.lend(piece) } else { hasEnded = true }
    }
    return hasEnded ? accel_status(ACCEL_END) : status
}

extension Conversation {
    /// A conversation of JSON: a list of messages, or an object with them.
    fileprivate init(_ text: String) throws(AccelError) {
        let place = "accel_generation.messages"
        do {
            try self.init(parsing: JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: place), file: place))
        } catch {
            throw AccelError(.invalid, "\(error)")
        }
    }
}

extension GenerationSummary.Reason {
    fileprivate var number: UInt32 {
        switch self {
        case .stopToken: UInt32(ACCEL_STOP_TOKEN)
        case .maxTokens: UInt32(ACCEL_MAX_TOKENS)
        case .cacheFull: UInt32(ACCEL_CACHE_FULL)
        case .cancelled: UInt32(ACCEL_STREAM_CANCELLED)
        case .timedOut: UInt32(ACCEL_STREAM_TIMED_OUT)
        default: UInt32(ACCEL_OTHER_REASON)
        }
    }
}

extension Duration {
    /// In billionths of a second.
    fileprivate var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: max(seconds, 0)) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
    }
}

@c @implementation public func accel_stream_summary(
    _ stream: OpaquePointer?, _ summary: UnsafeMutablePointer<accel_summary>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let target = try required(summary, "summary")
        let object = try HandleTable.all.object(stream, as: StreamObject.self)
        guard var written = CStruct(filling: target) else { throw AccelError(unset: "accel_summary") }
        guard let end = object.stream.summary else { return }
        written.set(\.reason, end.reason.number)
        written.set(\.reused_tokens, UInt64(clamping: end.reusedTokens))
        written.set(\.prompt_tokens, UInt64(clamping: end.promptTokens))
        written.set(\.generated_tokens, UInt64(clamping: end.generatedTokens))
        written.set(\.prompt_ns, end.promptDuration.nanoseconds)
        written.set(\.generation_ns, end.generationDuration.nanoseconds)
    }
}

@c @implementation public func accel_stream_release(_ stream: OpaquePointer?) -> accel_status {
    HandleTable.all.release(stream, as: StreamObject.self)
}
