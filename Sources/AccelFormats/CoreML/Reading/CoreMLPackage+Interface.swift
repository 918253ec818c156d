import AccelByteIO
package import AccelPrograms

extension CoreMLExporter {
    /// The metadata key for the part and the interface of each function, in the functions' order.
    public static let interfaceKey = "accelc.interface"

    /// Returns the metadata entry; none if no function has a known interface.
    static func interfaceNotes(_ functions: [FrozenProgram]) -> [MILNamed<String>] {
        guard functions.contains(where: { $0.program.interface != Interface() }) else { return [] }
        let rows = functions.map { function -> JSON in
            ["part": .string(function.program.name), "interface": function.program.interface.json]
        }
        return [MILNamed(interfaceKey, JSON.array(rows).text())]
    }
}

extension CoreMLPackage {
    /// Returns the recorded part and interface of a function; nil for packages of other tools.
    /// - Throws: `FormatError` if the metadata entry is corrupt.
    private func declaration(of function: String) throws -> JSONField? {
        let key = CoreMLExporter.interfaceKey
        guard let text = model.metadata.other.first(where: { $0.name == key })?.content,
            let index = model.interfaces.firstIndex(where: { $0.function == function })
        else { return nil }
        let file = "\(path), \(key)"
        let rows = try JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: file), file: file).array()
        // The export may have merged several shapes into one function.
        return rows.indices.contains(index) ? rows[index] : nil
    }

    /// Returns the name of the exported model's part that a function computes; nil if the package does not record it.
    /// - Throws: `FormatError` if the metadata entry is corrupt.
    public func part(of function: String) throws -> String? { try declaration(of: function)?["part"].string() }

    /// Returns the recorded interface of a function, under the model's names; nil for packages of other tools.
    /// - Throws: `FormatError` if the metadata entry is corrupt.
    package func interface(of function: String) throws -> Interface? {
        try declaration(of: function).map { try Interface(parsing: $0["interface"], isLater: true) }
    }

    /// Returns the program of a function with the recorded roles, under Core ML's names.
    func declaring(_ program: Program) throws -> Program {
        guard var interface = try interface(of: program.name) else { return program }
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
