import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

/// The parts of decoders for the static engine of coreai-models, called as its Swift code calls them.
@Suite("Decoders' parts for the static engine of coreai-models")
struct StaticEngineTests {
    private static let parts = ["load_embeddings", "gather_embeddings", "extend", "prompt_opt"]
    /// Tied and untied heads, sliding windows, norms of heads, scaled embeddings, and packed projections.
    private static let subjects = [
        "llama_bfloat16", "llama_yarn", "mistral_window", "qwen2_window", "qwen3_small", "gemma_early", "gemma3_old",
    ].map { ParityCase(folder: Fixtures.path($0)) }

    @Test(
        "The parts are built by name only, each alone or all together, and account for every tensor",
        arguments: subjects)
    func accounting(subject: ParityCase) throws {
        #expect(try subject.model(parts: [FamilyModel.everyPart]).programs.map(\.name) == ["decoder"])
        for names in Self.parts.map({ [$0] }) + [Self.parts] {
            let model = try subject.model(parts: names)
            #expect(model.programs.map(\.name) == names)
            try subject.expectAccount(of: model)
        }
    }

    @Test("The parts have the ports of the engine")
    func ports() throws {
        let programs = try Self.subjects[0].model(parts: Self.parts).programs
        #expect(
            programs.map { $0.inputs.map(\.name) } == [
                [], ["in_new_token_ids", "embedding_table"],
                ["transformer_input", "position_ids", "in_step", "causal_mask"],
                ["transformer_input", "position_ids", "in_step", "causal_mask"],
            ])
        #expect(programs.map { $0.states.map(\.name) } == [[], [], StackedNames.all, StackedNames.all])
        #expect(
            programs.map { $0.outputs.map(\.name) } == [
                ["embedding_table"], ["gathered_embeddings"], ["out_logits"], ["out_logits"],
            ])
        let shapes = programs[2].usualShapes.map { "\($0)" }
        #expect(shapes == [8, 16, 64].map { "cache=64,tokens=\($0)" })
    }

    @Test("Blocks of tokens at multiples of their length give the decoder's logits", arguments: subjects)
    func logits(subject: ParityCase) throws {
        let stored = HostTensor(try #require(try subject.golden()["in.input_ids"]))
        let count = stored.shape.dimensions[1]
        let tokens = Array(stored.integers[..<count])
        let decoder = try #require(try subject.model(parts: ["decoder"]).programs.first)
        var run = try DecoderRun(decoder, blocks: [count], cache: 64, by: .reference)
        let expected = try run.logits(HostTensor(tokens, [1, count]), at: 0).floats
        var host = try StaticHost(try subject.model(parts: Self.parts).programs, cache: 64, block: 8)
        let vocabulary = expected.count / count
        let scale = expected.map(abs).max() ?? 0
        // All rows of a block, and after that one token at a time, whose block is computed anew.
        var rows: [Float] = []
        for first in stride(from: 0, to: count, by: 8) {
            rows += try host.logits(Array(tokens[first..<min(first + 8, count)]), from: first)
        }
        #expect(rows.count == expected.count)
        #expect(zip(rows, expected).allSatisfy { abs($0 - $1) <= 1e-4 * scale })
        host.states = [:]
        for position in tokens.indices {
            let first = position / 8 * 8
            let row = try host.logits(Array(tokens[first...position]), from: first).suffix(vocabulary)
            let golden = expected[position * vocabulary..<(position + 1) * vocabulary]
            #expect(zip(row, golden).allSatisfy { abs($0 - $1) <= 1e-4 * scale }, "position \(position)")
        }
    }

    @Test("A block without logits leaves the states of one with logits", arguments: subjects)
    func prompt(subject: ParityCase) throws {
        var host = try StaticHost(try subject.model(parts: Self.parts).programs, cache: 64, block: 8)
        let tokens: [Int64] = [1, 5, 3, 2, 7, 11, 4, 6]
        _ = try host.logits(tokens, from: 0)
        let states = host.states
        host.states = [:]
        let sum = try host.run(tokens, from: 0, givesLogits: false)
        #expect(sum.shape == [1] && sum.floats[0] != 0)
        #expect(host.states == states && states.keys.sorted() == StackedNames.all)
    }

    @Test("Rotary embeddings that change with the cache are an error, and so are models without a head")
    func rejected() throws {
        for (name, reason) in [("phi3_long", "rotary embeddings"), ("sentence_qwen3", "generate text")] {
            let subject = ParityCase(folder: Fixtures.path(name))
            let error = #expect(throws: RequestError.self) { try subject.model(parts: Self.parts) }
            #expect(error.map { "\($0)".contains(reason) } ?? false, "\(name)")
        }
    }
}

private enum StackedNames {
    static let all = ["key_cache", "value_cache"]
}

/// The calls of the engine, with its mask and its aligned blocks.
private struct StaticHost {
    private let gather: FrozenProgram, extend: FrozenProgram, prompt: FrozenProgram
    private let table: HostTensor
    private let cache: Int, block: Int
    var states: [String: HostTensor] = [:]

    init(_ programs: [Program], cache: Int, block: Int) throws {
        (self.cache, self.block) = (cache, block)
        var none: [String: HostTensor] = [:]
        table = try programs[0].freezing(ShapeBindings()).evaluate([:], states: &none)[0].tensor
        gather = try programs[1].freezing(ShapeBindings(["tokens": block]))
        extend = try programs[2].freezing(ShapeBindings(["cache": cache, "tokens": block]))
        prompt = try programs[3].freezing(ShapeBindings(["cache": cache, "tokens": block]))
    }

    /// Returns the rows of tokens, one after the other.
    mutating func logits(_ tokens: [Int64], from first: Int) throws -> [Float] {
        let logits = try run(tokens, from: first, givesLogits: true)
        let vocabulary = logits.shape.dimensions[3]
        #expect(logits.shape == [1, 1, block, vocabulary])
        return Array(logits.floats[..<(tokens.count * vocabulary)])
    }

    /// Runs a block, of which the rest is padded.
    mutating func run(_ tokens: [Int64], from first: Int, givesLogits: Bool) throws -> HostTensor {
        let padded = tokens + [Int64](repeating: 0, count: block - tokens.count)
        var none: [String: HostTensor] = [:]
        let rows = try gather.evaluate(
            ["in_new_token_ids": HostTensor(padded, [1, block]), "embedding_table": table], states: &none)[0].tensor
        var mask = [Float](repeating: -40_000, count: cache * block)
        for query in tokens.indices {
            for key in 0...first + query { mask[key * block + query] = 0 }
        }
        let function = givesLogits ? extend : prompt
        var inputs = [
            "transformer_input": rows, "in_step": HostTensor([Int64(first)], [1]),
            "position_ids": HostTensor((0..<block).map { Int64(first + $0) }, [1, block]),
            "causal_mask": HostTensor(mask, [1, cache, 1, block]),
        ]
        if function.program.inputs.contains(where: { $0.name == "embedding_table" }) {
            inputs["embedding_table"] = table
        }
        return try function.evaluate(inputs, states: &states)[0].tensor
    }
}
