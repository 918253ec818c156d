public import AccelTensors

/// Builds a program value by value. The shape rule of every operator is checked when it is applied.
///
///     var builder = ProgramBuilder(name: "model", dimensions: [...], role: .encode)
///     let ids = builder.input("input_ids", TensorType(.int64, ["batch", "sequence"]), .tokens(vocabulary: 1000))
///     let x = try builder.in("embeddings") { b in try b.apply(Gather(), [table, ids]) }
///     builder.output("last_hidden_state", x, .hiddenStates)
///     let program = try builder.finish()
public struct ProgramBuilder {
    private let name: String
    private let dimensions: [Program.FreeDimension]
    private var inputs: [Program.Input] = []
    private var constants: [Program.Constant] = []
    private var nodes: [Program.Node] = []
    private var outputs: [Program.Output] = []
    private var states: [Program.State] = []
    private var interface: Interface
    private var types: [TensorType] = []
    private var constantByName: [String: Value] = [:]
    private var tables: [Value: StoredTensor] = [:]
    /// Indices in `nodes`.
    private var producers: [Value: Int] = [:]
    private var labels: Set<String> = []
    private var scope: [String] = []
    /// The label of the node that is being rebuilt; nil while new nodes are built.
    private var fixedLabel: String?

    /// Creates a builder for a program with free dimensions.
    /// - Parameter role: the purpose of the program.
    public init(name: String, dimensions: [Program.FreeDimension] = [], role: FunctionRole = .opaque) {
        self.init(name: name, dimensions: dimensions, interface: Interface(role))
    }

    /// - Parameter interface: the roles of ports, by their names; the ports are added afterwards.
    init(name: String, dimensions: [Program.FreeDimension], interface: Interface) {
        self.name = name
        self.dimensions = dimensions
        self.interface = interface
    }

    /// Returns the type of a value.
    public func type(of value: Value) -> TensorType { types[value.id] }

    /// Returns the node that computes `value`; nil for inputs, constants and states.
    public func producer(of value: Value) -> Program.Node? { producers[value].map { nodes[$0] } }

    /// Returns the tensor if `value` is a table that the tool made; nil for other values.
    public func table(_ value: Value) -> StoredTensor? { tables[value] }

    private mutating func makeValue(_ type: TensorType) -> Value {
        types.append(type)
        return Value(id: types.count - 1)
    }

    /// Adds an input.
    /// - Parameters:
    ///   - role: the meaning of the input; `finish` checks that it fits the type.
    ///   - source: the output of another part that callers pass to this input.
    public mutating func input(
        _ name: String, _ type: TensorType, _ role: Role = .opaque, from source: (part: String, output: String)? = nil
    ) -> Value {
        let value = makeValue(type)
        inputs.append(Program.Input(name: name, value: value))
        if role.kind != .opaque { interface.inputs[name] = role }
        if let source {
            interface.links.append(Interface.Link(input: name, part: source.part, output: source.output))
        }
        return value
    }

    /// Adds a state: memory that is kept between runs. Returns its content at the start of a run.
    /// - Parameters:
    ///   - role: the meaning of the state; `finish` checks that it fits the type.
    ///   - initial: the value of every element before the first run.
    public mutating func state(
        _ name: String, _ type: TensorType, _ role: Role = .opaque, initial: Double = 0
    ) -> Value {
        if role.kind != .opaque { interface.states[name] = role }
        let value = makeValue(type)
        states.append(Program.State(name: name, value: value, next: value, initial: initial))
        return value
    }

    /// Sets the content of the state `name` for the next run. A state that is not updated keeps its content.
    public mutating func update(_ name: String, to value: Value) {
        states = states.map { state in
            guard state.name == name else { return state }
            return Program.State(name: name, value: state.value, next: value, initial: state.initial)
        }
    }

    /// Adds a weight of the checkpoint (`isWeight`) or a table. A second call with the same name returns the same
    /// value.
    /// A floating-point constant of any type becomes an F32 value.
    public mutating func constant(_ tensor: StoredTensor, isWeight: Bool) -> Value {
        constant(Program.Constant(tensor, isWeight: isWeight, value: Value(id: 0)))
    }

    /// Adds a constant of another program.
    mutating func constant(_ constant: Program.Constant) -> Value {
        if let value = constantByName[constant.name] { return value }
        let value = makeValue(TensorType(constant.elementType.valueType, shape: constant.shape))
        constants.append(
            Program.Constant(
                name: constant.name, elementType: constant.elementType, shape: constant.shape,
                isWeight: constant.isWeight, value: value, tensor: constant.tensor))
        constantByName[constant.name] = value
        if !constant.isWeight { tables[value] = constant.tensor }
        return value
    }

    /// Adds a table that the tool made. If the name is taken, it gets a number.
    public mutating func literal(_ tensor: HostTensor, name: String) -> Value {
        var unique = name
        var number = 1
        while constantByName[unique] != nil {
            number += 1
            unique = "\(name).\(number)"
        }
        return constant(tensor.stored(name: unique), isWeight: false)
    }

    /// Adds an F32 scalar as a table.
    public mutating func literal(_ number: Float) -> Value {
        constant(HostTensor([number], []).stored(name: "scalar.\(number)"), isWeight: false)
    }

    /// Runs `body` with `name` appended to the labels of the nodes that it adds.
    public mutating func `in`<Result>(_ name: String, _ body: (inout ProgramBuilder) throws -> Result) rethrows
        -> Result
    {
        scope.append(name)
        defer { scope.removeLast() }
        return try body(&self)
    }

    mutating func labelled<Result>(_ label: String, _ body: (inout ProgramBuilder) throws -> Result) rethrows -> Result
    {
        let outer = fixedLabel
        fixedLabel = label
        defer { fixedLabel = outer }
        return try body(&self)
    }

    /// Appends a node and returns its outputs.
    /// - Throws: `ShapeError` naming the operator and its label.
    public mutating func applyAll(_ operation: any Operator, _ arguments: [Value]) throws -> [Value] {
        let label = uniqueLabel(for: operation)
        do {
            let types = try operation.checkedOutputTypes(arguments.map(type))
            let results = types.map { makeValue($0) }
            for result in results { producers[result] = nodes.count }
            nodes.append(Program.Node(label: label, operation: operation, inputs: arguments, outputs: results))
            return results
        } catch let error as OperatorError {
            throw ShapeError(operator: "\(operation.name) \"\(label)\"", reason: error.description)
        }
    }

    /// Appends a node with one output, and returns this output.
    /// - Throws: `ShapeError` naming the operator and its label.
    public mutating func apply(_ operation: any Operator, _ arguments: [Value]) throws -> Value {
        let results = try applyAll(operation, arguments)
        guard results.count == 1 else {
            throw ShapeError(operator: operation.name, reason: "has \(results.count) outputs where one is expected")
        }
        return results[0]
    }

    private mutating func uniqueLabel(for operation: any Operator) -> String {
        let base = fixedLabel ?? (scope + [operation.name]).joined(separator: ".")
        var label = base
        var number = 1
        while !labels.insert(label).inserted {
            number += 1
            label = "\(base).\(number)"
        }
        return label
    }

    /// Adds an output.
    /// - Parameter role: the meaning of the output; `finish` checks that it fits the type.
    public mutating func output(_ name: String, _ value: Value, _ role: Role = .opaque) {
        outputs.append(Program.Output(name: name, value: value))
        if role.kind != .opaque { interface.outputs[name] = role }
    }

    /// Returns the program, without the nodes and constants that no output or state needs. All inputs and states stay.
    /// - Throws: `ShapeError` if a role does not fit its port.
    public consuming func finish() throws -> Program {
        var needed = Set(outputs.map(\.value) + states.map(\.next))
        var kept: [Program.Node] = []
        for node in nodes.reversed() where node.outputs.contains(where: needed.contains) {
            needed.formUnion(node.inputs)
            kept.append(node)
        }
        let program = Program(
            name: name, dimensions: dimensions, inputs: inputs,
            constants: constants.filter { needed.contains($0.value) },
            nodes: kept.reversed(), outputs: outputs,
            states: states, interface: interface, types: types)
        try program.validate()
        return program
    }
}
