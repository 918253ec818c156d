public import AccelTensors

/// A value of a program: an input, a constant, a state, or an output of a node.
public struct Value: Hashable, Sendable {
    /// The index of its type in `Program.types`.
    public let id: Int
    package init(id: Int) { self.id = id }
}

/// A model's computation: inputs, constants, states, nodes in topological order, and named outputs. Dimensions may be
/// free; `freezing(_:)` replaces them with numbers.
public struct Program: Sendable {
    /// An input that a caller gives.
    public struct Input: Sendable {
        /// The name, unique among the inputs.
        public let name: String
        /// The value that nodes read.
        public let value: Value

        package init(name: String, value: Value) { (self.name, self.value) = (name, value) }
    }
    /// A weight of the checkpoint, or a table that the tool made.
    public struct Constant: Sendable {
        /// Unique among the program's constants.
        public let name: String
        /// The element type of the tensor. The value in the program is F32, I64 or BOOL.
        public let elementType: ElementType
        /// The shape of the tensor.
        public let shape: Shape
        /// True for a tensor of the checkpoint, which a recipe may compress; false for a table that the tool made.
        public let isWeight: Bool
        /// The value that nodes read.
        public let value: Value
        /// The tensor with its elements; nil for a weight of a package, which stores an encoding instead.
        public let tensor: StoredTensor?

        package init(
            name: String, elementType: ElementType, shape: Shape, isWeight: Bool, value: Value, tensor: StoredTensor?
        ) {
            (self.name, self.elementType, self.shape) = (name, elementType, shape)
            (self.isWeight, self.value, self.tensor) = (isWeight, value, tensor)
        }
    }
    /// One application of an operator.
    public struct Node: Sendable {
        /// The location in the model, such as `encoder.layer.0.attention.self.query`; unique among the nodes.
        public let label: String
        /// The operator with its attributes.
        public let operation: any Operator
        /// The operands, in the order of the operator's definition.
        public let inputs: [Value]
        /// The results.
        public let outputs: [Value]

        package init(label: String, operation: any Operator, inputs: [Value], outputs: [Value]) {
            (self.label, self.operation, self.inputs, self.outputs) = (label, operation, inputs, outputs)
        }
    }
    /// A named result.
    public struct Output: Sendable {
        /// The name, unique among the outputs.
        public let name: String
        /// The value that callers get.
        public let value: Value

        package init(name: String, value: Value) { (self.name, self.value) = (name, value) }
    }
    /// Memory that is kept between runs, such as a key/value cache.
    public struct State: Sendable {
        /// The name, unique among the states.
        public let name: String
        /// The content at the start of a run.
        public let value: Value
        /// The content for the next run.
        public let next: Value
        /// The value of every element before the first run.
        public let initial: Double

        package init(name: String, value: Value, next: Value, initial: Double) {
            (self.name, self.value, self.next, self.initial) = (name, value, next, initial)
        }
    }
    /// A free dimension, with the numbers that it may take.
    public struct FreeDimension: Equatable, Sendable {
        /// An effect of the chosen number beyond shapes, such as which of two tables is read. Packages record it.
        public struct Remark: Equatable, Sendable {
            /// The numbers that have the effect.
            public let numbers: ClosedRange<Int>
            /// The effect, such as `rotary embeddings by the short factors`.
            public let text: String
            /// Creates a remark on a range of numbers.
            public init(_ numbers: ClosedRange<Int>, _ text: String) {
                self.numbers = numbers
                self.text = text
            }
        }
        /// The name, such as `sequence`.
        public let name: String
        /// Typical numbers, for hints in errors.
        public let usual: [Int]
        /// The numbers to freeze to, one function each, if a request names no shape.
        public let defaults: [Int]
        /// The largest number that the model supports; nil if there is no limit.
        public let maximum: Int?
        /// Effects of some numbers beyond shapes.
        public let remarks: [Remark]
        /// Creates a free dimension.
        /// - Parameter defaults: nil for the first of `usual`.
        public init(
            _ name: String, usual: [Int], defaults: [Int]? = nil, maximum: Int? = nil, remarks: [Remark] = []
        ) {
            self.name = name
            self.usual = usual
            self.defaults = defaults ?? Array(usual.prefix(1))
            self.maximum = maximum
            self.remarks = remarks
        }
    }

    /// The part of the model, such as `model` or `encoder`.
    public let name: String
    /// The free dimensions; empty once frozen.
    public let dimensions: [FreeDimension]
    /// The inputs, in declaration order.
    public let inputs: [Input]
    /// The weights and tables, in the order of first use.
    public let constants: [Constant]
    /// The nodes, in topological order.
    public let nodes: [Node]
    /// The outputs, in declaration order.
    public let outputs: [Output]
    /// The states, in declaration order.
    public let states: [State]
    /// The purpose of the program and the roles of its ports.
    public internal(set) var interface: Interface
    /// The types of all values, by `Value.id`.
    public let types: [TensorType]

    package init(
        name: String, dimensions: [FreeDimension], inputs: [Input], constants: [Constant], nodes: [Node],
        outputs: [Output], states: [State], interface: Interface = Interface(), types: [TensorType]
    ) {
        (self.name, self.dimensions, self.inputs, self.constants) = (name, dimensions, inputs, constants)
        (self.nodes, self.outputs, self.states, self.types) = (nodes, outputs, states, types)
        self.interface = interface
    }

    /// Returns the program with some parts replaced. Nothing is checked.
    package func with(
        name: String? = nil, inputs: [Input]? = nil, constants: [Constant]? = nil, nodes: [Node]? = nil,
        outputs: [Output]? = nil, states: [State]? = nil, interface: Interface? = nil, types: [TensorType]? = nil
    ) -> Program {
        Program(
            name: name ?? self.name, dimensions: dimensions, inputs: inputs ?? self.inputs,
            constants: constants ?? self.constants, nodes: nodes ?? self.nodes, outputs: outputs ?? self.outputs,
            states: states ?? self.states, interface: interface ?? self.interface, types: types ?? self.types)
    }

    /// Returns the type of a value.
    public func type(of value: Value) -> TensorType { types[value.id] }

    /// Checks the program: every shape rule, that each value is computed before it is read, and that roles fit their
    /// ports.
    /// - Throws: `ShapeError` naming the operator or port.
    public func validate() throws {
        var made = Set(inputs.map(\.value) + constants.map(\.value) + states.map(\.value))
        for node in nodes {
            let subject = "\(node.operation.name) \"\(node.label)\""
            guard node.inputs.allSatisfy(made.contains) else {
                throw ShapeError(operator: subject, reason: "reads a value before it is computed")
            }
            let types: [TensorType]
            do {
                types = try node.operation.checkedOutputTypes(node.inputs.map(type))
            } catch let error as OperatorError {
                throw ShapeError(operator: subject, reason: error.description)
            }
            guard types == node.outputs.map(type) else {
                throw ShapeError(
                    operator: subject, reason: "computes \(types), but the program declares \(node.outputs.map(type))")
            }
            made.formUnion(node.outputs)
        }
        for state in states {
            guard made.contains(state.next), type(of: state.next) == type(of: state.value) else {
                throw ShapeError(
                    operator: "state \"\(state.name)\"",
                    reason: "is \(type(of: state.value)), but is updated with \(type(of: state.next))")
            }
        }
        for output in outputs where !made.contains(output.value) {
            throw ShapeError(operator: "output \"\(output.name)\"", reason: "its value is never computed")
        }
        try interface.check(ports)
    }

    /// Rebuilds the program node by node, and drops nodes that no output needs. `rewrite` gets each node with its
    /// inputs in the new program; it returns the values that replace the node's outputs, or nil to keep the node.
    /// - Parameter numbers: replacements for free dimensions in the types of inputs and states.
    /// - Parameter stateTypes: other element types of states, by name. Values for the next run are converted to them, and
    ///   outputs keep their element types.
    public func rewriting(
        binding numbers: [String: Int] = [:], stateTypes: [String: ElementType] = [:],
        _ rewrite: (Node, [Value], inout ProgramBuilder) throws -> [Value]? = { _, _, _ in nil }
    ) throws -> Program {
        func bound(_ value: Value) -> TensorType {
            let type = type(of: value)
            return TensorType(type.elementType, type.dimensions.map { $0.binding(numbers) })
        }
        var builder = ProgramBuilder(
            name: name, dimensions: dimensions.filter { numbers[$0.name] == nil }, interface: interface)
        var mapped: [Value: Value] = [:]
        for input in inputs { mapped[input.value] = builder.input(input.name, bound(input.value)) }
        for constant in constants { mapped[constant.value] = builder.constant(constant) }
        for state in states {
            let own = bound(state.value)
            let type = stateTypes[state.name].map(own.keepingRows) ?? own
            mapped[state.value] = builder.state(state.name, type, initial: state.initial)
        }
        for node in nodes {
            let arguments = node.inputs.compactMap { mapped[$0] }
            let replaced = try builder.labelled(node.label) { builder in
                try rewrite(node, arguments, &builder) ?? builder.applyAll(node.operation, arguments)
            }
            for (old, new) in zip(node.outputs, replaced) { mapped[old] = new }
        }
        func result(_ value: Value, as type: ElementType, of port: String) throws -> Value? {
            try mapped[value].map { try builder.converting($0, to: type, for: port) }
        }
        for output in outputs {
            let type = type(of: output.value).elementType
            try result(output.value, as: type, of: output.name).map { builder.output(output.name, $0) }
        }
        for state in states {
            let type = stateTypes[state.name] ?? type(of: state.value).elementType
            try result(state.next, as: type, of: state.name).map { builder.update(state.name, to: $0) }
        }
        return try builder.finish()
    }

    /// The multiply-adds of all nodes; nodes with free dimensions count as 0.
    public var multiplyAdds: Int {
        nodes.reduce(0) { sum, node in
            let shapes = node.inputs.compactMap { type(of: $0).shape }
            return shapes.count == node.inputs.count ? sum + node.operation.multiplyAdds(shapes) : sum
        }
    }

    /// The number of reads of each value, by nodes, outputs and states.
    public var useCounts: [Value: Int] {
        var counts: [Value: Int] = [:]
        for value in nodes.flatMap(\.inputs) + outputs.map(\.value) + states.map(\.next) {
            counts[value, default: 0] += 1
        }
        return counts
    }

    /// The names of the operators that read each constant, by the constant's name, in program order.
    public var constantReaders: [String: [String]] {
        let names = Dictionary(uniqueKeysWithValues: constants.map { ($0.value, $0.name) })
        var readers: [String: [String]] = [:]
        for node in nodes {
            for name in node.inputs.compactMap({ names[$0] })
            where !readers[name, default: []].contains(node.operation.name) {
                readers[name, default: []].append(node.operation.name)
            }
        }
        return readers
    }
}

extension Program.Constant {
    /// Creates a constant with the elements of a tensor.
    init(_ tensor: StoredTensor, isWeight: Bool, value: Value) {
        self.init(
            name: tensor.name, elementType: tensor.elementType, shape: tensor.shape, isWeight: isWeight, value: value,
            tensor: tensor)
    }

    /// Returns the tensor with its elements.
    /// - Throws: `ShapeError` for a weight of a package, which stores an encoding instead.
    public func requireTensor() throws -> StoredTensor {
        guard let tensor else {
            throw ShapeError(
                operator: "constant \"\(name)\"",
                reason: "its elements are not available, because a package stores their encoding")
        }
        return tensor
    }
}
