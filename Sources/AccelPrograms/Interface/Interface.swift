/// What a function is for, what each of its ports means, and which functions feed its inputs: declared by the model's
/// family, stored in the manifest of a package.
public struct Interface: Hashable, Sendable {
    /// An output of another part of the model that an input takes as it is.
    public struct Link: Hashable, Sendable {
        public let input: String
        /// The part of the model that makes it, e.g. `encoder`.
        public let part: String
        public let output: String

        public init(input: String, part: String, output: String) {
            (self.input, self.part, self.output) = (input, part, output)
        }
    }

    public var role: FunctionRole
    /// By the port's name. A port that is missing is `opaque`.
    public var inputs: [String: Role]
    public var outputs: [String: Role]
    public var states: [String: Role]
    /// In the order of the inputs.
    public var links: [Link]

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

    /// The role of a port.
    public func role(of name: String, _ side: RoleRule.Side) -> Role { roles(side)[name] ?? .opaque }

    /// Without the roles that only a later version knows: their ports are opaque.
    public var known: Interface {
        func isKnown(_ entry: (key: String, value: Role)) -> Bool { RoleRule.rule(for: entry.value.kind) != nil }
        return Interface(
            role, inputs: inputs.filter(isKnown), outputs: outputs.filter(isKnown), states: states.filter(isKnown),
            links: links)
    }

    /// Those of a side, by the port's name.
    func roles(_ side: RoleRule.Side) -> [String: Role] {
        switch side {
        case .input: inputs
        case .output: outputs
        case .state: states
        }
    }
}

extension Program {
    /// The first input of a kind, nil where there is none.
    public func input(_ kind: RoleKind) -> Input? { inputs.first { interface.inputs[$0.name]?.kind == kind } }
    /// The states of a kind, in their order.
    public func states(_ kind: RoleKind) -> [State] { states.filter { interface.states[$0.name]?.kind == kind } }
}
