import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("The executor")
struct ExecutorTests {
    /// y0 = table[x0] W^T, y1 = relu(y0)
    static func sample() throws -> SmallProgram {
        try SmallProgram { maker in
            let indices = maker.input(HostTensor([2, 0, 1] as [Int64], [1, 3]))
            let (table, matrix) = (maker.weight([4, 5]), maker.weight([6, 5]))
            let rows = try maker.builder.in("embeddings") { try $0.apply(Gather(), [table, indices]) }
            let y = try maker.builder.in("head") { try $0.apply(Linear(), [rows, matrix]) }
            return [y, try maker.builder.in("head") { try $0.apply(Relu(), [y]) }]
        }
    }

    @Test(
        "inputs of a wrong name, type or shape are rejected before anything runs",
        arguments: [
            (["x": "I64[1,3]"], "model has no input \"x\"; did you mean \"x0\"? (it has: x0)"),
            ([:], "input \"x0\" of model is missing; expected I64[1,3]"),
            (["x0": "F32[1,3]"], "input \"x0\" of model: expected I64[1,3], found F32[1,3]"),
            (["x0": "I64[3]"], "input \"x0\" of model: expected I64[1,3], found I64[3]"),
            (["x0": "I64[1,3]", "extra": "I64[3]"], "model has no input \"extra\" (it has: x0)"),
        ])
    func rejected(inputs: [String: String], sentence: String) throws {
        let tensors = [
            "I64[1,3]": StoredTensor(name: "t", integers: [0, 0, 0], shape: [1, 3]),
            "I64[3]": StoredTensor(name: "t", integers: [0, 0, 0], shape: [3]),
            "F32[1,3]": StoredTensor(name: "t", floats: [0, 0, 0], shape: [1, 3]),
        ]
        let executor = try Executor(Self.sample().program)
        var calls = 0
        let error = #expect(throws: RequestError.self) {
            try executor.run(inputs.compactMapValues { tensors[$0] }) { _ in calls += 1 }
        }
        #expect(error?.description == sentence.replacing("model", with: executor.function.name))
        #expect(calls == 0)
    }

    @Test("an index outside of the table names the operator", arguments: [-1, 4, .max, .min] as [Int64])
    func badIndex(index: Int64) throws {
        let executor = try Executor(Self.sample().program)
        let error = #expect(throws: ShapeError.self) {
            try executor.run(["x0": StoredTensor(name: "x0", integers: [0, index, 0], shape: [1, 3])])
        }
        #expect(error?.operator == "gather \"embeddings.gather\"")
        #expect(error?.reason == "index \(index) (element 1 of the indices) is outside of the table's 4 rows")
    }

    @Test("what has no elements takes no time, whatever its other sizes are")
    func noElements() throws {
        let program = try SmallProgram { maker in
            let x = maker.input(HostTensor([] as [Float], [3, 1 << 44, 0]))
            let y = try maker.builder.in("y") { try $0.apply(Relu(), [x]) }
            return [y, try maker.builder.in("sum") { try $0.apply(Add(), [x, y]) }]
        }
        let results = try Executor(program.program).run([
            "x0": StoredTensor(name: "x0", floats: [], shape: [3, 1 << 44, 0])
        ])
        #expect(results.map(\.shape) == [[3, 1 << 44, 0], [3, 1 << 44, 0]])
        #expect(results.map(\.bytes.count) == [0, 0])
        let expected = try program.frozen.evaluate(["x0": HostTensor([] as [Float], [3, 1 << 44, 0])])
        #expect(expected.map(\.tensor.shape) == results.map(\.shape))
    }

    @Test("an observer sees each call's results in order, and every call is timed")
    func observer() throws {
        let program = try Self.sample()
        let executor = try Executor(program.program)
        var steps: [(index: Int, label: String, outputs: [StoredTensor])] = []
        let outputs = try executor.run(program.storedInputs) { steps.append(($0.index, $0.call.label, $0.outputs)) }
        #expect(steps.map(\.index) == Array(executor.function.calls.indices))
        #expect(steps.map(\.label) == executor.function.calls.map(\.label))
        #expect(executor.durations.count == steps.count)
        #expect(executor.durations.allSatisfy { $0 > .zero })
        #expect(steps.last?.outputs.first?.bytes == outputs.last?.bytes)
        #expect(steps.first?.outputs.first?.name == "embeddings.gather")
    }

    @Test("a call runs alone on given values, and reads its own weights")
    func singleCall() throws {
        let program = try Self.sample()
        let executor = try Executor(program.program)
        let call = try #require(executor.function.calls.firstIndex { $0.operation is Linear })
        let x = HostTensor((0..<15).map { Float($0) }, [1, 3, 5])
        let weight = HostTensor(try #require(program.program.weights.first { $0.shape == [6, 5] }).floats(), [6, 5])
        let anything = HostTensor([Float](repeating: 99, count: 30), [6, 5])
        let expected = try Linear().evaluate([x, weight])
        #expect(agree(try executor.run(call: call, on: [x, anything])[0], expected[0], tolerance: 1e-6))
        #expect(throws: RequestError.self) { try executor.run(call: call, on: [x]) }
        #expect(throws: RequestError.self) { try executor.run(call: call, on: [anything, anything]) }
        #expect(throws: RequestError.self) { try executor.run(call: 99, on: []) }
    }

    @Test("a second run gives the same as the first, and other inputs give other outputs")
    func runsAgain() throws {
        let program = try Self.sample()
        let executor = try Executor(program.program)
        let first = try executor.run(program.storedInputs).map { HostTensor($0) }
        let other = ["x0": StoredTensor(name: "x0", integers: [3, 3, 3], shape: [1, 3])]
        #expect(try executor.run(other).map { HostTensor($0) } != first)
        #expect(try executor.run(program.storedInputs).map { HostTensor($0) } == first)
    }

    @Test("inputs may start at any address")
    func misaligned() throws {
        let program = try Self.sample()
        let bytes = ByteView(
            [UInt8](repeating: 0, count: 3) + [2, 0, 1].flatMap { [$0, 0, 0, 0, 0, 0, 0, 0] as [UInt8] })
        let shifted = StoredTensor(name: "x0", elementType: .int64, shape: [1, 3], bytes: bytes[3..<27])
        let found = try Executor(program.program).run(["x0": shifted]).map { HostTensor($0) }
        #expect(found == (try program.run()))
    }

    @Test("a plan whose operands lie outside of their storage is rejected")
    func brokenPlans() throws {
        let program = try Self.sample().program
        func rejected(_ change: (inout FunctionPlan) -> Void) {
            var broken = program
            change(&broken.functions[0])
            #expect(throws: FormatError.self) { try Executor(broken) }
        }
        rejected { $0.arenaBytes = 8 }
        rejected { $0.arenaBytes = -8 }
        rejected { $0.calls[0].outputs[0].storage = .arena(-64) }
        rejected { $0.calls[0].outputs[0].storage = .arena(.max) }
        rejected { $0.calls[0].outputs[0].layout.strides = [.max, .max, 1] }
        rejected { $0.calls[0].outputs[0].layout.offset = -1 }
        rejected { $0.calls[0].inputs[0].storage = .weight(7) }
        rejected { $0.calls[0].inputs[1].storage = .input(1) }
        rejected { $0.calls[0].inputs[1].layout.shape = [1, 4] }
        #expect(throws: RequestError.self) { try Executor(program, function: 1) }
    }
}
