import AccelTensors

extension Interface {
    /// A port as its interface sees it.
    public struct Port: Sendable {
        public let side: RoleRule.Side
        public let name: String
        public let type: TensorType

        public init(_ side: RoleRule.Side, _ name: String, _ type: TensorType) {
            (self.side, self.name, self.type) = (side, name, type)
        }

        /// e.g. `input "input_ids"`
        var subject: String { "\(side.rawValue) \"\(name)\"" }
    }

    public func role(of port: Port) -> Role { role(of: port.name, port.side) }

    /// Checks that roles are known, go with the types of their ports, and are not of ports that do not exist.
    /// - Parameter isLater: a later version of the tool has written it: kinds of roles that are not known are ignored.
    /// - Throws: `ShapeError` naming the port.
    public func check(_ ports: [Port], isLater: Bool = false) throws {
        for port in ports {
            let role = role(of: port)
            if role.kind == .opaque { continue }
            guard let rule = RoleRule.rule(for: role.kind) else {
                if isLater { continue }
                throw ShapeError(operator: port.subject, reason: "there is no role \"\(role.kind.rawValue)\"")
            }
            if let reason = rule.unsupportedReason(role, port.side, port.type) {
                throw ShapeError(operator: port.subject, reason: reason)
            }
        }
        let known = Set(ports.map(\.subject))
        for side in [RoleRule.Side.input, .state, .output] {
            for name in roles(side).keys.sorted() + (side == .input ? links.map(\.input) : []) {
                let port = Port(side, name, TensorType(.bool, []))
                guard known.contains(port.subject) else {
                    throw ShapeError(operator: port.subject, reason: "has a role or a link, but does not exist")
                }
            }
        }
    }
}

extension Program {
    /// Inputs, states and outputs as the interface sees them.
    public var ports: [Interface.Port] {
        inputs.map { Interface.Port(.input, $0.name, type(of: $0.value)) }
            + states.map { Interface.Port(.state, $0.name, type(of: $0.value)) }
            + outputs.map { Interface.Port(.output, $0.name, type(of: $0.value)) }
    }

    /// The same program with another interface.
    /// - Throws: `ShapeError` for roles that do not go with its ports.
    public func declaring(_ interface: Interface) throws -> Program {
        try interface.check(ports)
        var program = self
        program.interface = interface
        return program
    }

    /// The interface once every dimension is a number: a decoder's block of one token is a step.
    var frozenInterface: Interface {
        guard interface.role == .decode, let tokens = input(.tokens) else { return interface }
        var frozen = interface
        frozen.role = type(of: tokens.value).dimensions.last?.value == 1 ? .step : .prefill
        return frozen
    }
}

extension [Program] {
    /// Checks what every family owes: a role for each part and port, and links that lead to an output of the same type.
    /// - Parameter parts: all parts that the family can build. A link to one that is not built is left out.
    /// - Returns: the programs, with links to each other only.
    /// - Throws: `ShapeError` naming the part and the port.
    public func checkingInterfaces(parts: [String]) throws -> [Program] {
        try map { program in
            if program.interface.role == .opaque {
                throw ShapeError(operator: "part \"\(program.name)\"", reason: "has no role")
            }
            for port in program.ports where program.interface.role(of: port).kind == .opaque {
                throw ShapeError(
                    operator: "\(port.subject) of the part \"\(program.name)\"", reason: "has no role")
            }
            var program = program
            program.interface.links = try program.interface.links.filter { try isBuilt($0, in: program, parts) }
            return program
        }
    }

    private func isBuilt(_ link: Interface.Link, in program: Program, _ parts: [String]) throws -> Bool {
        func error(_ reason: String) -> ShapeError {
            ShapeError(operator: "input \"\(link.input)\" of the part \"\(program.name)\"", reason: reason)
        }
        guard parts.contains(link.part) else { throw error("has a link to \"\(link.part)\", which is no part") }
        guard let maker = first(where: { $0.name == link.part }) else { return false }
        guard let output = maker.outputs.first(where: { $0.name == link.output }) else {
            throw error("has a link to \"\(link.output)\" of \"\(link.part)\", which is no output")
        }
        let (made, taken) = (
            maker.type(of: output.value),
            program.inputs.first { $0.name == link.input }.map { program.type(of: $0.value) }
        )
        guard made.elementType == taken?.elementType, made.rank == taken?.rank else {
            let found = taken.map { "\($0)" } ?? "missing"
            throw error("is \(found), but \"\(link.output)\" of \"\(link.part)\" is \(made)")
        }
        return true
    }
}
