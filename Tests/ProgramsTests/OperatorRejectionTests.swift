import AccelTensors
import TestSupport
import Testing

@testable import AccelPrograms

@Suite("Operators reject what does not fit, and never trap")
struct OperatorRejectionTests {
    /// Input types that differ from the sample's in one thing.
    private func variations(of types: [TensorType]) -> [[TensorType]] {
        var all: [[TensorType]] = [[], Array(types.dropLast()), types + types, types + [TensorType(.bool, [3])]]
        for index in types.indices {
            func changing(_ change: (inout TensorType) -> Void) {
                var changed = types
                change(&changed[index])
                all.append(changed)
            }
            for type in [ElementType.float32, .int64, .bool, .float16] { changing { $0.elementType = type } }
            changing { $0.dimensions.append(2) }
            changing { $0.dimensions.insert(2, at: 0) }
            changing { $0.dimensions = [] }
            for axis in types[index].dimensions.indices {
                changing { $0.dimensions.remove(at: axis) }
                for size in [0, 1, 2, 3] { changing { $0.dimensions[axis] = .fixed(size) } }
                changing { $0.dimensions[axis] = $0.dimensions[axis] + 1 }
                changing { $0.dimensions[axis] = "other" }
            }
        }
        return all
    }

    @Test("other inputs throw an OperatorError or mean what the shape rule says", arguments: OperatorSample.all)
    func inputs(sample: OperatorSample) throws {
        let operation = try sample.frozen()
        for types in variations(of: try sample.inputs().map(\.type)) {
            guard let outputs = try outputTypes(of: operation, types) else { continue }
            let tensors = types.compactMap(zeros)
            guard tensors.count == types.count else { continue }
            do {
                #expect(try operation.evaluate(tensors).map(\.type) == outputs, "\(types)")
            } catch is OperatorError {}
        }
        #expect(throws: OperatorError.self) { try operation.outputTypes([]) }
    }

    @Test("inputs one short or one over are rejected", arguments: OperatorSample.all)
    func counts(sample: OperatorSample) throws {
        let types = try sample.inputs().map(\.type)
        let takesMore = sample.operation is Concat
        guard !takesMore else { return }
        #expect(throws: OperatorError.self) { try sample.frozen().outputTypes(types + types) }
    }

    @Test("other attributes throw an OperatorError or mean what the shape rule says", arguments: OperatorSample.all)
    func attributes(sample: OperatorSample) throws {
        let inputs = try sample.inputs()
        let others: [AttributeValue?] = [
            nil, .integer(-1), .integer(7), .integer(.max), .integer(.min), .number(.nan), .number(-1), .word("none"),
            .word("F16"), .flag(true), .integers([]), .integers([-1]), .integers([0, 0]), .integers([5, .max]),
            .integers([.min]), .dimensions([]), .dimensions([-1, -8]), .dimensions([.fixed(.max), .fixed(.max)]),
            .dimensions([0, 0]), .dimensions([.fixed(.max), 0, 2]), .dimensions(["free"]),
        ]
        for key in sample.operation.attributes.values.keys {
            for other in others {
                var attributes = try sample.frozen().attributes
                attributes[key] = other
                do {
                    let operation = try Operators.make(sample.operation.name, attributes)
                    guard let outputs = try outputTypes(of: operation, inputs.map(\.type)),
                        outputs.allSatisfy({ $0.shape != nil })
                    else { continue }
                    #expect(try operation.evaluate(inputs).map(\.type) == outputs, "\(attributes)")
                } catch is OperatorError {}
            }
        }
    }

    @Test(
        "views of views are what evaluation gives",
        arguments: OperatorSample.all.filter { $0.operation is any ViewOperator })
    func views(sample: OperatorSample) throws {
        let (operation, input) = (try sample.frozen(), try #require(try sample.inputs().first))
        // The same tensor, lying in memory with its axes turned around and a gap before it.
        let order = Array(input.shape.dimensions.indices.reversed())
        var memory = try input.transposed(order)
        let lying = StridedLayout(
            offset: 3, shape: input.shape, strides: Array(memory.shape.strides.reversed()))
        memory = HostTensor([7, 7, 7] + memory.floats, [memory.shape.count + 3])
        #expect(memory.gathering(lying) == input)
        guard let view = operation.view(of: lying) else {
            #expect(operation is Reshape)
            return
        }
        #expect(memory.gathering(view) == (try operation.evaluate([input])[0]))
    }

    @Test("an index outside of a table is named with the limit", arguments: [-1, 4, Int64.max, Int64.min])
    func gather(index: Int64) {
        let table = HostTensor([Float](repeating: 1, count: 8), [4, 2])
        #expect(
            throws: OperatorError("index \(index) (element 1 of the indices) is outside of the table's 4 rows")
        ) { try Gather().evaluate([table, HostTensor([3, index], [2])]) }
    }

    @Test("a block that would end beyond its target is named with the limit", arguments: [-1, 3, 4, 5, Int64.max])
    func updateSlice(position: Int64) throws {
        let (target, block) = (
            HostTensor([Float](repeating: 1, count: 8), [4, 2]), HostTensor([2.0, 3, 4, 5], [2, 2])
        )
        #expect(
            throws: OperatorError("a block of 2 elements at position \(position) exceeds axis 0, which has 4")
        ) { try UpdateSlice(axis: 0).evaluate([target, block, HostTensor([position], [1])]) }
        let last = try UpdateSlice(axis: 0).evaluate([target, block, HostTensor([Int64(2)], [1])])
        #expect(last[0].floats == [1, 1, 1, 1, 2, 3, 4, 5])
    }

    @Test("a slice past the end is rejected once the number is known, naming operator and dimension")
    func slice() throws {
        var builder = ProgramBuilder(name: "model", dimensions: [.init("sequence", usual: [8])])
        let table = builder.constant(
            StoredTensor(name: "table", floats: [Float](repeating: 0, count: 24), shape: [12, 2]), isWeight: true)
        let rows = try builder.in("positions") {
            try $0.apply(Slice(begin: [0, 0], sizes: ["sequence", 2]), [table])
        }
        builder.output("rows", rows)
        let program = try builder.finish()
        #expect(try program.freezing(ShapeBindings(["sequence": 12])).program.nodes.count == 1)
        #expect(
            throws: ShapeError(
                operator: "slice \"positions.slice\"",
                reason: "axis 0: 13 elements starting at 0 exceed the 12 elements of F32[12,2] (sequence=13)")
        ) { try program.freezing(ShapeBindings(["sequence": 13])) }
    }

    /// nil when rejected.
    private func outputTypes(of operation: any Operator, _ types: [TensorType]) throws -> [TensorType]? {
        do {
            return try operation.checkedOutputTypes(types)
        } catch is OperatorError {
            return nil
        }
    }

    /// nil while a dimension is free or programs have no such elements.
    private func zeros(_ type: TensorType) -> HostTensor? {
        guard let shape = type.shape else { return nil }
        return switch type.elementType {
        case .float32: HostTensor([Float](repeating: 0, count: shape.count), shape)
        case .int64: HostTensor([Int64](repeating: 0, count: shape.count), shape)
        case .bool: HostTensor([Bool](repeating: false, count: shape.count), shape)
        case .float16: HostTensor(rounding: [Float](repeating: 0, count: shape.count), shape)
        default: nil
        }
    }
}
