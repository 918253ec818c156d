package import AccelByteIO
import AccelWeightCompression

extension CacheRecord {
    /// Reads a record from disk.
    /// - Throws: `FormatError` if it is not complete and valid.
    package init(_ bytes: ByteView, file: String) throws {
        let size = bytes.count - Self.trailerBytes
        guard size >= 0 else { throw FormatError(file: file, reason: "a record of \(bytes.count) bytes is cut off") }
        let content = bytes[0..<size]
        var trailer = ByteReader(bytes, file: file, position: size)
        guard try trailer.integer(UInt64.self) == UInt64(size), try trailer.integer(UInt32.self) == content.crc32,
            try trailer.bytes(4).withBytes({ $0.elementsEqual(Self.magic) })
        else { throw trailer.error("length or checksum do not fit: the record is damaged", at: size) }
        try self.init(message: content, file: file)
    }

    /// Reads a record from a server.
    /// - Throws: `FormatError` if it is not an `ActionResult` of this tool.
    package init(message content: ByteView, file: String) throws {
        var files: [File] = []
        var metadata: JSONField?
        var message = ProtobufReader(content, file: file)
        while let field = try message.next() {
            switch field.number {
            case 2: files.append(try File(try field.bytes(), file: file))
            case 5:
                metadata = JSONField(try JSON.parse(try field.bytes(), file: file), file: file)
            default: break
            }
        }
        guard let metadata else { throw FormatError(file: file, reason: "the record says nothing of its key") }
        guard let kind = CacheKey.Kind(rawValue: try metadata["kind"].string()) else {
            throw metadata["kind"].error("is not a kind of action that this tool knows")
        }
        let fields = try metadata["key"].members().map { CacheKey.Field($0.key, try $0.field.string()) }
        var distortion: Distortion?
        if metadata["distortion"].exists {
            var found = Distortion()
            found.count = try metadata["distortion"]["count"].int(in: 0...Int.max)
            found.squaredError = try metadata["distortion"]["squaredError"].double()
            found.energy = try metadata["distortion"]["energy"].double()
            found.maximumError = try metadata["distortion"]["maximumError"].double()
            distortion = found
        }
        self.init(
            key: CacheKey(kind: kind, fields: fields), files: files, model: try metadata["model"].string(),
            distortion: distortion,
            package: metadata["package"].exists ? try metadata["package"].digest() : nil)
    }
}

extension CacheRecord.File {
    /// Reads an `OutputFile`.
    init(_ bytes: ByteView, file: String) throws {
        self.init(path: "", digest: SHA256.digest(of: ""), byteCount: 0)
        var message = ProtobufReader(bytes, file: file)
        while let field = try message.next() {
            switch field.number {
            case 1: path = try field.string()
            case 2:
                var inner = ProtobufReader(try field.bytes(), file: file)
                while let field = try inner.next() {
                    switch field.number {
                    case 1:
                        guard let found = Digest(hexadecimal: try field.string()) else {
                            throw field.error("is not a digest")
                        }
                        digest = found
                    case 2:
                        guard let count = Int(exactly: try field.integer()), count >= 0 else {
                            throw field.error("is not a size")
                        }
                        byteCount = count
                    default: break
                    }
                }
            default: break
            }
        }
        guard PackageFormat.isSafeName(path) else {
            throw FormatError(file: file, reason: "an output file has the name \"\(path.prefix(80))\"")
        }
    }
}
