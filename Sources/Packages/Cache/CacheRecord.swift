public import ByteIO
public import WeightCompression

/// What the cache remembers of a result: the key in readable form, and the blobs that hold the result.
///
/// On disk it is an `ActionResult` of the Remote Execution API, so that a common cache server can keep it, and a
/// trailer that tells a whole record from a part of one.
public struct CacheRecord: Equatable, Sendable {
    public struct File: Equatable, Sendable {
        /// The name in the result.
        public var path: String
        /// SHA-256, the blob's name.
        public var digest: Digest
        public var byteCount: Int
    }
    public var key: CacheKey
    public var files: [File]
    /// What the model was called when the record was made: for people, not part of the key.
    public var model: String
    /// Of a tensor.
    public var distortion: Distortion?
    /// Package digest, of a package.
    public var package: Digest?

    private static let magic = Array("ACR1".utf8)
    /// Length u64, CRC-32 u32, magic; all over the bytes before.
    private static let trailerBytes = 16

    package var encoded: ByteView {
        var message = ProtobufWriter()
        for file in files {
            message.message(2) { output in
                output.string(1, file.path)
                output.message(2) { digest in
                    digest.string(1, file.digest.description)
                    digest.integer(2, Int64(file.byteCount))
                }
            }
        }
        message.string(5, metadata.text())
        message.message(9) { $0.string(1, "accelc \(Tool.version)") }
        var writer = ByteWriter()
        writer.append(message.bytes)
        writer.append(UInt64(message.bytes.count))
        writer.append(message.view.crc32)
        writer.append(Self.magic)
        return writer.view
    }

    private var metadata: JSON {
        var members: [JSON.Member] = [
            .init("kind", .string(key.kind.rawValue)),
            .init("key", .object(key.fields.map { JSON.Member($0.name, .string($0.value)) })),
            .init("model", .string(model)),
        ]
        if let distortion {
            members.append(
                .init(
                    "distortion",
                    [
                        "count": .integer(Int64(distortion.count)), "squaredError": .number(distortion.squaredError),
                        "energy": .number(distortion.energy), "maximumError": .number(distortion.maximumError),
                    ]))
        }
        if let package { members.append(.init("package", .string(package.description))) }
        return .object(members)
    }

    init(
        key: CacheKey, files: [File], model: String, distortion: Distortion? = nil, package: Digest? = nil
    ) {
        self.key = key
        self.files = files
        self.model = model
        self.distortion = distortion
        self.package = package
    }

    /// - Throws: `FormatError` for anything but a whole record.
    package init(_ bytes: ByteView, file: String) throws {
        let size = bytes.count - Self.trailerBytes
        guard size >= 0 else { throw FormatError(file: file, reason: "a record of \(bytes.count) bytes is cut off") }
        let content = bytes[0..<size]
        var trailer = ByteReader(bytes, file: file, position: size)
        guard try trailer.integer(UInt64.self) == UInt64(size), try trailer.integer(UInt32.self) == content.crc32,
            try trailer.bytes(4).withBytes({ $0.elementsEqual(Self.magic) })
        else { throw trailer.error("length or checksum do not fit: the record is damaged", at: size) }

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
