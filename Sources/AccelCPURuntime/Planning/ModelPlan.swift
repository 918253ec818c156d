public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The execution plans of a model's functions, and the weights that they share. It is made before a model runs; a
/// package does not hold one.
public struct ModelPlan: Sendable {
    /// The execution plans, one for each function.
    public var functions: [FunctionPlan]
    /// Weights and tables. `Operand.Storage.weight` is an index into them.
    public var weights: [CompressedTensor]
    /// The functions that were planned.
    public let graph: [FrozenProgram]

    /// - Parameter functions: the execution plans of the graph's functions.
    package init(of graph: ModelGraph, functions: [FunctionPlan]) {
        self.functions = functions
        weights = graph.tensors
        self.graph = graph.functions
    }
}

/// The execution plan of one function: its inputs, outputs and states, the size of its arena, and its calls in order.
public struct FunctionPlan: Sendable {
    /// An output of a function: its name and its memory.
    public struct Output: Equatable, Sendable {
        /// The output's name.
        public var name: String
        /// The memory of the result after the last call; it may be strided.
        public var operand: Operand
        /// Creates an output.
        public init(name: String, operand: Operand) {
            self.name = name
            self.operand = operand
        }
    }

    /// The function's name, unique in the program.
    public var name: String
    /// The part of the model, e.g. `model`, `encoder`.
    public var part: String
    /// The sizes of the named dimensions that the function was frozen to.
    public var bindings: ShapeBindings
    /// The inputs with their types; `Operand.Storage.input` is an index into them.
    public var inputs: [FrozenProgram.Port]
    /// The outputs, in the order of the program.
    public var outputs: [Output]
    /// The states with their types; `Operand.Storage.state` is an index into them.
    public var states: [FrozenProgram.State]
    /// The size in bytes of the arena, which holds all intermediate values. Offsets are multiples of 64.
    public var arenaBytes: Int
    /// The kernel calls, in the order of execution.
    public var calls: [KernelCall]
    /// Groups of calls that follow each other and run as one, with the same result: as products of the same rows.
    public var joined: [Range<Int>]
    /// The role of the function and of each port.
    public var interface: Interface

    /// Creates an execution plan. Operands are checked when an executor is created.
    public init(
        name: String, part: String, bindings: ShapeBindings, inputs: [FrozenProgram.Port],
        outputs: [Output], states: [FrozenProgram.State] = [], arenaBytes: Int, calls: [KernelCall],
        joined: [Range<Int>] = [], interface: Interface = Interface()
    ) {
        self.name = name
        self.part = part
        self.bindings = bindings
        self.inputs = inputs
        self.outputs = outputs
        self.states = states
        self.arenaBytes = arenaBytes
        self.calls = calls
        self.joined = joined
        self.interface = interface
    }

    /// The inputs, states and outputs as ports of the interface.
    public var ports: [Interface.Port] {
        func port(_ side: RoleRule.Side, _ name: String, _ type: ElementType, _ shape: Shape) -> Interface.Port {
            Interface.Port(side, name, TensorType(type, shape: shape))
        }
        return inputs.map { port(.input, $0.name, $0.elementType, $0.shape) }
            + states.map { port(.state, $0.name, $0.elementType, $0.shape) }
            + outputs.map { port(.output, $0.name, $0.operand.elementType, $0.operand.shape) }
    }
}

extension FunctionPlan {
    /// The ports for which a file of inputs may have tensors: the inputs, and the states, whose tensors are initial values.
    package var givenPorts: [FrozenProgram.Port] { inputs + states.map(\.port) }

    /// Returns what stands for an input that may be left out; nil for other inputs.
    package func standIn(for port: FrozenProgram.Port) -> StoredTensor? {
        guard port.elementType == .int64, let number = interface.inputs[port.name]?.standIn else { return nil }
        let numbers = [Int64](repeating: number, count: port.shape.count)
        return StoredTensor(name: port.name, integers: numbers, shape: port.shape)
    }

    /// Returns the first input of a kind; nil if there is none.
    public func input(_ kind: RoleKind) -> FrozenProgram.Port? {
        inputs.first { interface.inputs[$0.name]?.kind == kind }
    }
    /// Returns the first output of a kind; nil if there is none.
    public func output(_ kind: RoleKind) -> Output? { outputs.first { interface.outputs[$0.name]?.kind == kind } }
    /// Returns the states of a kind, in order.
    public func states(_ kind: RoleKind) -> [FrozenProgram.State] {
        states.filter { interface.states[$0.name]?.kind == kind }
    }

    /// The states that it writes to.
    package var changedStates: [FrozenProgram.State] {
        let written = Set(calls.flatMap(\.outputs).map(\.storage))
        return states.indices.filter { written.contains(.state($0)) }.map { states[$0] }
    }
}

/// One operator applied to memory.
public struct KernelCall: Sendable {
    /// The operator that the call computes.
    public var operation: any Operator
    /// The node's label, e.g. `encoder.layer.0.attention.self.query`.
    public var label: String
    /// The tensors that the call reads, in the order of the operator's inputs.
    public var inputs: [Operand]
    /// The tensors that the call writes, in the arena or a state. No output overlaps an input, except the first input
    /// of an operator that updates in place.
    public var outputs: [Operand]

    /// Creates a call.
    public init(operation: any Operator, label: String, inputs: [Operand], outputs: [Operand]) {
        self.operation = operation
        self.label = label
        self.inputs = inputs
        self.outputs = outputs
    }
}

/// A tensor that a call reads or writes: its storage, element type and layout.
public struct Operand: Equatable, Sendable {
    /// The memory that holds a tensor.
    public enum Storage: Hashable, Sendable {
        /// The function's input of this index; contiguous.
        case input(Int)
        /// The weight of this index; contiguous, decoded while it is read.
        case weight(Int)
        /// Bytes from the start of the arena.
        case arena(Int)
        /// The function's state of this index; contiguous.
        case state(Int)
    }
    /// The memory that holds the tensor.
    public var storage: Storage
    /// F32, I64 or BOOL. A weight of any encoding reads as F32, unless it is an integer table.
    public var elementType: ElementType
    /// The shape, strides and offset within the storage, in elements.
    public var layout: StridedLayout

    /// Creates an operand.
    public init(storage: Storage, elementType: ElementType, layout: StridedLayout) {
        self.storage = storage
        self.elementType = elementType
        self.layout = layout
    }
    /// The tensor's shape.
    public var shape: Shape { layout.shape }
}
