import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Testing

@Suite("State")
struct StateTests {
    /// sum becomes sum + x; the output is what sum was before.
    static func counter(from initial: Double = 0) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "counter")
        let x = builder.input("x", TensorType(.float32, [3]))
        let sum = builder.state("sum", TensorType(.float32, [3]), initial: initial)
        builder.update("sum", to: try builder.apply(Add(), [sum, x]))
        builder.output("before", sum)
        return try builder.finish().freezing(ShapeBindings())
    }

    static func planned(_ programs: [FrozenProgram]) throws -> ModelPlan {
        try CompressedProgram(functions: programs, weights: []).planned()
    }

    static let x = ["x": StoredTensor(name: "x", floats: [1, 2, 3], shape: [3])]

    @Test("What a run leaves is what the next one finds, as in the reference")
    func accumulates() throws {
        let frozen = try Self.counter()
        let executor = try Executor(try Self.planned([frozen]))
        var states: [String: HostTensor] = [:]
        for _ in 0..<3 {
            let expected = try frozen.evaluate(["x": HostTensor([1.0, 2, 3], [3])], states: &states)
            #expect(try executor.run(Self.x).map { HostTensor($0) } == expected.map(\.tensor))
        }
        #expect(states["sum"] == HostTensor([3.0, 6, 9], [3]))
    }

    @Test("A state that is discarded has its initial value again, also one of many pages", arguments: [0.0, 2])
    func discarding(initial: Double) throws {
        for count in [3, 1 << 20] {
            var builder = ProgramBuilder(name: "counter")
            let sum = builder.state("sum", TensorType(.float32, [.fixed(count)]), initial: initial)
            let one = builder.literal(HostTensor([Float(1)], [1]), name: "one")
            builder.update("sum", to: try builder.apply(Add(), [sum, one]))
            builder.output("y", sum)
            let frozen = try builder.finish().freezing(ShapeBindings())
            let program = try CompressedProgram(functions: [frozen], weights: []).planned()
            let session = try Session(program)
            func values() throws -> Set<Float> {
                Set(try #require(session.states.value(of: program.functions[0].states[0])).floats())
            }
            _ = try session.run(0, [:])
            #expect(try values() == [Float(initial) + 1])
            session.states.discard(program.functions[0].states[0])
            #expect(try values() == [Float(initial)])
            _ = try session.run(0, [:])
            #expect(try values() == [Float(initial) + 1])
        }
    }

    @Test("States can be reset, copied and restored")
    func restoring() throws {
        let program = try Self.planned([try Self.counter()])
        let states = try StateMemory(program)
        let executor = try Executor(program, states: states)
        _ = try executor.run(Self.x)
        let copy = states.copy()
        #expect(copy.map { $0.floats() } == [[1, 2, 3]])
        _ = try executor.run(Self.x)
        try states.restore(copy)
        #expect(try executor.run(Self.x)[0].floats() == [1, 2, 3])
        try states.restore([])
        #expect(try executor.run(Self.x)[0].floats() == [0, 0, 0], "a state that a copy does not name is reset")
        states.reset()
        #expect(try executor.run(Self.x)[0].floats() == [0, 0, 0])
    }

    @Test("States are listed with name, type, shape and initial value, and start as it says")
    func listed() throws {
        let program = try Self.planned([try Self.counter(from: -1.5), try Self.counter(from: -1.5)])
        let states = try StateMemory(program)
        #expect(
            states.states == [
                FrozenProgram.State(name: "sum", elementType: .float32, shape: [3], initial: -1.5)
            ])
        #expect(states.copy().isEmpty)
        #expect(states.value(of: states.states[0])?.floats() == [-1.5, -1.5, -1.5])
        #expect(try Executor(program, states: states).run(Self.x)[0].floats() == [-1.5, -1.5, -1.5])
        #expect(states.value(of: states.states[0])?.floats() == [-0.5, 0.5, 1.5])
        states.reset()
        #expect(states.copy().map { $0.floats() } == [[-1.5, -1.5, -1.5]])
        var reference: [String: HostTensor] = [:]
        let outputs = try Self.counter(from: -1.5).evaluate(["x": HostTensor([1.0, 2, 3], [3])], states: &reference)
        #expect(outputs[0].tensor.floats == [-1.5, -1.5, -1.5])
    }

    @Test("Functions that share a state but not its initial value are rejected")
    func disagreement() throws {
        let program = try Self.planned([try Self.counter(from: 0), try Self.counter(from: 1)])
        #expect(throws: FormatError.self) { try StateMemory(program) }
    }

    @Test("Some states can be set; a value that fits none changes nothing")
    func setting() throws {
        let program = try Self.planned([try Self.counter()])
        let states = try StateMemory(program)
        try states.set([StoredTensor(name: "sum", floats: [7, 8, 9], shape: [3])])
        let wrong = StoredTensor(name: "sum", floats: [1], shape: [1])
        let right = StoredTensor(name: "sum", floats: [0, 0, 0], shape: [3])
        for change in [states.set, states.restore] {
            let error = #expect(throws: RequestError.self) { try change([right, wrong]) }
            #expect(error.map { "\($0)" }?.contains("expected F32[3], found F32[1]") == true)
            let unknown = #expect(throws: RequestError.self) {
                try change([StoredTensor(name: "sun", floats: [0, 0, 0], shape: [3])])
            }
            #expect(unknown.map { "\($0)" }?.contains("did you mean \"sum\"?") == true)
        }
        #expect(try Executor(program, states: states).run(Self.x)[0].floats() == [7, 8, 9])
    }

    @Test("Functions that have the same state share it")
    func shared() throws {
        let program = try Self.planned([try Self.counter(), try Self.counter()])
        let states = try StateMemory(program)
        _ = try Executor(program, function: 0, states: states).run(Self.x)
        #expect(try Executor(program, function: 1, states: states).run(Self.x)[0].floats() == [1, 2, 3])
    }

    @Test("States that trade places keep both values")
    func swapped() throws {
        var builder = ProgramBuilder(name: "swap")
        let x = builder.input("x", TensorType(.float32, [3]))
        let (a, b) = (builder.state("a", TensorType(.float32, [3])), builder.state("b", TensorType(.float32, [3])))
        builder.update("a", to: try builder.apply(Add(), [b, x]))
        builder.update("b", to: a)
        builder.output("a", a)
        let program = try Self.planned([try builder.finish().freezing(ShapeBindings())])
        let executor = try Executor(program)
        let found = try (0..<4).map { _ in try executor.run(Self.x)[0].floats()[0] }
        #expect(found == [0, 1, 1, 2])
    }
}

@Suite("Caches")
struct CacheStateTests {
    /// A cache of 6 places for 2 rows of 3, a block of `tokens` of them written at `place`.
    static func cache(tokens: Int) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "cache", dimensions: [.init("tokens", usual: [1])])
        let block = builder.input("block", TensorType(.float32, [2, "tokens", 3]))
        let place = builder.input("place", TensorType(.int64, [1]))
        let cache = builder.state("cache", TensorType(.float32, [2, 6, 3]))
        let updated = try builder.apply(UpdateSlice(axis: 1), [cache, block, place])
        builder.update("cache", to: updated)
        builder.output("sum", try builder.apply(Reduce(.sum, axes: [2], keepsAxes: false), [updated]))
        return try builder.finish().freezing(ShapeBindings(["tokens": tokens]))
    }

    static func inputs(tokens: Int, place: Int64) -> [String: StoredTensor] {
        let floats = (0..<2 * tokens * 3).map { Float($0 + 1) * (place == 0 ? 1 : 10) }
        return [
            "block": StoredTensor(name: "block", floats: floats, shape: [2, tokens, 3]),
            "place": StoredTensor(name: "place", integers: [place], shape: [1]),
        ]
    }

    @Test("A cache is updated where it lies, by a long block and then by steps, as in the reference")
    func inPlace() throws {
        let functions = try [4, 1].map { try Self.cache(tokens: $0) }
        let program = try StateTests.planned(functions)
        for function in program.functions {
            #expect(function.calls.map(\.operation.name) == ["update_slice", "reduce"])
            #expect(function.calls[0].outputs[0].storage == .state(0))
        }
        let memory = try StateMemory(program)
        let executors = try functions.indices.map { try Executor(program, function: $0, states: memory) }
        var states: [String: HostTensor] = [:]
        for (function, tokens, place) in [(0, 4, 0), (1, 1, 4), (1, 1, 5)] {
            let inputs = Self.inputs(tokens: tokens, place: Int64(place))
            let expected = try functions[function].evaluate(inputs.mapValues { HostTensor($0) }, states: &states)
            #expect(try executors[function].run(inputs).map { HostTensor($0) } == expected.map(\.tensor))
        }
        #expect(memory.copy().map { HostTensor($0) } == [states["cache"]])
    }

    @Test("A cache whose old values are read after the update is not updated where it lies")
    func readTwice() throws {
        var builder = ProgramBuilder(name: "cache")
        let block = builder.input("block", TensorType(.float32, [2, 1, 3]))
        let place = builder.input("place", TensorType(.int64, [1]))
        let cache = builder.state("cache", TensorType(.float32, [2, 6, 3]), initial: 5)
        let updated = try builder.apply(UpdateSlice(axis: 1), [cache, block, place])
        builder.update("cache", to: updated)
        builder.output("change", try builder.apply(Subtract(), [updated, cache]))
        builder.output("before", cache)
        let frozen = try builder.finish().freezing(ShapeBindings())
        let executor = try Executor(try StateTests.planned([frozen]))
        var states: [String: HostTensor] = [:]
        for place in [0, 3, 3] as [Int64] {
            let inputs = Self.inputs(tokens: 1, place: place)
            let expected = try frozen.evaluate(inputs.mapValues { HostTensor($0) }, states: &states)
            #expect(try executor.run(inputs).map { HostTensor($0) } == expected.map(\.tensor))
        }
    }

    @Test("A place beyond the cache is rejected, naming the operator")
    func beyond() throws {
        let executor = try Executor(try StateTests.planned([try Self.cache(tokens: 4)]))
        #expect(throws: ShapeError.self) { try executor.run(Self.inputs(tokens: 4, place: 3)) }
    }

    /// Two caches of one block at two places, so that the second can fail after the first is written, and a count.
    private static func twoCaches() throws -> ModelPlan {
        var builder = ProgramBuilder(name: "caches")
        let block = builder.input("block", TensorType(.float32, [2, 1, 3]))
        for name in ["a", "b"] {
            let place = builder.input("place_\(name)", TensorType(.int64, [1]))
            let cache = builder.state(name, TensorType(.float32, [2, 6, 3]), initial: 5)
            let updated = try builder.apply(UpdateSlice(axis: 1), [cache, block, place])
            builder.update(name, to: updated)
            builder.output("\(name)_sum", try builder.apply(Reduce(.sum, axes: [2], keepsAxes: false), [updated]))
        }
        let count = builder.state("count", TensorType(.float32, [2, 1, 3]))
        builder.update("count", to: try builder.apply(Add(), [count, block]))
        return try StateTests.planned([try builder.finish().freezing(ShapeBindings())])
    }

    private static func inputs(_ places: (Int64, Int64), _ number: Float) -> [String: StoredTensor] {
        [
            "block": StoredTensor(
                name: "block", floats: (0..<6).map { number + Float($0) }, shape: [2, 1, 3]),
            "place_a": StoredTensor(name: "place_a", integers: [places.0], shape: [1]),
            "place_b": StoredTensor(name: "place_b", integers: [places.1], shape: [1]),
        ]
    }

    @Test("A run that fails after it wrote to a state leaves all states as it found them")
    func failedRun() throws {
        let session = try Session(try Self.twoCaches())
        _ = try session.run(0, Self.inputs((2, 3), 10))
        func held() -> [HostTensor] { session.states.copy().map { HostTensor($0) } }
        let before = held()
        #expect(before.count == 3)
        #expect(throws: ShapeError.self) { try session.run(0, Self.inputs((4, 6), 100)) }
        #expect(held() == before)
        // One whose observer gives up at the end, too.
        struct GivenUp: Error {}
        let last = session.program.functions[0].calls.count - 1
        #expect(throws: GivenUp.self) {
            try session.executor(of: 0).run(Self.inputs((4, 4), 100)) { if $0.index == last { throw GivenUp() } }
        }
        #expect(held() == before)
        let other = try Session(session.program)
        _ = try other.run(0, Self.inputs((2, 3), 10))
        let next = try [session, other].map { try $0.run(0, Self.inputs((3, 3), 7)).map { HostTensor($0) } }
        #expect(next[0] == next[1])
    }
}
