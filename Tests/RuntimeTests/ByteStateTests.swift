import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Key/value caches of int8 on this processor")
struct ByteStateTests {
    @Test(
        "Attention over rows of codes is the reference implementation's, for steps and blocks, on any number of threads",
        arguments: [(1, 40, 16, 16), (1, 70, 80, 96), (1, 9, 5, 7), (5, 40, 64, 64), (37, 50, 24, 40), (3, 9, 5, 7)])
    func attention(tokens: Int, keys: Int, width: Int, valueWidth: Int) throws {
        let own = try HalfStateTests.attention(tokens: tokens, keys: keys, width: width, valueWidth: valueWidth)
        let function = try [own].keepingCaches(in: .int8)[0]
        let kernels = try ExecutionPlan(StateTests.planned([function]), function: 0).choices.map {
            $0.candidates[$0.chosen].kernel
        }
        let attention = tokens == 1 ? "DecodeAttentionKernel" : "AttentionKernel"
        #expect(
            kernels == [
                "RoundRowsKernel", "UpdateSliceKernel", "RoundRowsKernel", "UpdateSliceKernel", attention,
            ])
        let sessions = try [1, 3].map { try Session(StateTests.planned([function]), threads: $0) }
        var (generator, states) = (SeededGenerator(seed: 3), [String: HostTensor]())
        for position in [0, 2, keys - tokens] {
            let inputs = HalfStateTests.inputs(of: own, position: position, &generator)
            let expected = try function.evaluate(inputs.mapValues { HostTensor($0) }, states: &states)[0].tensor
            let found = try sessions.map { try $0.run(0, inputs)[0] }
            #expect(found[0].floats().map(\.bitPattern) == found[1].floats().map(\.bitPattern), "position \(position)")
            #expect(agree(HostTensor(found[0]), expected, tolerance: 2e-6), "position \(position)")
        }
        for session in sessions {
            #expect(session.states.copy().map(HostTensor.content) == [states["keys"], states["values"]])
        }
    }

    @Test("States take a byte an element and 4 bytes a row, and a copy of them brings every result back")
    func copies() throws {
        let function = try [HalfStateTests.attention(tokens: 1, keys: 8, width: 16, valueWidth: 24)]
            .keepingCaches(in: .int8)[0]
        let session = try Session(StateTests.planned([function]))
        #expect(session.states.byteCount == 2 * 8 * (16 + 4) + 2 * 8 * (24 + 4))
        let plan = try ExecutionPlan(session.program, function: 0)
        #expect(plan.stateBytes == session.states.byteCount && plan.decodedBytes == 0)
        var generator = SeededGenerator(seed: 4)
        let inputs = (0..<4).map { HalfStateTests.inputs(of: function, position: $0, &generator) }
        func step(_ position: Int) throws -> [UInt32] {
            try session.run(0, inputs[position])[0].floats().map(\.bitPattern)
        }
        _ = try [step(0), step(1)]
        let held = session.states.copy()
        #expect(held.map(\.elementType) == [.int8, .int8] && held.map(\.shape) == [[1, 2, 8, 20], [1, 2, 8, 28]])
        let results = try [step(2), step(3)]
        // Positions are written again, from the states after the second.
        try session.states.restore(held)
        #expect(try [step(2), step(3)] == results)
        session.states.reset()
        #expect(session.states.copy().allSatisfy { $0.integers().allSatisfy { $0 == 0 } })
        #expect(try step(2) != results[0])
        let other = try Session(StateTests.planned([function]), threads: 2)
        try other.states.restore(held)
        #expect(try other.run(0, inputs[2])[0].floats().map(\.bitPattern) == results[0])
        // The values of the rows are another state.
        let wide = held.map { HostTensor.content($0).wideningRows().stored(name: $0.name) }
        let error = #expect(throws: RequestError.self) { try session.states.restore(wide) }
        #expect(error?.description.contains("expected I8[1,2,8,20], found F32[1,2,8,16]") == true)
    }

    @Test("A key that is not finite makes all results of its heads NaN, and no others")
    func notFinite() throws {
        for tokens in [1, 2] {
            let function = try [HalfStateTests.attention(tokens: tokens, keys: 8, width: 16, valueWidth: 16)]
                .keepingCaches(in: .int8)[0]
            let session = try Session(StateTests.planned([function]))
            var generator = SeededGenerator(seed: 5)
            var inputs = HalfStateTests.inputs(of: function, position: 0, &generator)
            var keys = try #require(inputs["k"]).floats()
            // The last position's key of the second of two heads.
            keys[keys.count - 3] = .infinity
            inputs["k"] = StoredTensor(name: "k", floats: keys, shape: [1, tokens, 2, 16])
            let found = try session.run(0, inputs)[0].floats()
            // Three query heads read the first key head. A mask is added to scores, so it does not hide what is not finite.
            for head in 0..<6 {
                for token in 0..<tokens {
                    let row = found[(head * tokens + token) * 16..<(head * tokens + token + 1) * 16]
                    #expect(row.allSatisfy { $0.isNaN == (head >= 3) }, "head \(head), token \(token) of \(tokens)")
                }
            }
        }
    }

    @Test("A run that fails after it wrote codes to a cache leaves the caches as it found them, byte for byte")
    func failedRun() throws {
        var builder = ProgramBuilder(name: "caches")
        let block = builder.input("block", TensorType(.float32, [2, 1, 3]))
        for name in ["a", "b"] {
            let place = builder.input("place_\(name)", TensorType(.int64, [1]))
            let cache = builder.state(name, TensorType(.float32, [2, 6, 3]))
            let updated = try builder.apply(UpdateSlice(axis: 1), [cache, block, place])
            builder.update(name, to: updated)
            builder.output("\(name)_sum", try builder.apply(Reduce(.sum, axes: [2], keepsAxes: false), [updated]))
        }
        let function = try [builder.finish().freezing(ShapeBindings())].keepingCaches(in: .int8)[0]
        let session = try Session(StateTests.planned([function]))
        func run(_ a: Int64, _ b: Int64, _ number: Float) throws -> [StoredTensor] {
            let floats = [1, 0, -127, 127, 2, 3].map { number * $0 }
            return try session.run(
                0,
                [
                    "block": StoredTensor(name: "block", floats: floats, shape: [2, 1, 3]),
                    "place_a": StoredTensor(name: "place_a", integers: [a], shape: [1]),
                    "place_b": StoredTensor(name: "place_b", integers: [b], shape: [1]),
                ])
        }
        #expect(try run(2, 3, 2)[0].floats() == [0, 0, -252, 0, 0, 0, 0, 0, 264, 0, 0, 0])
        let before = session.states.copy().map { $0.integers() }
        #expect(throws: ShapeError.self) { try run(4, 6, 100) }
        #expect(session.states.copy().map { $0.integers() } == before)
        #expect(try run(2, 3, 1)[0].floats() == [0, 0, -126, 0, 0, 0, 0, 0, 132, 0, 0, 0])
    }
}
