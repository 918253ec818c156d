import AccelTensors

extension Interface {
    /// The side, name and type of a port: what the rules of roles check.
    public struct Port: Sendable {
        /// Input, output or state.
        public let side: RoleRule.Side
        /// The name, unique on its side.
        public let name: String
        /// The element type and dimensions, free or numbers.
        public let type: TensorType

        /// Creates the description of a port.
        public init(_ side: RoleRule.Side, _ name: String, _ type: TensorType) {
            (self.side, self.name, self.type) = (side, name, type)
        }

        /// The port in error messages, such as `input "input_ids"`.
        var subject: String { "\(side.rawValue) \"\(name)\"" }
    }

    /// Returns the role of a port; `opaque` if none is declared.
    public func role(of port: Port) -> Role { role(of: port.name, port.side) }

    /// Checks that every role is known and fits the type of its port, and that every named port exists.
    /// - Parameter isLater: the file was written by a later version of the tool; unknown kinds of roles are ignored.
    /// - Throws: `ShapeError` naming the port.
    public func check(_ ports: [Port], isLater: Bool = false) throws {
        for port in ports {
            let role = role(of: port)
            if role.kind == .opaque { continue }
            guard let rule = RoleRule.rule(for: role.kind) else {
                if isLater { continue }
                throw ShapeError(operator: port.subject, reason: "unknown role \"\(role.kind.rawValue)\"")
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
    /// The inputs, states and outputs, in this order, with their types.
    public var ports: [Interface.Port] {
        inputs.map { Interface.Port(.input, $0.name, type(of: $0.value)) }
            + states.map { Interface.Port(.state, $0.name, type(of: $0.value)) }
            + outputs.map { Interface.Port(.output, $0.name, type(of: $0.value)) }
    }

    /// Returns the program with another interface.
    /// - Throws: `ShapeError` if a role does not fit its port.
    public func declaring(_ interface: Interface) throws -> Program {
        try interface.check(ports)
        var program = self
        program.interface = interface
        return program
    }

    /// The interface of the frozen program: `decode` becomes `step` if a block has one token, else `prefill`.
    var frozenInterface: Interface {
        guard interface.role == .decode, let tokens = input(.tokens) else { return interface }
        var frozen = interface
        frozen.role = type(of: tokens.value).dimensions.last?.value == 1 ? .step : .prefill
        return frozen
    }
}

extension [Program] {
    /// Checks the duties of every family: a role for each part and port, and links to outputs of the same type.
    /// - Parameters:
    ///   - parts: all parts that the family can build. Links to parts that are not built are removed.
    ///   - contractParts: parts whose ports may be opaque, because another runtime defines them.
    /// - Returns: The programs, with links among each other only.
    /// - Throws: `ShapeError` naming the part and the port.
    public func checkingInterfaces(
        parts: [String], allowingOpaque contractParts: [String] = []
    ) throws -> [Program] {
        try map { program in
            if program.interface.role == .opaque {
                throw ShapeError(operator: "part \"\(program.name)\"", reason: "has no role")
            }
            let isContract = contractParts.contains(program.name)
            for port in program.ports where !isContract && program.interface.role(of: port).kind == .opaque {
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
        guard parts.contains(link.part) else {
            throw error("has a link to \"\(link.part)\", which is not a part of the model")
        }
        guard let maker = first(where: { $0.name == link.part }) else { return false }
        guard let output = maker.outputs.first(where: { $0.name == link.output }) else {
            throw error("has a link to \"\(link.output)\", which is not an output of \"\(link.part)\"")
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
