import AccelByteIO
import AccelTensors

/// `model.bin`: a list of named variables, and second names of some of them.
struct CTranslate2File {
    /// A variable as the file stores it.
    struct Variable: Sendable {
        let name: String
        let elementType: ElementType
        let shape: Shape
        let bytes: ByteView
        /// The offset of the bytes in the file.
        let offset: Int
    }
    /// The version of the container.
    static let version: UInt32 = 6
    static let fileName = "model.bin"

    let specification: (name: String, revision: Int)
    let variables: [Variable]
    /// The variables by their second names.
    let aliases: [(alias: String, target: String)]
    /// All bytes of a file that was read but those of variables with dimensions; empty for others.
    var structure = ByteView([UInt8]())

    // MARK: - Writing

    /// Writes a model.
    /// - Parameter path: the file, in a folder that the caller publishes.
    /// - Returns: the bytes of the weights, and the digest for a list of the folder's files.
    /// - Throws: `RequestError` for a variable that the container cannot hold; `FormatError` for a number that its type cannot.
    static func write(
        _ model: CTranslate2Model, as values: CTranslate2Values, aliases: CTranslate2Aliases, to path: String
    ) throws -> (weightBytes: Int, digest: Digest?) {
        var file = try AtomicFile(replacing: path, as: .internal, isLarge: true, isListed: true)
        let stored = model.variables.filter { aliases.targets[$0.name] == nil }
        var writer = ByteWriter()
        writer.append(version)
        try append(model.specification.name, to: &writer)
        writer.append(UInt32(model.specification.revision))
        writer.append(UInt32(stored.reduce(0) { $0 + (values.isQuantized($1) ? 2 : 1) }))
        var weightBytes = 0
        for variable in stored {
            for section in try values.sections(of: variable) {
                try append(section, to: &writer)
                try file.write(ByteView(writer.bytes))
                writer = ByteWriter()
                for piece in section.pieces { try file.write(piece) }
                if !variable.shape.dimensions.isEmpty { weightBytes += section.byteCount }
            }
        }
        let second = aliases.targets.sorted { $0.key < $1.key }
        writer.append(UInt32(second.count))
        for (alias, target) in second {
            try append(alias, to: &writer)
            try append(target, to: &writer)
        }
        try file.write(ByteView(writer.bytes))
        return (weightBytes, try file.commitListed())
    }

    private static func append(_ section: CTranslate2Values.Section, to writer: inout ByteWriter) throws {
        let dimensions = section.shape.dimensions.compactMap(UInt32.init(exactly:))
        guard let code = section.elementType.ctranslate2Code, let count = UInt32(exactly: section.byteCount),
            dimensions.count == section.shape.rank
        else {
            throw RequestError(
                "CTranslate2: \(section.name) has \(section.byteCount) bytes, and its files hold at most \(UInt32.max) for a "
                    + "variable", code: .unsupportedByFormat,
                candidates: [CTranslate2Exporter.quantization.candidate("int8")])
        }
        try append(section.name, to: &writer)
        writer.append(UInt8(truncatingIfNeeded: dimensions.count))
        dimensions.forEach { writer.append($0) }
        writer.append(code)
        writer.append(count)
    }

    /// Appends a text with its length, which counts the zero at its end.
    private static func append(_ text: String, to writer: inout ByteWriter) throws {
        guard let count = UInt16(exactly: text.utf8.count + 1) else {
            throw RequestError("CTranslate2: the name \(quoted(text)) is too long")
        }
        writer.append(count)
        writer.append(text)
        writer.append(UInt8(0))
    }
}
