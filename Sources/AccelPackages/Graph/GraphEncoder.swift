import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The description of a tensor in graph.bin, without its bytes.
struct GraphConstant: Equatable, Sendable {
    var name: String
    var elementType: ElementType
    var shape: Shape
    /// True for a tensor of the checkpoint; false for a table that the tool made.
    var isWeight: Bool
}

/// Writes graph.bin: the constants, then for each function its inputs, states, nodes and outputs. Types of results are
/// not written, because shape rules determine them.
///
/// A value is identified by a number: inputs come first, then states, then all constants of the graph, then the results
/// of nodes.
struct GraphEncoder {
    static let magic = "ACCELGRF"

    private var writer = TableWriter()
    private let constants: [GraphConstant]
    private let constantIndices: [String: Int]
    /// The index of each operator by name, in the order of first use.
    private let operators: [String: Int]

    /// - Throws: `RequestError` for an attribute with a free dimension, or a constant that is not a tensor of the
    ///   graph.
    static func encode(_ graph: ModelGraph) throws -> ByteView {
        let weights = graph.weightNames
        return try encode(
            graph.functions,
            constants: graph.tensors.map {
                GraphConstant(
                    name: $0.name, elementType: $0.elementType, shape: $0.shape, isWeight: weights.contains($0.name))
            })
    }

    /// Encodes one function with its constants: equal functions give equal bytes in any graph.
    static func encode(alone function: FrozenProgram) throws -> ByteView {
        try encode(
            [function],
            constants: function.program.constants.sorted { $0.name < $1.name }.map {
                GraphConstant(name: $0.name, elementType: $0.elementType, shape: $0.shape, isWeight: $0.isWeight)
            })
    }

    static func encode(_ functions: [FrozenProgram], constants: [GraphConstant]) throws -> ByteView {
        var names: [String] = []
        var indices: [String: Int] = [:]
        for node in functions.flatMap(\.program.nodes) where indices[node.operation.name] == nil {
            indices[node.operation.name] = names.count
            names.append(node.operation.name)
        }
        var encoder = GraphEncoder(constants: constants, operators: indices)
        encoder.writer.list(names) { writer, name in
            writer.string(name)
            writer.integer(Operators.version(of: name) ?? 1)
        }
        encoder.writer.list(constants) { writer, constant in
            writer.string(constant.name)
            writer.byte(constant.isWeight ? 1 : 0)
            writer.type(constant.elementType, constant.shape)
        }
        encoder.writer.integer(functions.count)
        for function in functions { try encoder.function(function) }
        return encoder.writer.file(magic: magic)
    }

    private init(constants: [GraphConstant], operators: [String: Int]) {
        self.constants = constants
        self.operators = operators
        constantIndices = Dictionary(constants.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    private mutating func function(_ function: FrozenProgram) throws {
        let program = function.program
        let numbers = try numbers(of: program)
        writer.string(program.name)
        writer.list(function.bindings.numbers.sorted { $0.key < $1.key }) { writer, binding in
            writer.string(binding.key)
            writer.integer(binding.value)
        }
        writer.list(function.inputs) { writer, input in
            writer.string(input.name)
            writer.type(input.elementType, input.shape)
        }
        writer.list(function.states) { writer, state in
            writer.string(state.name)
            writer.type(state.elementType, state.shape)
            writer.double(state.initial)
        }
        writer.integer(program.nodes.count)
        for node in program.nodes { try self.node(node, numbers) }
        writer.list(program.outputs) { writer, output in
            writer.string(output.name)
            writer.integer(numbers[output.value] ?? 0)
        }
        for state in program.states { writer.integer(numbers[state.next] ?? 0) }
    }

    /// Returns the number of each value in the file.
    private func numbers(of program: Program) throws -> [Value: Int] {
        var numbers: [Value: Int] = [:]
        numbers.reserveCapacity(program.types.count)
        for value in program.inputs.map(\.value) + program.states.map(\.value) { numbers[value] = numbers.count }
        let first = numbers.count
        for constant in program.constants {
            guard let index = constantIndices[constant.name] else {
                throw RequestError("\(program.name): the graph has no tensor for the constant \"\(constant.name)\"")
            }
            numbers[constant.value] = first + index
        }
        var next = first + constants.count
        for value in program.nodes.lazy.flatMap(\.outputs) {
            numbers[value] = next
            next += 1
        }
        return numbers
    }

    private mutating func node(_ node: Program.Node, _ numbers: [Value: Int]) throws {
        writer.integer(operators[node.operation.name] ?? 0)
        writer.string(node.label)
        try writer.list(node.operation.attributes.values.sorted { $0.key < $1.key }) { writer, attribute in
            writer.string(attribute.key)
            try writer.attribute(attribute.value, of: node)
        }
        writer.list(node.inputs) { $0.integer(numbers[$1] ?? 0) }
    }
}

extension TableWriter {
    fileprivate mutating func attribute(_ value: AttributeValue, of node: Program.Node) throws {
        switch value {
        case .integer(let integer):
            byte(0)
            signed(integer)
        case .number(let number):
            byte(1)
            double(number)
        case .word(let word):
            byte(2)
            string(word)
        case .flag(let flag):
            byte(3)
            byte(flag ? 1 : 0)
        case .integers(let integers):
            byte(4)
            list(integers) { $0.signed($1) }
        case .dimensions(let dimensions):
            byte(5)
            try list(dimensions) { writer, dimension in
                guard let number = dimension.value else {
                    throw RequestError(
                        "\(node.operation.name) \"\(node.label)\": dimension \(dimension) has no number; only a frozen "
                            + "program can be packaged")
                }
                writer.signed(number)
            }
        }
    }
}
