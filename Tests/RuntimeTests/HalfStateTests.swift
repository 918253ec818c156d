import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Key/value caches of float16 on this processor")
struct HalfStateTests {
    /// Attention of a block over a cache of `keys` positions with a mask, 6 query heads on 2 key heads.
    static func attention(tokens: Int, keys: Int, width: Int, valueWidth: Int) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "attention")
        func block(_ heads: Int, _ width: Int) -> TensorType {
            TensorType(.float32, [1, .fixed(tokens), .fixed(heads), .fixed(width)])
        }
        func heads(_ name: String, _ count: Int, _ width: Int) throws -> Value {
            let input = builder.input(name, block(count, width))
            return try builder.apply(Transpose([0, 2, 1, 3]), [input])
        }
        let q = try heads("q", 6, width)
        let (k, v) = (try heads("k", 2, width), try heads("v", 2, valueWidth))
        let position = builder.input("position", TensorType(.int64, [1]))
        let mask = builder.input("mask", TensorType(.float32, [1, 1, .fixed(tokens), .fixed(keys)]))
        let caches = try [("keys", k, width), ("values", v, valueWidth)].map { name, value, width in
            let state = builder.state(name, TensorType(.float32, [1, 2, .fixed(keys), .fixed(width)]))
            let next = try builder.apply(UpdateSlice(axis: 2), [state, value, position])
            builder.update(name, to: next)
            return next
        }
        builder.output("y", try builder.apply(Attention(scale: 0.25), [q] + caches + [mask]))
        return try builder.finish().freezing(ShapeBindings())
    }

    static func inputs(
        of function: FrozenProgram, position: Int, _ generator: inout SeededGenerator
    ) -> [String: StoredTensor] {
        var inputs: [String: StoredTensor] = [:]
        for port in function.inputs {
            let sizes = port.shape.dimensions
            switch port.name {
            case "position":
                inputs[port.name] = StoredTensor(name: port.name, integers: [Int64(position)], shape: [1])
            case "mask":
                let floats: [Float] = (0..<sizes[2]).flatMap { row in
                    (0..<sizes[3]).map { $0 <= position + row ? 0 : -.greatestFiniteMagnitude }
                }
                inputs[port.name] = StoredTensor(name: port.name, floats: floats, shape: port.shape)
            default:
                var floats = (0..<port.shape.count).map { _ in Float.random(in: -2...2, using: &generator) }
                // Equal for both types of states.
                floats.roundToHalf()
                inputs[port.name] = StoredTensor(name: port.name, floats: floats, shape: port.shape)
            }
        }
        return inputs
    }

    @Test(
        "Attention over float16 has the bits of attention over the same numbers in float32, for steps and blocks",
        arguments: [(1, 40, 16, 16), (1, 70, 80, 96), (1, 9, 5, 7), (5, 40, 64, 64), (37, 50, 24, 40), (3, 9, 5, 7)])
    func attention(tokens: Int, keys: Int, width: Int, valueWidth: Int) throws {
        let own = try Self.attention(tokens: tokens, keys: keys, width: width, valueWidth: valueWidth)
        let functions = try [own] + [own].keepingCaches(in: .float16)
        let kernels = try functions.map { function in
            try ExecutionPlan(StateTests.planned([function]), function: 0).choices.map {
                $0.candidates[$0.chosen].kernel
            }
        }
        #expect(kernels[0].suffix(1) == [tokens == 1 ? "DecodeAttentionKernel" : "AttentionKernel"])
        #expect(kernels[1] == ["HalfCastKernel", "UpdateSliceKernel", "HalfCastKernel"] + kernels[0].suffix(2))
        for threads in [1, 3] {
            let sessions = try functions.map { try Session(StateTests.planned([$0]), threads: threads) }
            var generator = SeededGenerator(seed: 3)
            for position in [0, 2, keys - tokens] {
                let inputs = Self.inputs(of: own, position: position, &generator)
                let found = try sessions.map { try $0.run(0, inputs)[0].floats().map(\.bitPattern) }
                #expect(found[0] == found[1], "position \(position)")
            }
            let states = sessions.map { $0.states.copy() }
            #expect(states[1].map(\.elementType) == [.float16, .float16])
            #expect(states[0].map { $0.floats() } == states[1].map { $0.floats() })
        }
    }

    @Test("States take half the bytes, and results and states are those of the reference implementation")
    func reference() throws {
        let function = try [Self.attention(tokens: 1, keys: 8, width: 16, valueWidth: 16)].keepingCaches(in: .float16)[
            0]
        let session = try Session(StateTests.planned([function]))
        #expect(session.states.byteCount == 2 * (2 * 8 * 16) * 2)
        let plan = try ExecutionPlan(session.program, function: 0)
        #expect(plan.stateBytes == session.states.byteCount && plan.decodedBytes == 0)
        var (generator, states) = (SeededGenerator(seed: 4), [String: HostTensor]())
        for position in 0..<3 {
            var inputs = Self.inputs(of: function, position: position, &generator)
            // Values that float16 rounds.
            inputs["k"] = StoredTensor(
                name: "k", floats: (0..<32).map { Float($0) / 7 + 0.001 }, shape: [1, 1, 2, 16])
            let expected = try function.evaluate(inputs.mapValues { HostTensor($0) }, states: &states)[0].tensor
            let found = HostTensor(try session.run(0, inputs)[0])
            #expect(agree(found, expected, tolerance: 1e-6))
        }
        let held = session.states.copy()
        #expect(held.map { HostTensor($0).converted(to: .float16) } == [states["keys"], states["values"]])
        session.states.reset()
        #expect(session.states.copy().allSatisfy { $0.floats().allSatisfy { $0 == 0 } })
        try session.states.restore(held)
        #expect(
            zip(session.states.copy(), held).allSatisfy { $0.floats() == $1.floats() && $0.elementType == .float16 })
        // A copy of another element type is another state.
        let wide = held.map { StoredTensor(name: $0.name, floats: $0.floats(), shape: $0.shape) }
        let error = #expect(throws: RequestError.self) { try session.states.restore(wide) }
        #expect(error?.description.contains("expected F16[1,2,8,16], found F32[1,2,8,16]") == true)
    }

    @Test("A run that fails after it wrote float16 to a cache leaves the caches as it found them")
    func failedRun() throws {
        var builder = ProgramBuilder(name: "caches")
        let block = builder.input("block", TensorType(.float32, [2, 1, 3]))
        for name in ["a", "b"] {
            let place = builder.input("place_\(name)", TensorType(.int64, [1]))
            let cache = builder.state(name, TensorType(.float32, [2, 6, 3]), initial: 0.5)
            let updated = try builder.apply(UpdateSlice(axis: 1), [cache, block, place])
            builder.update(name, to: updated)
            builder.output("\(name)_sum", try builder.apply(Reduce(.sum, axes: [2], keepsAxes: false), [updated]))
        }
        let function = try [builder.finish().freezing(ShapeBindings())].keepingCaches(in: .float16)[0]
        let session = try Session(StateTests.planned([function]))
        func run(_ a: Int64, _ b: Int64, _ number: Float) throws -> [StoredTensor] {
            try session.run(
                0,
                [
                    "block": StoredTensor(
                        name: "block", floats: (0..<6).map { number + Float($0) }, shape: [2, 1, 3]),
                    "place_a": StoredTensor(name: "place_a", integers: [a], shape: [1]),
                    "place_b": StoredTensor(name: "place_b", integers: [b], shape: [1]),
                ])
        }
        #expect(try run(2, 3, 10)[0].floats() == [1.5, 1.5, 33, 1.5, 1.5, 1.5, 1.5, 1.5, 42, 1.5, 1.5, 1.5])
        let before = session.states.copy().map { $0.floats() }
        #expect(throws: ShapeError.self) { try run(4, 6, 100) }
        #expect(session.states.copy().map { $0.floats() } == before)
    }
}
