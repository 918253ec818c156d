import Accel
import AccelByteIO
import AccelTensors
import BackendConformance
import TestSupport
import Testing

@Suite("Sessions and generation of apps")
struct AccelSessionTests {
    private static let prompt: [Int64] = [5, 17, 3, 29, 11, 2]

    /// Functions of 4 tokens and of 1 over a cache of 16 positions.
    private func open(_ body: (AccelModel) async throws -> Void) async throws {
        let cases = try ConformanceCases()
        let model = try await AccelModel(
            .path(try cases.decoder("qwen3_small", "float32").path), configuration: .reproducible)
        try await body(model)
        withExtendedLifetime(cases) {}
    }

    /// The tokens of the largest logits, one step at a time.
    private func stepped(_ model: AccelModel, _ prompt: [Int64], count: Int) async throws -> [Int64] {
        let session = try model.makeSession()
        let step = try model.function("decoder", shape: ["tokens": 1])
        var (tokens, made) = (prompt, [Int64]())
        for position in 0..<prompt.count + count - 1 {
            let outputs = try await session.prediction(
                of: step.description.name,
                from: [
                    "input_ids": AccelTensor([tokens[position]], 1, 1), "position": AccelTensor([Int64(position)]),
                ])
            guard position >= prompt.count - 1 else { continue }
            let logits = try outputs["logits"].array(of: Float.self)
            let best = logits.indices.max { logits[$0] < logits[$1] } ?? 0
            tokens.append(Int64(best))
            made.append(Int64(best))
        }
        return made
    }

    private func tokens(_ stream: TokenStream) async throws -> [Int64] {
        var tokens: [Int64] = []
        for try await token in stream { tokens.append(token) }
        return tokens
    }

    @Test("blocks and steps give the tokens of single steps; what the session holds does not run again")
    func greedy() async throws {
        try await open { model in
            let expected = try await stepped(model, Self.prompt, count: 5)
            let session = try model.makeSession()
            let stream = session.generate(from: Self.prompt, GenerationOptions(maxTokens: 5))
            #expect(try await tokens(stream) == expected)
            var summary = try #require(stream.summary)
            #expect(summary.reason == .maxTokens && summary.generatedTokens == 5)
            #expect(summary.reusedTokens == 0 && summary.promptTokens == 6)
            // The same beginning once more, and another end.
            let longer = Self.prompt + expected.prefix(2) + [7]
            let second = session.generate(from: longer, GenerationOptions(maxTokens: 3))
            #expect(try await tokens(second) == (try await stepped(model, longer, count: 3)))
            summary = try #require(second.summary)
            #expect(summary.reusedTokens == 8)
            // Snapshots hold the tokens, too.
            let snapshot = try await session.snapshot()
            await session.reset()
            let again = session.generate(from: longer, GenerationOptions(maxTokens: 1))
            _ = try await tokens(again)
            #expect(again.summary?.reusedTokens == 0)
            try await session.restore(snapshot)
            let restored = session.generate(from: longer, GenerationOptions(maxTokens: 3))
            #expect(try await tokens(restored) == (try await stepped(model, longer, count: 3)))
            #expect(restored.summary?.reusedTokens == 8)
        }
    }

    @Test(
        "a stream ends with a stop token, the cache, its time, and its task; and nothing is computed before it is asked for"
    )
    func ends() async throws {
        try await open { model in
            let expected = try await stepped(model, Self.prompt, count: 11)
            let session = try model.makeSession()
            let stop = try #require(expected.dropFirst(2).first)
            let first = try #require(expected.firstIndex(of: stop))
            var stream = session.generate(from: Self.prompt, GenerationOptions(stopTokens: [stop]))
            #expect(try await tokens(stream) == Array(expected[...first]))
            #expect(stream.summary?.reason == .stopToken)
            // 16 positions: the token after the last one is known, and has no place.
            stream = session.generate(from: Self.prompt)
            #expect(try await tokens(stream) == expected)
            #expect(stream.summary?.reason == .cacheFull)
            stream = session.generate(from: Self.prompt, GenerationOptions(timeLimit: .zero))
            #expect(try await tokens(stream) == [])
            #expect(stream.summary?.reason == .timedOut)
            let cancelled = session.generate(from: Self.prompt)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await tokens(cancelled)
            }
            #expect(try await task.value == [])
            #expect(cancelled.summary?.reason == .cancelled)
            let unread = session.generate(from: Self.prompt)
            var iterator = unread.makeAsyncIterator()
            #expect(try await iterator.next() == expected[0])
            #expect(await session.heldTokens == Self.prompt)
            let error = await #expect(throws: AccelError.self) { try await tokens(session.generate(from: [])) }
            #expect(error?.code == .invalid)
            let long = await #expect(throws: AccelError.self) {
                try await tokens(session.generate(from: [Int64](repeating: 1, count: 17)))
            }
            #expect(long?.code == .invalid)
            let encoder = await #expect(throws: AccelError.self) { try await session.rewind(to: 99) }
            #expect(encoder?.code == .invalid)
        }
    }

    @Test("tokens at random are those of the seed; with one candidate, or little temperature, they are the likeliest")
    func sampling() async throws {
        try await open { model in
            let session = try model.makeSession()
            func sample(_ sampling: GenerationOptions.Sampling) async throws -> [Int64] {
                try await tokens(
                    session.generate(from: Self.prompt, GenerationOptions(maxTokens: 8, sampling: sampling)))
            }
            let greedy = try await sample(.greedy)
            #expect(try await sample(.random(topK: 1, seed: 3)) == greedy)
            #expect(try await sample(.random(topP: 0, seed: 3)) == greedy)
            #expect(try await sample(.random(temperature: 1e-6, seed: 3)) == greedy)
            let hot = GenerationOptions.Sampling.random(temperature: 50, seed: 3)
            #expect(try await sample(hot) == (try await sample(hot)))
            var different: Set<[Int64]> = []
            for seed in 0..<4 { different.insert(try await sample(.random(temperature: 50, seed: UInt64(seed)))) }
            #expect(different.count == 4)
            for wrong in [
                GenerationOptions.Sampling.random(temperature: 0, seed: 1), .random(topK: 0, seed: 1),
                .random(topP: 2, seed: 1),
            ] {
                let error = await #expect(throws: AccelError.self) { try await sample(wrong) }
                #expect(error?.code == .invalid)
            }
        }
    }

    @Test("a model without a cache generates nothing, and says what it lacks")
    func encoder() async throws {
        let cases = try ConformanceCases()
        let model = try await AccelModel(.path(try cases.encoder("bert_base", "float32").path))
        let error = await #expect(throws: AccelError.self) { try await tokens(model.makeSession().generate(from: [1])) }
        #expect(error?.code == .unsupported)
        withExtendedLifetime(cases) {}
    }
}
