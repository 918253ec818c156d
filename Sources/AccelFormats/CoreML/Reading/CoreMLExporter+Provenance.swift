public import AccelByteIO

extension CoreMLExporter {
    /// Reads only the entries `accelc.*` of the model's metadata.
    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        let name = CoreMLPackageWriter.modelName
        guard let bytes = try file(name) else { throw FormatError(file: name, reason: "the export has no such file") }
        var found: [String: String] = [:]
        // Model.description (2), ModelDescription.metadata (100), Metadata.userDefined (100): a map's entries.
        try forEach(2, in: bytes, name) { description in
            try forEach(100, in: description, name) { metadata in
                try forEach(100, in: metadata, name) { entry in
                    var (key, text) = ("", "")
                    var reader = ProtobufReader(entry, file: name)
                    while let field = try reader.next() {
                        if field.number == 1 { key = try field.string() }
                        if field.number == 2 { text = try field.string() }
                    }
                    if key.hasPrefix("accelc.") { found[key] = text }
                }
            }
        }
        return found
    }

    private static func forEach(
        _ number: Int, in message: ByteView, _ file: String, _ body: (ByteView) throws -> Void
    ) throws {
        var reader = ProtobufReader(message, file: file)
        while let field = try reader.next() {
            if field.number == number { try body(try field.bytes()) }
        }
    }
}
