import AccelByteIO
import AccelTensors
import Testing

@testable import AccelPrograms

@Suite("Key/value caches of int8")
struct ByteStateTests {
    @Test("Caches become rows of codes, blocks are rounded where they are written, and others keep their types")
    func rounded() throws {
        let own = try StateStorageTests.decoder(tokens: 2)
        let bytes = try #require([own].keepingCaches(in: .int8).first)
        #expect(bytes.states.map(\.typeText) == ["I8[1,2,6,8]", "I8[1,2,6,8]", "F32[1]"])
        #expect(bytes.outputs == own.outputs && bytes.inputs == own.inputs && bytes.remarks == [])
        #expect(bytes.program.interface == own.program.interface)
        let nodes = bytes.program.nodes
        let attention = try #require(nodes.first { $0.operation is Attention })
        #expect(attention.inputs[1...].map { bytes.program.type(of: $0).elementType } == [.int8, .int8])
        // The transposed values are not whole rows, so they are widened before.
        #expect(
            nodes.filter { $0.operation is RoundRows || $0.operation is WidenRows }.map(\.label) == [
                "write.keys.0.update_slice.round", "write.values.0.update_slice.round", "transpose.widen",
                "cache.widen",
            ])
        #expect(!nodes.contains { $0.operation is Cast })
        // What is I8 already stays so.
        #expect(try [bytes].keepingCaches(in: .int8)[0].program.lines == bytes.program.lines)
        #expect(bytes.hasStates(in: .int8) && !bytes.hasStates(in: .float16) && !own.hasStates(in: .int8))
    }

    @Test("A run reads its own block rounded, so results do not depend on how a sequence is cut into blocks")
    func meaning() throws {
        let functions = try [4, 3, 1].map { try StateStorageTests.decoder(tokens: $0) }.keepingCaches(in: .int8)
        var whole: [String: HostTensor] = [:]
        let expected = try functions[0].evaluate(StateStorageTests.inputs(tokens: 4, at: 0), states: &whole)
        var parts: [String: HostTensor] = [:]
        _ = try functions[1].evaluate(StateStorageTests.inputs(tokens: 3, at: 0), states: &parts)
        let last = try functions[2].evaluate(StateStorageTests.inputs(tokens: 1, at: 3), states: &parts)
        #expect(whole["keys.0"] == parts["keys.0"] && whole["values.0"] == parts["values.0"])
        let (rows, row) = (expected[0].tensor.floats, last[0].tensor.floats)
        #expect(Array(rows[12..<16]) == Array(row[..<4]) && Array(rows[28...]) == Array(row[4...]))
        // The cache holds what the operator makes of the block, and the output that is a copy of it the values.
        let block = try #require(StateStorageTests.inputs(tokens: 4, at: 0)["k"])
        let keys = try #require(whole["keys.0"])
        #expect(keys.type == TensorType(.int8, shape: [1, 2, 6, 8]))
        #expect(Array(keys.bytes[..<32]) == Array(try RoundRows().evaluate([block])[0].bytes[..<32]))
        #expect(expected[1].tensor == keys.wideningRows() && expected[1].tensor.shape == [1, 2, 6, 4])
        // The same values given as F32 or F16 are rounded, not rejected.
        let wide = HostTensor([Float](repeating: 0.1, count: 48), [1, 2, 6, 4])
        for given in [wide, wide.converted(to: .float16)] {
            var states = ["keys.0": given]
            _ = try functions[2].evaluate(StateStorageTests.inputs(tokens: 1, at: 0), states: &states)
            let value = try #require(states["keys.0"]).wideningRows().floats.last
            #expect(abs(try #require(value) - 0.1) < 1e-4)
        }
    }

    @Test("Caches with another start, or not written by whole rows, stay float32, and the function says so")
    func others() throws {
        var builder = ProgramBuilder(name: "mixed")
        let row = builder.input("row", TensorType(.float32, [1, 3]))
        let place = builder.input("place", TensorType(.int64, [1]))
        for (name, initial) in [("plain", 0.0), ("started", 0.25)] {
            let state = builder.state(name, TensorType(.float32, [4, 3]), initial: initial)
            builder.update(name, to: try builder.apply(UpdateSlice(axis: 0), [state, row, place]))
        }
        let turned = try builder.apply(Transpose([1, 0]), [row])
        let columns = builder.state("columns", TensorType(.float32, [3, 4]))
        let wide = try builder.in("write") { try $0.apply(UpdateSlice(axis: 1), [columns, turned, place]) }
        builder.update("columns", to: wide)
        builder.output("all", wide)
        let function = try builder.finish().freezing(ShapeBindings())
        let kept = try [function].keepingCaches(in: .int8)[0]
        #expect(kept.states.map(\.typeText) == ["I8[4,7]", "F32[4,3]", "F32[3,4]"])
        #expect(
            kept.remarks == [
                "mixed: state started stays float32: it starts as 0.25, not as 0",
                "mixed: state columns stays float32: it is not written by whole rows (\"write.update_slice\")",
            ])
        // In float16 all of them are kept.
        #expect(
            try [function].keepingCaches(in: .float16)[0].states.allSatisfy { $0.elementType == .float16 })
    }

    @Test("A model of no such cache is rejected, with the reason")
    func rejected() throws {
        var builder = ProgramBuilder(name: "columns")
        let block = builder.input("block", TensorType(.float32, [3, 1]))
        let state = builder.state("columns", TensorType(.float32, [3, 4]))
        let place = builder.literal(HostTensor([1] as [Int64], [1]), name: "place")
        builder.update("columns", to: try builder.apply(UpdateSlice(axis: 1), [state, block, place]))
        let function = try builder.finish().freezing(ShapeBindings())
        let error = #expect(throws: RequestError.self) { try [function].keepingCaches(in: .int8) }
        #expect(
            error?.description.contains(
                "states in int8: the model has no key/value cache that can be: columns is not written by whole rows")
                == true)
    }

    @Test("Views that keep rows whole stay rows of codes; others get their values")
    func views() throws {
        var builder = ProgramBuilder(name: "views")
        let block = builder.input("block", TensorType(.float32, [1, 2, 1, 3]))
        let state = builder.state("cache", TensorType(.float32, [1, 2, 4, 3]))
        let place = builder.literal(HostTensor([2] as [Int64], [1]), name: "place")
        let cache = try builder.apply(UpdateSlice(axis: 2), [state, block, place])
        builder.update("cache", to: cache)
        let views: [(any ViewOperator, String)] = [
            (Transpose([0, 2, 1, 3]), "I8[1,4,2,7]"), (Transpose([0, 1, 3, 2]), "F32[1,2,3,4]"),
            (Slice(begin: [0, 1, 0, 0], sizes: [1, 1, 4, 3]), "I8[1,1,4,7]"),
            (Slice(begin: [0, 0, 0, 1], sizes: [1, 2, 4, 2]), "F32[1,2,4,2]"),
            (Reshape(to: [8, 3]), "I8[8,7]"), (Reshape(to: [6, 4]), "F32[6,4]"),
            (Expand(to: [5, 2, 4, 3]), "I8[5,2,4,7]"),
        ]
        for (index, (view, _)) in views.enumerated() {
            builder.output("\(index)", try builder.apply(Negate(), [try builder.apply(view, [cache])]))
        }
        let function = try builder.finish().freezing(ShapeBindings())
        let kept = try [function].keepingCaches(in: .int8)[0]
        let made = kept.program.nodes.filter { $0.operation is any ViewOperator }.map {
            kept.program.type(of: $0.outputs[0]).description
        }
        #expect(made == views.map(\.1))
        let row = HostTensor([0.5, -1, 127, 64, 1, -127], [1, 2, 1, 3])
        #expect(
            try kept.evaluate(["block": row]).map(\.tensor.shape)
                == function.evaluate(["block": row]).map(\.tensor.shape))
    }

    @Test("Types that are no rows of codes are rejected")
    func types() {
        let rejected: [(any Operator, [TensorType], String)] = [
            (WidenRows(), [TensorType(.int8, [2, 4])], "4 bytes of its scale and at least one code, found I8[2,4]"),
            (WidenRows(), [TensorType(.int8, [])], "x"),
            (WidenRows(), [TensorType(.float32, [2, 8])], "expected I8, found F32"),
            (RoundRows(), [TensorType(.float32, [2, 0])], "at least one code"),
            (RoundRows(), [TensorType(.float16, [2, 3])], "expected F32, found F16"),
            (Cast(to: .int8), [TensorType(.float32, [2])], "not I8"),
            (Cast(to: .float32), [TensorType(.int8, [2, 5])], "widen_rows widens"),
            (
                Attention(scale: 1),
                [
                    TensorType(.float32, [1, 1, 1, 3]), TensorType(.int8, [1, 1, 2, 3]),
                    TensorType(.int8, [1, 1, 2, 7]),
                ], "k: a row of codes"
            ),
            (
                Attention(scale: 1),
                [
                    TensorType(.float32, [1, 1, 1, 3]), TensorType(.int8, [1, 1, 2, 8]),
                    TensorType(.int8, [1, 1, 2, 7]),
                ], "width of k"
            ),
            (
                Attention(scale: 1),
                [
                    TensorType(.float32, [1, 1, 1, 3]), TensorType(.int8, [1, 1, 2, 7]),
                    TensorType(.float16, [1, 1, 2, 3]),
                ], "v: expected I8 as k, found F16"
            ),
        ]
        for (operation, types, reason) in rejected {
            let error = #expect(throws: OperatorError.self) { try operation.outputTypes(types) }
            #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        }
    }

    @Test("I8 tensors are stored byte for byte")
    func storage() throws {
        let rows = try RoundRows().evaluate([HostTensor([0.1, -3, .infinity, 2], [2, 2])])[0]
        let stored = rows.stored(name: "x")
        #expect(stored.elementType == .int8 && stored.shape == [2, 6] && stored.bytes.count == 12)
        #expect(HostTensor.content(stored) == rows)
        #expect(rows.bytes[..<2] == [4, -127] && rows.bytes[6..<8] == [0, 0])
        let values = rows.wideningRows().floats
        #expect(values[1] == -3 && values[2].isNaN && values[3].isNaN)
    }
}
