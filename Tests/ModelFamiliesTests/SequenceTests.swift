import Accel
import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("Sequences through functions that share states")
struct SequenceTests {
    static let cases = DecoderCase.all.map(\.files) + WhisperTests.cases

    @Test("a prefill and steps equal the full forward within 4 times the framework's noise", arguments: cases)
    func prefillAndSteps(subject: ParityCase) throws {
        let (golden, facts) = (try subject.golden(), try subject.facts())
        let ids = try #require(golden["in.input_ids"] ?? golden["in.decoder_input_ids"])
        let (batch, count) = (ids.shape.dimensions[0], ids.shape.dimensions[1])
        let (prefill, cache) = (try facts["prefill"].int(), try facts["kv_len"].int())
        var numbers = ["batch": batch]
        numbers["frames"] = golden["in.input_features"]?.shape.dimensions[2]
        // So long that the rest has to go in steps.
        let first = max(prefill, count / 2 + 1)
        let model = try BlockModel(
            try subject.model().programs, numbers, blocks: [count, first, 1], cache: max(cache, count))
        let whole = try model.logits(golden.tensors, blocks: [count])
        let stepped = try model.logits(golden.tensors, blocks: [first] + Array(repeating: 1, count: count - first))
        #expect(whole.shape.dimensions[1] == count)
        let noise = try facts["fp32_noise"]["logits_full"]["max_abs_fp32_vs_64"].double()
        #expect(largestDifference(whole, stepped) <= 4 * noise)
    }

    /// In units of the logits' root mean square. Rows are computed alike in blocks of any length here, to the last bit; a
    /// kernel for single rows may add in another order.
    private static let longTolerance = 1e-5

    @Test(
        "300 steps of one token equal the full forward, with windows and without",
        arguments: ["llama_llama3", "mistral_window", "gemma3_old"])
    func threeHundredSteps(fixture: String) throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path(fixture)).model().programs, ["batch": 1], blocks: [300, 1], cache: 300)
        let ids = tokens(1, 300, below: 47)
        let whole = try model.logits([ids], blocks: [300])
        let stepped = try model.logits([ids], blocks: Array(repeating: 1, count: 300))
        let rms = (whole.floats.reduce(0) { $0 + Double($1) * Double($1) } / Double(whole.floats.count)).squareRoot()
        #expect(rms > 0.1)
        #expect(largestDifference(whole, stepped) <= Self.longTolerance * rms)
        // Steps that forget what was before them are far from it.
        let session = try Session(model.program)
        let plan = try #require(DecodingPlan(model.program, ["input_ids": ids]))
        let last = try #require(plan.steps(inBlocksOf: Array(repeating: 1, count: 300))?.last)
        let alone = HostTensor(try session.run(last, carrying: [:])[0])
        #expect(alone.floats != Array(stepped.floats.suffix(47)))
    }

    @Test("states that are given are used: by a cache of their size or a longer one, at a position, or not at all")
    func givenStates() throws {
        let programs = try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs
        let bindings = [(4, 16), (1, 16), (1, 40)].map { ShapeBindings(["batch": 1, "tokens": $0.0, "cache": $0.1]) }
        let program = try CompressedProgram(functions: programs.freezing(bindings), weights: []).planned()
        func plan(_ tensors: [StoredTensor], generating count: Int = 0) throws -> RunPlan {
            try RunPlan(program, FunctionInputs(tensors, file: "in"), generating: count)
        }
        func capacities(_ plan: RunPlan) -> Set<Int?> {
            Set(plan.steps.map { program.functions[$0.function].bindings.numbers["cache"] })
        }
        let ids = tokens(1, 6, below: 47)
        // Of two caches that take the tokens, the one with fewer runs; the longer one where more are to be generated.
        #expect(capacities(try plan([ids], generating: 2)) == [16])
        #expect(capacities(try plan([ids], generating: 30)) == [40])
        let (short, long) = (program.functions[1].states[0], program.functions[2].states[0])
        func zeros(_ state: FrozenProgram.State) -> StoredTensor {
            StoredTensor(name: state.name, floats: [Float](repeating: 0, count: state.shape.count), shape: state.shape)
        }
        let position = StoredTensor(name: "position", integers: [3], shape: [1])
        #expect(capacities(try plan([ids, position, zeros(short)])) == [16])
        #expect(capacities(try plan([ids, position, zeros(long)])) == [40])
        let missing = #expect(throws: RequestError.self) { try plan([ids, zeros(short)]) }
        #expect(missing?.description.contains("\"position\" is missing") == true, "\(String(describing: missing))")
        // 30 more tokens need the longer cache, where a shorter state goes on.
        let longer = try plan([ids, position, zeros(short)], generating: 30)
        #expect(capacities(longer) == [40])
        #expect(longer.steps[0].states.map(\.shape) == [long.shape])
        // Tokens that fit the shorter cache do not, with a state of the longer one, if it has to be the shorter one.
        let name = program.functions[1].name
        let wrong = #expect(throws: RequestError.self) {
            try RunPlan(
                program, FunctionInputs([tokens(1, 1, below: 47), position, zeros(long)], file: "in"), function: name,
                generating: 2)
        }
        #expect(
            wrong?.description.contains("expected F32\(short.shape), found F32\(long.shape)") == true,
            "\(String(describing: wrong))")
    }

    @Test("a decode that is copied at a place goes on from there as often as it is restored, bit for bit")
    func branches() throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs, ["batch": 1], blocks: [4, 1],
            cache: 16)
        let session = try Session(model.program, threads: 2)
        let plans = try [5, 6].map { seed in
            try #require(DecodingPlan(model.program, ["input_ids": tokens(1, 12, below: 47, seed: seed)]))
        }
        let steps = try plans.map { try #require($0.steps(inBlocksOf: [4] + Array(repeating: 1, count: 8))) }
        func run(_ steps: ArraySlice<RunStep>) throws -> [HostTensor] {
            try steps.map { HostTensor(try session.run($0, carrying: [:])[0]) }
        }
        let beginning = try run(steps[0][..<4])
        let branch = session.states.copy()
        #expect(branch.map(\.name) == ["k.0", "k.1", "v.0", "v.1"])
        let first = try run(steps[0][4...])
        try session.states.restore(branch)
        let other = try run(steps[1][4...])
        #expect(first != other)
        try session.states.restore(branch)
        #expect(try run(steps[0][4...]) == first)

        // A step that is rejected, for its place or its token, changes nothing.
        try session.states.restore(branch)
        let step = try #require(steps[0].last)
        for (name, number) in [("position", 16), ("input_ids", 47)] {
            var inputs = step.inputs
            inputs[name] = inputs[name].map { StoredTensor(name: name, integers: [Int64(number)], shape: $0.shape) }
            #expect(throws: ShapeError.self) { try session.run(step.function, inputs) }
        }
        #expect(session.states.copy().map { HostTensor($0) } == branch.map { HostTensor($0) })
        #expect(try run(steps[0][4...]) == first)

        // Reset, and all is as at first; so in a new session that is given the branch.
        session.states.reset()
        #expect(try run(steps[0][..<4]) == beginning)
        let later = try Session(model.program, threads: 1)
        try later.states.set(branch)
        #expect(try steps[0][4...].map { HostTensor(try later.run($0, carrying: [:])[0]) } == first)
    }

    @Test("generated tokens are those whose logits are largest in the full forward, row by row")
    func generation() throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("llama_llama3")).model().programs, ["batch": 2], blocks: [12, 6, 1],
            cache: 20)
        let prompt = tokens(2, 3, below: 47)
        let plan = try RunPlan(model.program, FunctionInputs([prompt], file: "tokens"), generating: 9)
        // Steps, which take less time than a block of which most is empty.
        #expect(plan.steps.map { $0.positions } == [0..<1, 1..<2, 2..<3])
        #expect(plan.steps.map { $0.inputs["position"]?.integers() } == [[0], [1], [2]])
        let result = try plan.run(in: Session(model.program))
        let generated = try #require(result.generated)
        #expect(generated.shape == [2, 9] && result.outputs[0].shape == [2, 11, 47])

        let (given, chosen) = (prompt.integers(), generated.integers())
        var rows: [[Int64]] = []
        for row in 0..<2 { rows.append(Array(given[row * 3..<row * 3 + 3]) + Array(chosen[row * 9..<row * 9 + 9])) }
        let inputs: [String: HostTensor] = [
            "input_ids": HostTensor(rows[0] + rows[1], [2, 12]), "position": HostTensor([0] as [Int64], [1]),
        ]
        let floats: [Float] = try model.frozen[0].evaluate(inputs)[0].tensor.floats
        for row in 0..<2 {
            for place in 2..<11 {
                let start = (row * 12 + place) * 47
                let logits: [Float] = Array(floats[start..<start + 47])
                let largest: Int? = logits.indices.max { logits[$0] < logits[$1] }
                #expect(largest == Int(rows[row][place + 1]))
            }
        }
        #expect(Set(generated.integers()).count > 1)
    }

    @Test(
        "A block that begins earlier, or whose end is empty, gives the logits of a block of that length",
        arguments: ["llama_llama3", "mistral_window", "gemma3_old"], [(31, [16, 15]), (12, [12]), (45, [16, 16, 13])])
    func rounded(fixture: String, _ numbers: (count: Int, blocks: [Int])) throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path(fixture)).model().programs, ["batch": 2],
            blocks: [numbers.count, 16, 1], cache: 64)
        let ids = tokens(2, numbers.count, below: 47)
        let whole = try model.logits([ids], blocks: [numbers.count])
        let first = numbers.blocks[0] == 16 ? model.function(16) : nil
        let few = try BlockModel(
            try ParityCase(folder: Fixtures.path(fixture)).model().programs, ["batch": 2], blocks: [16, 1], cache: 64)
        let plan = try RunPlan(few.program, FunctionInputs([ids], file: "tokens"), function: first)
        #expect(plan.steps.compactMap { $0.positions?.count } == numbers.blocks)
        let outputs = try plan.run(in: Session(few.program, threads: 2)).outputs
        let logits = HostTensor(try #require(outputs.first { $0.name == "logits" }))
        let rms = (whole.floats.reduce(0) { $0 + Double($1) * Double($1) } / Double(whole.floats.count)).squareRoot()
        #expect(largestDifference(whole, logits) <= Self.longTolerance * rms)

        // What follows is what follows steps of one token, with all logits and with the last ones only.
        let steps = try BlockModel(
            try ParityCase(folder: Fixtures.path(fixture)).model().programs, ["batch": 2], blocks: [1], cache: 64)
        let last = try BlockModel(
            try ParityCase(folder: Fixtures.path(fixture)).model().programs.map {
                try #require(try $0.computingLastLogits())
            }, ["batch": 2], blocks: [16, 1], cache: 64)
        let generated = try [steps, few, last].map { model in
            let plan = try RunPlan(model.program, FunctionInputs([ids], file: "tokens"), generating: 6)
            return try #require(try plan.run(in: Session(model.program, threads: 2)).generated).integers()
        }
        #expect(generated[0] == generated[1] && generated[0] == generated[2])
    }

    @Test("tokens of 32 bits are taken, and a stop token ends generation")
    func stopping() throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs, ["batch": 1], blocks: [4, 1],
            cache: 16)
        func run(_ tensor: StoredTensor, until stops: Set<Int64> = []) throws -> RunPlan.Result {
            let plan = try RunPlan(
                model.program, FunctionInputs([tensor], file: "tokens"), generating: 8, until: stops)
            return try plan.run(in: Session(model.program))
        }
        let ids = tokens(1, 4, below: 47)
        let narrow = StoredTensor(
            name: "input_ids", elementType: .int32, shape: ids.shape,
            bytes: ByteView(
                ids.integers().flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }))
        let (wide, same) = (try run(ids), try run(narrow))
        let generated = try #require(wide.generated).integers()
        #expect(generated.count == 8 && !wide.isStopped && same.generated?.integers() == generated)
        #expect(wide.prompt.tokens == 4 && wide.generation.tokens == 7)
        let stopped = try run(ids, until: [generated[0]])
        #expect(stopped.isStopped && stopped.generated?.integers() == [generated[0]])
        #expect(stopped.prompt.tokens == 4 && stopped.generation.tokens == 0)
    }

    @Test("rows of a batch end apart: each says after how many tokens, and repeats its stop token until all have ended")
    func stoppingRows() throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs, ["batch": 2], blocks: [4, 1],
            cache: 16)
        func run(until stops: Set<Int64>) throws -> (rows: [[Int64]], stops: [Int?], isStopped: Bool) {
            let plan = try RunPlan(
                model.program, FunctionInputs([tokens(2, 4, below: 47)], file: "tokens"), generating: 8, until: stops)
            let result = try plan.run(in: Session(model.program))
            let generated = try #require(result.generated)
            let (width, all) = (generated.shape.dimensions[1], generated.integers())
            return ([Array(all[..<width]), Array(all[width...])], result.stops, result.isStopped)
        }
        let free = try run(until: [])
        #expect(free.stops == [nil, nil] && !free.isStopped)
        // A token that only the first row has.
        let own = try #require(free.rows[0].first { !free.rows[1].contains($0) })
        let first = try #require(free.rows[0].firstIndex(of: own))
        let one = try run(until: [own])
        #expect(one.stops == [first + 1, nil] && !one.isStopped)
        #expect(one.rows[0] == free.rows[0][...first] + [Int64](repeating: own, count: 7 - first))
        #expect(one.rows[1] == free.rows[1])
        let both = try run(until: [own, free.rows[1][0]])
        #expect(both.isStopped && both.stops.allSatisfy { $0 != nil } && both.stops[1] == 1)
    }

    @Test("a sequence goes on where another ended, from its states and at its place")
    func continuation() throws {
        let model = try BlockModel(
            try ParityCase(folder: Fixtures.path("qwen3_small")).model().programs, ["batch": 1], blocks: [4, 1],
            cache: 16)
        let ids = tokens(1, 10, below: 47)
        func part(_ range: Range<Int>) -> StoredTensor {
            StoredTensor(name: "input_ids", integers: Array(ids.integers()[range]), shape: [1, range.count])
        }
        let whole = try model.logits([ids], blocks: [4, 4, 1, 1])
        let session = try Session(model.program)
        _ = try RunPlan(model.program, FunctionInputs([part(0..<5)], file: "tokens")).run(in: session)
        let position = StoredTensor(name: "position", integers: [5], shape: [1])
        let rest = try model.logits([part(5..<10), position] + session.states.copy(), blocks: [4, 1])
        #expect(largestDifference(rest, HostTensor(Array(whole.floats.suffix(5 * 47)), [1, 5, 47])) <= 1e-5)
    }
}
