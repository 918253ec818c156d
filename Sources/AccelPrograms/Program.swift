public import AccelTensors

/// A value of a program: an input, a constant, or an output of a node.
public struct Value: Hashable, Sendable {
    public let id: Int
    package init(id: Int) { self.id = id }
}

/// A model's computation: inputs, constants, nodes in an order in which they can run, named outputs. Dimensions may be
/// free: `freezing` makes them numbers.
public struct Program: Sendable {
    public struct Input: Sendable {
        public let name: String
        public let value: Value

        package init(name: String, value: Value) { (self.name, self.value) = (name, value) }
    }
    public struct Constant: Sendable {
        /// Unique among the program's constants.
        public let name: String
        /// That of the tensor: a value of it is F32, I64 or BOOL.
        public let elementType: ElementType
        public let shape: Shape
        /// A tensor of the checkpoint, which a recipe may compress; else a table that the tool made.
        public let isWeight: Bool
        public let value: Value
        /// The tensor with its elements; nil for a weight of a package, which holds an encoding in its place.
        public let tensor: StoredTensor?

        package init(
            name: String, elementType: ElementType, shape: Shape, isWeight: Bool, value: Value, tensor: StoredTensor?
        ) {
            (self.name, self.elementType, self.shape) = (name, elementType, shape)
            (self.isWeight, self.value, self.tensor) = (isWeight, value, tensor)
        }
    }
    public struct Node: Sendable {
        /// Where it stands in the model, e.g. `encoder.layer.0.attention.self.query`; unique among the nodes.
        public let label: String
        public let operation: any Operator
        public let inputs: [Value]
        public let outputs: [Value]

        package init(label: String, operation: any Operator, inputs: [Value], outputs: [Value]) {
            (self.label, self.operation, self.inputs, self.outputs) = (label, operation, inputs, outputs)
        }
    }
    public struct Output: Sendable {
        public let name: String
        public let value: Value

        package init(name: String, value: Value) { (self.name, self.value) = (name, value) }
    }
    /// Memory that a runtime keeps from one run to the next, such as a key/value cache.
    public struct State: Sendable {
        public let name: String
        /// What it holds when the function starts.
        public let value: Value
        /// What it holds for the next run.
        public let next: Value
        /// What every element is before the first run.
        public let initial: Double

        package init(name: String, value: Value, next: Value, initial: Double) {
            (self.name, self.value, self.next, self.initial) = (name, value, next, initial)
        }
    }
    /// A free dimension and what is known of it.
    public struct FreeDimension: Equatable, Sendable {
        /// What a number for the dimension decides beyond shapes, such as which of two tables is read. A package records it.
        public struct Remark: Equatable, Sendable {
            /// The numbers that it is true of.
            public let numbers: ClosedRange<Int>
            public let text: String
            public init(_ numbers: ClosedRange<Int>, _ text: String) {
                self.numbers = numbers
                self.text = text
            }
        }
        public let name: String
        /// The numbers that it usually takes.
        public let usual: [Int]
        /// Of these, the ones that a function each is made for where nobody asks for a shape.
        public let defaults: [Int]
        public let maximum: Int?
        public let remarks: [Remark]
        /// - Parameter defaults: nil for the first of the usual ones.
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

    /// The part of the model that this is, e.g. `model`, `encoder`.
    public let name: String
    public let dimensions: [FreeDimension]
    public let inputs: [Input]
    public let constants: [Constant]
    public let nodes: [Node]
    public let outputs: [Output]
    public let states: [State]
    /// What it is for, and what each port means.
    public internal(set) var interface: Interface
    /// By `Value.id`.
    public let types: [TensorType]

    package init(
        name: String, dimensions: [FreeDimension], inputs: [Input], constants: [Constant], nodes: [Node],
        outputs: [Output], states: [State], interface: Interface = Interface(), types: [TensorType]
    ) {
        (self.name, self.dimensions, self.inputs, self.constants) = (name, dimensions, inputs, constants)
        (self.nodes, self.outputs, self.states, self.types) = (nodes, outputs, states, types)
        self.interface = interface
    }

    /// The same program with other parts for some of its own. Nothing is checked.
    package func with(
        name: String? = nil, inputs: [Input]? = nil, constants: [Constant]? = nil, nodes: [Node]? = nil,
        outputs: [Output]? = nil, states: [State]? = nil, interface: Interface? = nil, types: [TensorType]? = nil
    ) -> Program {
        Program(
            name: name ?? self.name, dimensions: dimensions, inputs: inputs ?? self.inputs,
            constants: constants ?? self.constants, nodes: nodes ?? self.nodes, outputs: outputs ?? self.outputs,
            states: states ?? self.states, interface: interface ?? self.interface, types: types ?? self.types)
    }

    public func type(of value: Value) -> TensorType { types[value.id] }

    /// Runs every shape rule again and checks that each value is made before it is read, and that roles go with their ports.
    /// - Throws: `ShapeError` naming the operator or port.
    public func validate() throws {
        var made = Set(inputs.map(\.value) + constants.map(\.value) + states.map(\.value))
        for node in nodes {
            let subject = "\(node.operation.name) \"\(node.label)\""
            guard node.inputs.allSatisfy(made.contains) else {
                throw ShapeError(operator: subject, reason: "reads a value that nothing before it makes")
            }
            let types: [TensorType]
            do {
                types = try node.operation.checkedOutputTypes(node.inputs.map(type))
            } catch let error as OperatorError {
                throw ShapeError(operator: subject, reason: error.description)
            }
            guard types == node.outputs.map(type) else {
                throw ShapeError(
                    operator: subject, reason: "makes \(types), but the program says \(node.outputs.map(type))")
            }
            made.formUnion(node.outputs)
        }
        for state in states {
            guard made.contains(state.next), type(of: state.next) == type(of: state.value) else {
                throw ShapeError(
                    operator: "state \"\(state.name)\"",
                    reason: "is \(type(of: state.value)), but becomes \(type(of: state.next))")
            }
        }
        for output in outputs where !made.contains(output.value) {
            throw ShapeError(operator: "output \"\(output.name)\"", reason: "nothing makes its value")
        }
        try interface.check(ports)
    }

    /// Rebuilds the program node by node, dropping what no output needs. `rewrite` gets each node and its inputs in the
    /// new program, and returns the values that take the place of the node's outputs, or nil to keep the node.
    /// - Parameter numbers: replace free dimensions in the types of inputs and states.
    public func rewriting(
        binding numbers: [String: Int] = [:],
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
            mapped[state.value] = builder.state(state.name, bound(state.value), initial: state.initial)
        }
        for node in nodes {
            let arguments = node.inputs.compactMap { mapped[$0] }
            let replaced = try builder.labelled(node.label) { builder in
                try rewrite(node, arguments, &builder) ?? builder.applyAll(node.operation, arguments)
            }
            for (old, new) in zip(node.outputs, replaced) { mapped[old] = new }
        }
        for output in outputs { mapped[output.value].map { builder.output(output.name, $0) } }
        for state in states { mapped[state.next].map { builder.update(state.name, to: $0) } }
        return try builder.finish()
    }

    /// Of all nodes; 0 for those with free dimensions.
    public var multiplyAdds: Int {
        nodes.reduce(0) { sum, node in
            let shapes = node.inputs.compactMap { type(of: $0).shape }
            return shapes.count == node.inputs.count ? sum + node.operation.multiplyAdds(shapes) : sum
        }
    }

    /// How often each value is read, by nodes and as an output.
    public var useCounts: [Value: Int] {
        var counts: [Value: Int] = [:]
        for value in nodes.flatMap(\.inputs) + outputs.map(\.value) + states.map(\.next) {
            counts[value, default: 0] += 1
        }
        return counts
    }

    /// The names of the operators that read each constant, by the constant's name, in the order of the program.
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
    /// A constant whose tensor is at hand.
    init(_ tensor: StoredTensor, isWeight: Bool, value: Value) {
        self.init(
            name: tensor.name, elementType: tensor.elementType, shape: tensor.shape, isWeight: isWeight, value: value,
            tensor: tensor)
    }

    /// The tensor with its elements.
    /// - Throws: `ShapeError` for a weight of a package.
    public func requireTensor() throws -> StoredTensor {
        guard let tensor else {
            throw ShapeError(operator: "constant \"\(name)\"", reason: "its elements are encoded in a package")
        }
        return tensor
    }
}
