import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelPrograms

@Suite("Declared inputs of operators")
struct OperatorInputTests {
    private static let types: [ElementType] = [.float32, .int64, .bool, .float16]

    @Test("names are unique, only the last input repeats, and an input goes with an earlier one")
    func declarations() {
        for operation in Operators.all {
            let names = operation.inputs.map(\.name)
            #expect(!names.isEmpty, "\(operation.name)")
            #expect(Set(names).count == names.count, "\(operation.name)")
            for (index, input) in operation.inputs.enumerated() {
                if input.presence == .repeated { #expect(index == names.count - 1, "\(operation.name)") }
                if case .with(let other) = input.presence {
                    #expect(names[..<index].contains(other), "\(operation.name) \(input.name)")
                }
                #expect(index > 0 || input.presence == .required || input.presence == .repeated, "\(operation.name)")
            }
        }
    }

    @Test("a sample's inputs are found in order, each once", arguments: OperatorSample.all)
    func samples(sample: OperatorSample) throws {
        let operation = type(of: sample.operation)
        let given = try sample.inputs().map(\.type.elementType)
        let found = try operation.positions(given).compactMap(\.self)
        #expect(found == Array(found.indices))
        #expect(found.count == given.count || operation.inputs.last?.presence == .repeated)
    }

    @Test(
        "an element type that no input takes there is rejected, and the error names the input",
        arguments: OperatorSample.all)
    func elementTypes(sample: OperatorSample) throws {
        let operation = type(of: sample.operation)
        let given = try sample.inputs().map(\.type.elementType)
        for index in given.indices {
            for other in Self.types where other != given[index] {
                var changed = given
                changed[index] = other
                do {
                    let positions = try operation.positions(changed)
                    for (input, position) in zip(operation.inputs, positions) {
                        guard let position else { continue }
                        #expect(input.elements.accepts(changed[position], first: changed[0]), "\(operation.name)")
                    }
                } catch let error as OperatorError {
                    let isNamed =
                        operation.inputs.contains { error.description.hasPrefix("\($0.name): expected ") }
                        || error.description.hasPrefix("input ") || error.description.hasPrefix("expected both of ")
                    #expect(isNamed, "\(operation.name): \(error)")
                }
            }
        }
    }

    @Test("optional inputs are told apart by their element types")
    func optionalInputs() throws {
        let (float, integer) = (ElementType.float32, ElementType.int64)
        #expect(try InstanceNorm.positions([float]) == [0, nil, nil, nil])
        #expect(try InstanceNorm.positions([float, integer]) == [0, nil, nil, 1])
        #expect(try InstanceNorm.positions([float, float, float]) == [0, 1, 2, nil])
        #expect(try InstanceNorm.positions([float, float, float, integer]) == [0, 1, 2, 3])
        #expect(throws: OperatorError("expected both of weight and bias, or neither")) {
            try InstanceNorm.positions([float, float])
        }
        #expect(throws: OperatorError("expected both of input_bias and state_bias, or neither")) {
            try LSTMCell.positions([float, float, float, float, float])
        }
        #expect(throws: OperatorError("bias: expected F32, found I64")) {
            try Linear.positions([float, float, integer])
        }
        #expect(throws: OperatorError("expected 2 to 3 inputs, found 4")) {
            try Linear.positions([float, float, float, float])
        }
        #expect(throws: OperatorError("expected 1 or more inputs, found 0")) { try Concat.positions([]) }
    }

    @Test("schemas/operators.md lists every operator with its inputs")
    func document() throws {
        let rows = Operators.all.sorted { $0.name < $1.name }.map { operation in
            let inputs = operation.inputs.map { input in
                let presence =
                    switch input.presence {
                    case .required: ""
                    case .optional: ", optional"
                    case .with(let other): ", with `\(other)`"
                    case .repeated: ", once or more"
                    }
                return "`\(input.name)` \(input.elements)\(presence)"
            }
            return "| `\(operation.name)` | \(operation.version) | \(inputs.joined(separator: "; ")) |"
        }
        let text = """
            # Operators of the graph

            A node of `graph.bin` (package-format.md) names one of these operators. Its inputs are those of the table, in this
            order, without the optional ones that are left out. `swift test` compares this file with the operators' declarations;
            `ACCELC_UPDATE=1` writes it.

            | operator | version | inputs |
            |---|---|---|

            """ + rows.joined(separator: "\n") + "\n"
        let path = Fixtures.repository + "/schemas/operators.md"
        if ProcessInfo.processInfo.environment["ACCELC_UPDATE"] != nil {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }
}
