import AccelPrograms

/// Checks that a new version serves the functions that the app uses: each by its name, with exactly the same inputs, and with at
/// least the same outputs, of the same types, shapes and roles.
public struct InterfaceCheck: UpdateCheck {
    public let name = "interface"

    /// The check has no settings.
    public init() {}

    public func check(_ candidate: UpdateCandidate) async throws {
        try candidate.package.graph.functions.map(FunctionDescription.init).checkServing(candidate.functions)
    }
}

extension [FunctionDescription] {
    /// Checks that these functions can replace others.
    /// - Throws: `AccelError` (incompatible) with the first function or port that differs.
    func checkServing(_ needed: [FunctionDescription]) throws(AccelError) {
        for old in needed {
            guard let new = first(where: { $0.name == old.name }) else {
                throw AccelError(
                    .incompatible, "is missing in the new version; it has: \(map(\.name).joined(separator: ", "))",
                    at: "function \"\(old.name)\"")
            }
            if let extra = new.inputs.first(where: { port in !old.inputs.contains { $0.name == port.name } }) {
                throw AccelError(
                    .incompatible, "the new version needs it, and the app gives none",
                    at: "\(old.name), input \"\(extra.name)\"")
            }
            try Self.compare(old.inputs, new.inputs, "\(old.name), input")
            try Self.compare(old.outputs, new.outputs, "\(old.name), output")
        }
    }

    private static func compare(
        _ old: [FunctionDescription.Port], _ new: [FunctionDescription.Port], _ location: String
    ) throws(AccelError) {
        for port in old where !new.contains(port) {
            let found = new.first { $0.name == port.name }
            func words(_ port: FunctionDescription.Port) -> String { "\(port.typeText) with the role \(port.role)" }
            throw AccelError(
                .incompatible, expected: words(port), found: "\(found.map(words) ?? "none") in the new version",
                at: "\(location) \"\(port.name)\"")
        }
    }
}
