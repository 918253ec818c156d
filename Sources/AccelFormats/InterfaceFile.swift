public import AccelByteIO
public import AccelPrograms

/// Roles for the functions of a model whose format has none: a JSON object with an interface for each function, by its name,
/// in the form that a manifest's `interface` has (schemas/interface.schema.json).
///
///     {"main": {"role": "encode", "inputs": {"ids": {"kind": "tokens", "vocabulary": 30522}}, "outputs": {}, "states": {}, "links": []}}
public struct InterfaceFile: Sendable {
    private let document: JSONField
    private let interfaces: [(function: String, interface: Interface)]

    /// - Throws: `FormatError` for a role that is not known, or that has other parameters than it has to.
    public init(_ path: String) throws { try self.init(JSONField(try JSON.read(path), file: path)) }

    /// - Throws: as `init(_:)`
    public init(_ document: JSONField) throws {
        self.document = document
        interfaces = try document.members().map { ($0.key, try Interface(parsing: $0.field)) }
    }

    /// The programs with the roles that the file has for them. Functions that it does not name keep theirs.
    /// - Throws: `FormatError` for a function or port that is not there, and for a role that does not go with its port.
    public func declaring(_ programs: [Program]) throws -> [Program] {
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
