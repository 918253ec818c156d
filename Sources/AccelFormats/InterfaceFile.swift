public import AccelByteIO
public import AccelPrograms

/// Roles for the functions of a model whose format has none: a JSON object with an interface for each function, by its name.
/// An interface has the members of a manifest's `interface` (schemas/interface.schema.json).
///
/// ```json
/// {"main": {"role": "encode", "inputs": {"ids": {"kind": "tokens", "vocabulary": 30522}},
///           "outputs": {}, "states": {}, "links": []}}
/// ```
public struct InterfaceFile: Sendable {
    private let document: JSONField
    private let interfaces: [(function: String, interface: Interface)]

    /// Reads a file.
    /// - Throws: `FormatError` for an unknown role, and for missing or superfluous parameters of a role.
    public init(_ path: String) throws {
        self = try FormatError.ofRequest { try InterfaceFile(JSONField(try JSON.read(path), file: path)) }
    }

    /// Parses a document.
    /// - Throws: as the initialiser that reads a file.
    public init(_ document: JSONField) throws {
        self.document = document
        interfaces = try document.members().map { ($0.key, try Interface(parsing: $0.field)) }
    }

    /// Returns the programs with the roles of the file. Functions that the file does not name keep their roles.
    /// - Throws: `FormatError` for an unknown function or port, and for a role that does not fit its port.
    public func declaring(_ programs: [Program]) throws -> [Program] {
        try FormatError.ofRequest { try declared(programs) }
    }

    private func declared(_ programs: [Program]) throws -> [Program] {
        for (function, _) in interfaces where !programs.contains(where: { $0.name == function }) {
            let names = programs.map(\.name).joined(separator: ", ")
            throw document[function].error("the model has no function of this name (it has: \(names))")
        }
        return try programs.map { program in
            guard let interface = interfaces.first(where: { $0.function == program.name })?.interface else {
                return program
            }
            do { return try program.declaring(interface) } catch let error as ShapeError {
                throw document[program.name].error(error.description)
            }
        }
    }
}
