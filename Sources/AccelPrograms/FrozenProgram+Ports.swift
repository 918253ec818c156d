public import AccelTensors

extension FrozenProgram {
    /// Name, type and shape of what goes in or out.
    public struct Port: Hashable, Sendable {
        public var name: String
        public var elementType: ElementType
        public var shape: Shape
        public init(name: String, elementType: ElementType, shape: Shape) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
        }

        /// Type and shape, e.g. `I64[1,128]`.
        public var typeText: String { "\(elementType.rawValue)\(shape)" }
    }

    /// What lasts from run to run. Functions of one model that have a state of the same name, type and shape share it.
    public struct State: Hashable, Sendable {
        public var name: String
        public var elementType: ElementType
        public var shape: Shape
        /// The value of every element before the first run: a number that the element type holds exactly.
        public var initial: Double
        public init(name: String, elementType: ElementType, shape: Shape, initial: Double = 0) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
            self.initial = initial
        }

        /// Its value, as an input that seeds it or an output that shows it.
        public var port: Port { Port(name: name, elementType: elementType, shape: shape) }
        /// Type and shape, e.g. `F32[2,1,128]`.
        public var typeText: String { port.typeText }
    }

    /// Name, type and shape of a value that goes in or out.
    public func port(_ name: String, _ value: Value) -> Port {
        Port(name: name, elementType: program.type(of: value).elementType, shape: shape(of: value))
    }

    public var inputs: [Port] { program.inputs.map { port($0.name, $0.value) } }
    public var outputs: [Port] { program.outputs.map { port($0.name, $0.value) } }
    public var states: [State] {
        program.states.map {
            let port = port($0.name, $0.value)
            return State(name: port.name, elementType: port.elementType, shape: port.shape, initial: $0.initial)
        }
    }
}
