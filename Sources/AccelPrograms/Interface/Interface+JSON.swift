public import AccelByteIO

extension Interface {
    /// The interface as manifests and exports store it; roles are sorted by port name.
    public var json: JSON {
        func object(_ roles: [String: Role]) -> JSON {
            .object(roles.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.json) })
        }
        return [
            "role": .string(role.rawValue), "inputs": object(inputs), "outputs": object(outputs),
            "states": object(states),
            "links": .array(
                links.map {
                    ["input": .string($0.input), "part": .string($0.part), "output": .string($0.output)]
                }),
        ]
    }

    /// Reads an interface of a manifest.
    /// - Parameter isLater: the file was written by a later version of the tool; unknown roles and members are ignored.
    /// - Throws: `FormatError` for an unknown role, and for missing or unexpected members.
    public init(parsing field: JSONField, isLater: Bool = false) throws {
        func roles(_ name: String) throws -> [String: Role] {
            let members = try field[name].members().map { ($0.key, try Role(parsing: $0.field)) }
            return Dictionary(members) { first, _ in first }
        }
        self.init(
            FunctionRole(rawValue: try field["role"].string()), inputs: try roles("inputs"),
            outputs: try roles("outputs"), states: try roles("states"),
            links: try field["links"].array().map { link in
                if !isLater { try link.rejectMembers(otherThan: ["input", "part", "output"]) }
                return Link(
                    input: try link["input"].string(), part: try link["part"].string(),
                    output: try link["output"].string())
            })
        if isLater { return }
        try field.rejectMembers(otherThan: ["role", "inputs", "outputs", "states", "links"])
        guard FunctionRole.all.contains(role) else {
            throw field["role"].error("unknown function role \(quoted(role.rawValue))")
        }
    }
}

extension Role {
    /// e.g. `{"kind":"tokens","vocabulary":30522}`
    var json: JSON {
        .object(
            [JSON.Member("kind", .string(kind.rawValue))]
                + parameters.sorted { $0.key < $1.key }.map { name, parameter in
                    switch parameter {
                    case .integer(let integer): JSON.Member(name, .integer(Int64(integer)))
                    case .numbers(let numbers): JSON.Member(name, .array(numbers.map { .number($0) }))
                    case .word(let word): JSON.Member(name, .string(word))
                    }
                })
    }

    /// Reads a role.
    /// - Throws: `FormatError` for a parameter that is not an integer, a string, or a list of numbers.
    init(parsing field: JSONField) throws {
        var parameters: [String: Parameter] = [:]
        for (name, value) in try field.members() where name != "kind" {
            parameters[name] =
                switch value.value {
                case .integer: .integer(try value.int())
                case .array: .numbers(try value.array().map { try $0.double() })
                default: .word(try value.string())
                }
        }
        self.init(RoleKind(rawValue: try field["kind"].string()), parameters)
    }
}
