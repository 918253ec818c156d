public import AccelTensors

/// Builds a program value by value; every operator's shape rule is checked as it is applied.
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
    /// Index in `nodes`.
    private var producers: [Value: Int] = [:]
    private var labels: Set<String> = []
    private var scope: [String] = []
    /// Set while a node is rebuilt: what it is called.
    private var fixedLabel: String?

    /// - Parameter role: what the program is for.
    public init(name: String, dimensions: [Program.FreeDimension] = [], role: FunctionRole = .opaque) {
        self.init(name: name, dimensions: dimensions, interface: Interface(role))
    }

    /// - Parameter interface: the roles of ports that are to be made, by their names.
    init(name: String, dimensions: [Program.FreeDimension], interface: Interface) {
        self.name = name
        self.dimensions = dimensions
        self.interface = interface
    }

    public func type(of value: Value) -> TensorType { types[value.id] }

    /// The node that makes `value`; nil for inputs and constants.
    public func producer(of value: Value) -> Program.Node? { producers[value].map { nodes[$0] } }

    /// The tensor, when `value` is a table that the tool made.
    public func table(_ value: Value) -> StoredTensor? { tables[value] }

    private mutating func makeValue(_ type: TensorType) -> Value {
        types.append(type)
        return Value(id: types.count - 1)
    }

    /// - Parameters:
    ///   - role: what it means; `finish` checks that it goes with the type.
    ///   - source: the output of another part that it takes as it is.
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

    /// Memory that lasts from run to run: what it holds when the function starts.
    /// - Parameters:
    ///   - role: what it means; `finish` checks that it goes with the type.
    ///   - initial: what every element is before the first run.
    public mutating func state(
        _ name: String, _ type: TensorType, _ role: Role = .opaque, initial: Double = 0
    ) -> Value {
        if role.kind != .opaque { interface.states[name] = role }
        let value = makeValue(type)
        states.append(Program.State(name: name, value: value, next: value, initial: initial))
        return value
    }

    /// What the state `name` holds for the next run; without this it stays as it is.
    public mutating func update(_ name: String, to value: Value) {
        states = states.map { state in
            guard state.name == name else { return state }
            return Program.State(name: name, value: state.value, next: value, initial: state.initial)
        }
    }

    /// A tensor of the checkpoint (`isWeight`) or a table. The same name again gives the same value.
    /// A weight of any floating-point type computes as float32.
    public mutating func constant(_ tensor: StoredTensor, isWeight: Bool) -> Value {
        constant(Program.Constant(tensor, isWeight: isWeight, value: Value(id: 0)))
    }

    /// A constant of another program.
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

    /// A table that the tool made; its name gets a number when it is taken.
    public mutating func literal(_ tensor: HostTensor, name: String) -> Value {
        var unique = name
        var number = 1
        while constantByName[unique] != nil {
            number += 1
            unique = "\(name).\(number)"
        }
        return constant(tensor.stored(name: unique), isWeight: false)
    }

    /// A scalar.
    public mutating func literal(_ number: Float) -> Value {
        constant(HostTensor([number], []).stored(name: "scalar.\(number)"), isWeight: false)
    }

    /// Runs `body` with `name` as one more part of the labels of what it applies.
    public mutating func `in`<Result>(_ name: String, _ body: (inout ProgramBuilder) throws -> Result) rethrows
        -> Result
    {
        scope.append(name)
        defer { scope.removeLast() }
        return try body(&self)
    }

    mutating func labelled<Result>(_ label: String, _ body: (inout ProgramBuilder) throws -> Result) rethrows -> Result
    {
        fixedLabel = label
        defer { fixedLabel = nil }
        return try body(&self)
    }

    /// Appends a node.
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

    /// Appends a node that has one output.
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

    /// - Parameter role: what it means; `finish` checks that it goes with the type.
    public mutating func output(_ name: String, _ value: Value, _ role: Role = .opaque) {
        outputs.append(Program.Output(name: name, value: value))
        if role.kind != .opaque { interface.outputs[name] = role }
    }

    /// The program, without the nodes and constants that no output or state needs. Inputs and states all stay.
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
