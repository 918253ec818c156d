public import AccelByteIO
public import AccelWeightCompression

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

    static let magic = Array("ACR1".utf8)
    /// Length u64, CRC-32 u32, magic; all over the bytes before.
    static let trailerBytes = 16

    /// As it lies on the disk.
    package var encoded: ByteView {
        let message = message
        var writer = ByteWriter()
        writer.append(message)
        writer.append(UInt64(message.count))
        writer.append(message.crc32)
        writer.append(Self.magic)
        return writer.view
    }

    /// The `ActionResult` alone, as a cache server keeps it.
    package var message: ByteView {
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
        return message.view
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
}
