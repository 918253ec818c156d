import AccelByteIO
import AccelPrograms

extension CoreMLExporter {
    /// The metadata entry with the part and the interface of each function of the model, in their order.
    public static let interfaceKey = "accelc.interface"

    /// The entry; none for functions of which nothing is known.
    static func interfaceNotes(_ functions: [FrozenProgram]) -> [MILNamed<String>] {
        guard functions.contains(where: { $0.program.interface != Interface() }) else { return [] }
        let rows = functions.map { function -> JSON in
            ["part": .string(function.program.name), "interface": function.program.interface.json]
        }
        return [MILNamed(interfaceKey, JSON.array(rows).text())]
    }
}

extension CoreMLPackage {
    /// What accelc wrote down of a function when it exported it; nil for one of another tool.
    /// - Throws: `FormatError` for an entry that is not accelc's.
    private func declaration(of function: String) throws -> JSONField? {
        let key = CoreMLExporter.interfaceKey
        guard let text = model.metadata.other.first(where: { $0.name == key })?.content,
            let place = model.interfaces.firstIndex(where: { $0.function == function })
        else { return nil }
        let file = "\(path), \(key)"
        let rows = try JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: file), file: file).array()
        // Several shapes may have become one function.
        return rows.indices.contains(place) ? rows[place] : nil
    }

    /// The part of the model that a function is; nil where accelc has not written it down.
    public func part(of function: String) throws -> String? { try declaration(of: function)?["part"].string() }

    /// The program of a function with the roles that accelc wrote down, under Core ML's names.
    func declaring(_ program: Program) throws -> Program {
        guard let declaration = try declaration(of: program.name) else { return program }
        var interface = try Interface(parsing: declaration["interface"], isLater: true)
        func named(_ roles: [String: Role], _ ports: [String], suffix: String = "") -> [String: Role] {
            roles.reduce(into: [:]) { named, entry in
                let name = MILBuilder.identifier(entry.key)
                if let port = ports.first(where: { $0 == name + suffix }) ?? ports.first(where: { $0 == name }) {
                    named[port] = entry.value
                }
            }
        }
        let inputs = program.inputs.map(\.name)
        interface.inputs = named(interface.inputs, inputs)
        interface.states = named(interface.states, program.states.map(\.name))
        interface.outputs = named(interface.outputs, program.outputs.map(\.name), suffix: CoreMLModel.outputSuffix)
        interface.links = interface.links.map { link in
            Interface.Link(
                input: MILBuilder.identifier(link.input), part: link.part, output: MILBuilder.identifier(link.output))
        }.filter { inputs.contains($0.input) }
        return try program.declaring(interface)
    }
}
