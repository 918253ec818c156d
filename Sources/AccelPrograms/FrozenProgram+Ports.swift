public import AccelTensors

extension FrozenProgram {
    /// The name, element type and shape of an input or output.
    public struct Port: Hashable, Sendable {
        /// The port's name.
        public var name: String
        /// The element type of the value.
        public var elementType: ElementType
        /// The shape of the value, with fixed sizes.
        public var shape: Shape
        /// Creates a port.
        public init(name: String, elementType: ElementType, shape: Shape) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
        }

        /// Type and shape, e.g. `I64[1,128]`.
        public var typeText: String { "\(elementType.rawValue)\(shape)" }
    }

    /// A value that is kept between runs, such as a key/value cache. Functions of one model share a state of the same
    /// name, type and shape.
    public struct State: Hashable, Sendable {
        /// The state's name.
        public var name: String
        /// The element type of the value.
        public var elementType: ElementType
        /// The shape of the value, with fixed sizes.
        public var shape: Shape
        /// The value of every element before the first run: a number that the element type holds exactly.
        public var initial: Double
        /// Creates a state whose elements all start as `initial`.
        public init(name: String, elementType: ElementType, shape: Shape, initial: Double = 0) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
            self.initial = initial
        }

        /// The state as a port, for an input that sets it or an output that shows it.
        public var port: Port { Port(name: name, elementType: elementType, shape: shape) }
        /// Type and shape, e.g. `F32[2,1,128]`.
        public var typeText: String { port.typeText }
    }

    /// Returns the name, type and shape of a value that is an input or output.
    public func port(_ name: String, _ value: Value) -> Port {
        Port(name: name, elementType: program.type(of: value).elementType, shape: shape(of: value))
    }

    /// The inputs, in the order of the program.
    public var inputs: [Port] { program.inputs.map { port($0.name, $0.value) } }
    /// The outputs, in the order of the program.
    public var outputs: [Port] { program.outputs.map { port($0.name, $0.value) } }
    /// The states, in the order of the program.
    public var states: [State] {
        program.states.map {
            let port = port($0.name, $0.value)
            return State(name: port.name, elementType: port.elementType, shape: port.shape, initial: $0.initial)
        }
    }
}
