import AccelByteIO
import AccelTensors
import AccelWeightCompression
import Testing

@testable import AccelPrograms

@Suite("Key/value caches of float16")
struct StateStorageTests {
    /// Attention of a block of `tokens` over a cache of 6 positions, 2 heads of width 4. The cache is also an output, and a
    /// product reads the values through views.
    static func decoder(tokens: Int, roles: Bool = true) throws -> FrozenProgram {
        var builder = ProgramBuilder(name: "decoder", dimensions: [.init("tokens", usual: [1])], role: .decode)
        let block = TensorType(.float32, [1, 2, "tokens", 4])
        let (q, k, v) = (builder.input("q", block), builder.input("k", block), builder.input("v", block))
        let position = builder.input("position", TensorType(.int64, [1]), .position)
        let caches = try zip([k, v], [Role.AttentionHalf.keys, .values]).map { value, half in
            let name = "\(half.rawValue).0"
            let role = roles ? Role.keyValueCache(half, layer: 0, axis: 2) : .opaque
            let state = builder.state(name, TensorType(.float32, [1, 2, 6, 4]), role)
            let next = try builder.in("write.\(name)") {
                try $0.apply(UpdateSlice(axis: 2), [state, value, position])
            }
            builder.update(name, to: next)
            return next
        }
        builder.output("y", try builder.apply(Attention(scale: 0.5), [q] + caches))
        builder.output("cache", caches[0])
        let turned = try builder.apply(Transpose([0, 1, 3, 2]), [caches[1]])
        builder.output("product", try builder.apply(MatMul(), [q, turned]))
        let count = builder.state("count", TensorType(.float32, [1]))
        builder.update("count", to: try builder.apply(Add(), [count, builder.literal(1)]))
        return try builder.finish().freezing(ShapeBindings(["tokens": tokens]))
    }

    static func inputs(tokens: Int, at position: Int) -> [String: HostTensor] {
        func block(_ seed: Int) -> HostTensor {
            var floats: [Float] = []
            for head in 0..<2 {
                for token in position..<position + tokens {
                    for column in 0..<4 {
                        let number = seed + head * 31 + token * 7 + column * 3
                        floats.append(Float(number % 17) / 7 - 1)
                    }
                }
            }
            return HostTensor(floats, [1, 2, tokens, 4])
        }
        return [
            "q": block(1), "k": block(5), "v": block(9),
            "position": HostTensor([Int64(position)], [1]),
        ]
    }

    @Test("Caches become F16, blocks are cast where they are written, and other states and outputs keep their types")
    func rounded() throws {
        let own = try Self.decoder(tokens: 2)
        let halves = try #require([own].keepingCaches(in: .float16).first)
        #expect(halves.states.map(\.typeText) == ["F16[1,2,6,4]", "F16[1,2,6,4]", "F32[1]"])
        #expect(halves.outputs == own.outputs && halves.inputs == own.inputs)
        #expect(halves.program.interface == own.program.interface)
        let nodes = halves.program.nodes
        let updates = nodes.filter { $0.operation is UpdateSlice }
        #expect(updates.map(\.label) == ["write.keys.0.update_slice", "write.values.0.update_slice"])
        #expect(updates.allSatisfy { halves.program.type(of: $0.outputs[0]).elementType == .float16 })
        let attention = try #require(nodes.first { $0.operation is Attention })
        #expect(attention.inputs[1...].map { halves.program.type(of: $0).elementType } == [.float16, .float16])
        #expect(
            nodes.filter { $0.operation is Cast }.map(\.label) == [
                "write.keys.0.update_slice.cast", "write.values.0.update_slice.cast", "matmul.cast", "cache.cast",
            ])
    }

    @Test("A run reads its own block rounded, so results do not depend on how a sequence is cut into blocks")
    func meaning() throws {
        let functions = try [4, 3, 1].map { try Self.decoder(tokens: $0) }.keepingCaches(in: .float16)
        var whole: [String: HostTensor] = [:]
        let expected = try functions[0].evaluate(Self.inputs(tokens: 4, at: 0), states: &whole)
        var parts: [String: HostTensor] = [:]
        _ = try functions[1].evaluate(Self.inputs(tokens: 3, at: 0), states: &parts)
        let last = try functions[2].evaluate(Self.inputs(tokens: 1, at: 3), states: &parts)
        #expect(whole["keys.0"] == parts["keys.0"] && whole["values.0"] == parts["values.0"])
        let (rows, row) = (expected[0].tensor.floats, last[0].tensor.floats)
        #expect(Array(rows[12..<16]) == Array(row[..<4]) && Array(rows[28...]) == Array(row[4...]))
        var rounded = try #require(Self.inputs(tokens: 4, at: 0)["k"]).floats
        rounded.roundToHalf()
        #expect(whole["keys.0"]?.elementType == .float16)
        #expect(Array(try #require(whole["keys.0"]).floats[..<16]) == Array(rounded[..<16]))
        // The same values given as F32 are rounded, not rejected.
        var given = ["keys.0": HostTensor([Float](repeating: 0.1, count: 48), [1, 2, 6, 4])]
        _ = try functions[2].evaluate(Self.inputs(tokens: 1, at: 0), states: &given)
        #expect(try #require(given["keys.0"]).floats.last == 0.099975586)
    }

    @Test("States without roles count as caches if UpdateSlice extends them; a model without caches is rejected")
    func caches() throws {
        let plain = try Self.decoder(tokens: 1, roles: false)
        #expect(KeptCaches(of: [plain.program], in: .float16).names == ["keys.0", "values.0"])
        #expect(try [plain].keepingCaches(in: .float32)[0].states == plain.states)
        var builder = ProgramBuilder(name: "counter")
        let sum = builder.state("sum", TensorType(.float32, [3]))
        builder.update("sum", to: try builder.apply(Add(), [sum, builder.literal(1)]))
        let counter = try builder.finish().freezing(ShapeBindings())
        let error = #expect(throws: RequestError.self) { try [counter].keepingCaches(in: .float16) }
        #expect(error?.description.contains("no key/value cache") == true)
        // Beside a decoder, a function without caches stays as it is.
        #expect(try [counter, plain].keepingCaches(in: .float16)[0].program.lines == counter.program.lines)
        // What is F16 already stays so.
        let halves = try [plain].keepingCaches(in: .float16)
        #expect(try halves.keepingCaches(in: .float16)[0].program.lines == halves[0].program.lines)
    }

    @Test("Widened states give the function as it was")
    func widened() throws {
        let own = try Self.decoder(tokens: 2)
        #expect(try [own].keepingCaches(in: .float16)[0].wideningStates().program.lines == own.program.lines)
    }

    @Test("Passes keep casts to F16, also of tables")
    func passes() throws {
        var builder = ProgramBuilder(name: "table")
        let cache = builder.state("cache", TensorType(.float32, [2, 3]))
        let row = builder.literal(HostTensor([0.1, 0.2, 70000], [1, 3]), name: "row")
        let next = try builder.apply(
            UpdateSlice(axis: 0), [cache, row, builder.literal(HostTensor([1] as [Int64], [1]), name: "at")])
        builder.update("cache", to: next)
        builder.output("y", try builder.apply(Negate(), [next]))
        let function = try [builder.finish().freezing(ShapeBindings())].keepingCaches(in: .float16)[0].optimized()
        #expect(function.program.nodes.map(\.operation.name) == ["cast", "update_slice", "cast", "negate"])
        #expect(try function.evaluate([:])[0].tensor.floats == [0, 0, 0, -0.099975586, -0.19995117, -.infinity])
    }

    @Test("F16 is cast from and to F32 only, rounded to nearest")
    func casts() throws {
        let half = TensorType(.float16, [2])
        for (type, other) in [(half, ElementType.int64), (half, .bool), (TensorType(.int64, [2]), .float16)] {
            #expect(throws: OperatorError.self) { try Cast(to: other).outputTypes([type]) }
        }
        #expect(throws: OperatorError.self) { try Cast(to: .bfloat16).outputTypes([half]) }
        let numbers: [Float] = [0.1, -65520, 65519, 1e-8, 5.960464e-08, .nan]
        let rounded = try Cast(to: .float16).evaluate([HostTensor(numbers, [6])])[0]
        #expect(rounded.type == TensorType(.float16, [6]))
        #expect(Array(rounded.floats[..<5]) == [0.099975586, -.infinity, 65504, 0, 5.9604645e-08])
        #expect(rounded.floats[5].isNaN)
        let stored = rounded.stored(name: "x")
        #expect(stored.elementType == .float16 && stored.bytes.count == 12)
        let bytes = HostTensor(stored).converted(to: .float16).stored(name: "x").bytes
        #expect(bytes.withBytes { Array($0) } == stored.bytes.withBytes { Array($0) })
    }
}
