public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The execution plans of a model's functions, and the weights that they share. Made when a model is to run; no package
/// holds one.
public struct CompiledProgram: Sendable {
    public var functions: [CompiledFunction]
    /// Weights and tables. `Operand.Storage.weight` counts into it.
    public var weights: [CompressedTensor]
    /// The functions that were planned.
    public let graph: [FrozenProgram]

    /// - Parameter functions: the plans of the graph's.
    package init(of graph: ModelGraph, functions: [CompiledFunction]) {
        self.functions = functions
        weights = graph.tensors
        self.graph = graph.functions
    }
}

/// The execution plan of one function: what goes in and out, the memory that it needs, and its calls in order.
public struct CompiledFunction: Sendable {
    public struct Output: Equatable, Sendable {
        public var name: String
        /// Where the result lies after the last call; may be strided.
        public var operand: Operand
        public init(name: String, operand: Operand) {
            self.name = name
            self.operand = operand
        }
    }

    public var name: String
    /// The part of the model, e.g. `model`, `encoder`.
    public var part: String
    public var bindings: ShapeBindings
    public var inputs: [FrozenProgram.Port]
    public var outputs: [Output]
    public var states: [FrozenProgram.State]
    /// Bytes of the arena, where all intermediate values live. Offsets are multiples of 64.
    public var arenaBytes: Int
    public var calls: [KernelCall]
    /// What it is for, and what each port means.
    public var interface: Interface

    public init(
        name: String, part: String, bindings: ShapeBindings, inputs: [FrozenProgram.Port],
        outputs: [Output], states: [FrozenProgram.State] = [], arenaBytes: Int, calls: [KernelCall],
        interface: Interface = Interface()
    ) {
        self.name = name
        self.part = part
        self.bindings = bindings
        self.inputs = inputs
        self.outputs = outputs
        self.states = states
        self.arenaBytes = arenaBytes
        self.calls = calls
        self.interface = interface
    }

    /// Inputs, states and outputs as the interface sees them.
    public var ports: [Interface.Port] {
        func port(_ side: RoleRule.Side, _ name: String, _ type: ElementType, _ shape: Shape) -> Interface.Port {
            Interface.Port(side, name, TensorType(type, shape: shape))
        }
        return inputs.map { port(.input, $0.name, $0.elementType, $0.shape) }
            + states.map { port(.state, $0.name, $0.elementType, $0.shape) }
            + outputs.map { port(.output, $0.name, $0.operand.elementType, $0.operand.shape) }
    }
}

extension CompiledFunction {
    /// The first input of a kind, nil where there is none.
    public func input(_ kind: RoleKind) -> FrozenProgram.Port? {
        inputs.first { interface.inputs[$0.name]?.kind == kind }
    }
    /// The first output of a kind, nil where there is none.
    public func output(_ kind: RoleKind) -> Output? { outputs.first { interface.outputs[$0.name]?.kind == kind } }
    /// The states of a kind, in their order.
    public func states(_ kind: RoleKind) -> [FrozenProgram.State] {
        states.filter { interface.states[$0.name]?.kind == kind }
    }
}

/// One operator applied to memory.
public struct KernelCall: Sendable {
    public var operation: any Operator
    /// The node's label, e.g. `encoder.layer.0.attention.self.query`.
    public var label: String
    public var inputs: [Operand]
    /// In the arena or a state. No output overlaps an input, but for the first of an operator that updates in place.
    public var outputs: [Operand]

    public init(operation: any Operator, label: String, inputs: [Operand], outputs: [Operand]) {
        self.operation = operation
        self.label = label
        self.inputs = inputs
        self.outputs = outputs
    }
}

/// A tensor that a call reads or writes: where it lies, and how it is laid out.
public struct Operand: Equatable, Sendable {
    public enum Storage: Hashable, Sendable {
        /// The function's input of this index; contiguous.
        case input(Int)
        /// The weight of this index; contiguous, decoded as it is read.
        case weight(Int)
        /// Bytes from the start of the arena.
        case arena(Int)
        /// The function's state of this index; contiguous.
        case state(Int)
    }
    public var storage: Storage
    /// F32, I64 or BOOL. Reading a weight gives F32 whatever its stored form, unless it is an integer table.
    public var elementType: ElementType
    public var layout: StridedLayout

    public init(storage: Storage, elementType: ElementType, layout: StridedLayout) {
        self.storage = storage
        self.elementType = elementType
        self.layout = layout
    }
    public var shape: Shape { layout.shape }
}
