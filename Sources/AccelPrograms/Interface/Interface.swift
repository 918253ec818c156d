/// The purpose of a function, the roles of its ports, and the functions that feed its inputs. A model's family declares
/// it; the manifest of a package stores it.
public struct Interface: Hashable, Sendable {
    /// An input that takes an output of another part of the model unchanged.
    public struct Link: Hashable, Sendable {
        /// The name of the input.
        public let input: String
        /// The part of the model that computes it, such as `encoder`.
        public let part: String
        /// The name of that part's output.
        public let output: String

        /// Creates a link from an output of `part` to an input.
        public init(input: String, part: String, output: String) {
            (self.input, self.part, self.output) = (input, part, output)
        }
    }

    /// The purpose of the function.
    public var role: FunctionRole
    /// The roles of the inputs by port name. A missing port is `opaque`.
    public var inputs: [String: Role]
    /// The roles of the outputs by port name. A missing port is `opaque`.
    public var outputs: [String: Role]
    /// The roles of the states by port name. A missing port is `opaque`.
    public var states: [String: Role]
    /// The inputs that other functions feed, in the order of the inputs.
    public var links: [Link]

    /// Creates an interface. `check(_:isLater:)` compares it with the ports.
    public init(
        _ role: FunctionRole = .opaque, inputs: [String: Role] = [:], outputs: [String: Role] = [:],
        states: [String: Role] = [:], links: [Link] = []
    ) {
        self.role = role
        self.inputs = inputs
        self.outputs = outputs
        self.states = states
        self.links = links
    }

    /// Returns the role of a port; `opaque` if none is declared.
    public func role(of name: String, _ side: RoleRule.Side) -> Role { roles(side)[name] ?? .opaque }

    /// The interface with only the roles that this version knows; ports with other roles become opaque.
    public var known: Interface {
        func isKnown(_ entry: (key: String, value: Role)) -> Bool { RoleRule.rule(for: entry.value.kind) != nil }
        return Interface(
            role, inputs: inputs.filter(isKnown), outputs: outputs.filter(isKnown), states: states.filter(isKnown),
            links: links)
    }

    /// Returns the roles of one side, by port name.
    func roles(_ side: RoleRule.Side) -> [String: Role] {
        switch side {
        case .input: inputs
        case .output: outputs
        case .state: states
        }
    }
}

extension Program {
    /// Returns the first input with a role of this kind; nil if there is none.
    public func input(_ kind: RoleKind) -> Input? { inputs.first { interface.inputs[$0.name]?.kind == kind } }
    /// Returns the states with a role of this kind, in program order.
    public func states(_ kind: RoleKind) -> [State] { states.filter { interface.states[$0.name]?.kind == kind } }
    /// The keys and values of an encoder that the program reads, and does not make itself.
    package var encoderStates: [State] { states(.crossAttention).filter { $0.next == $0.value } }
}
