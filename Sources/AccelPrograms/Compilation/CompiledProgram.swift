public import AccelTensors
public import AccelWeightCompression

/// A model that is ready to run: its functions as lists of kernel calls, and the weights that they share.
public struct CompiledProgram: Sendable {
    public var functions: [CompiledFunction]
    /// Weights and tables. `Operand.Storage.weight` counts into it.
    public var weights: [CompressedTensor]
    /// The functions before they were planned.
    public let graph: [FrozenProgram]

    /// - Parameter functions: the plans of the graph's.
    package init(of graph: ModelGraph, functions: [CompiledFunction]) {
        self.functions = functions
        weights = graph.tensors
        self.graph = graph.functions
    }
}

/// One frozen function: what goes in and out, the memory that it needs, and its calls in order.
public struct CompiledFunction: Sendable {
    public struct Port: Hashable, Sendable {
        public var name: String
        public var elementType: ElementType
        public var shape: Shape
        public init(name: String, elementType: ElementType, shape: Shape) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
        }
    }
    /// Memory that lasts from run to run. Functions of one package that have a state of the same name, type and shape
    /// share it.
    public struct State: Hashable, Sendable {
        public var name: String
        public var elementType: ElementType
        public var shape: Shape
        /// What every element is before the first run: a number that the element type holds exactly.
        public var initial: Double
        public init(name: String, elementType: ElementType, shape: Shape, initial: Double = 0) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
            self.initial = initial
        }
    }
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
    public var inputs: [Port]
    public var outputs: [Output]
    public var states: [State]
    /// Bytes of the arena, where all intermediate values live. Offsets are multiples of 64.
    public var arenaBytes: Int
    public var calls: [KernelCall]
    /// What it is for, and what each port means.
    public var interface: Interface

    public init(
        name: String, part: String, bindings: ShapeBindings, inputs: [Port], outputs: [Output],
        states: [State] = [], arenaBytes: Int, calls: [KernelCall], interface: Interface = Interface()
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

/// How a tensor lies in memory: element `[i, j, ...]` is at `offset + i * strides[0] + j * strides[1] + ...`, in elements.
public struct StridedLayout: Hashable, Sendable {
    public var offset: Int
    public var shape: Shape
    public var strides: [Int]

    public init(offset: Int = 0, shape: Shape, strides: [Int]? = nil) {
        self.offset = offset
        self.shape = shape
        self.strides = strides ?? shape.strides
    }

    /// Row-major without gaps, wherever it starts. Extents of 1 may have any stride.
    public var isContiguous: Bool {
        zip(shape.dimensions, zip(strides, shape.strides)).allSatisfy { $0 == 1 || $1.0 == $1.1 }
    }

    /// The largest element index that it touches, nil when it overflows or goes below zero, -1 when it is empty.
    public var lastElement: Int? {
        if shape.dimensions.contains(0) { return -1 }
        var last = offset
        for (extent, stride) in zip(shape.dimensions, strides) {
            guard stride >= 0, extent > 0 else { return nil }
            let (distance, overflow) = (extent - 1).multipliedReportingOverflow(by: stride)
            let (sum, overflow2) = last.addingReportingOverflow(distance)
            guard !overflow, !overflow2 else { return nil }
            last = sum
        }
        return offset >= 0 ? last : nil
    }
}
