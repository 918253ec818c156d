public import AccelByteIO
public import AccelWeightCompression

/// A cached result: its key in readable form, and the blobs that hold it.
///
/// On disk it is an `ActionResult` of the Remote Execution API, so that common cache servers can store it, with a
/// trailer that shows whether the record is complete.
public struct CacheRecord: Equatable, Sendable {
    /// A file of the result.
    public struct File: Equatable, Sendable {
        /// The name of the file in the result.
        public var path: String
        /// SHA-256 of its bytes, which is the name of the blob.
        public var digest: Digest
        /// The size in bytes.
        public var byteCount: Int
    }
    /// The key of the result.
    public var key: CacheKey
    /// The files of the result.
    public var files: [File]
    /// The name of the model when the record was made, for listings; not part of the key.
    public var model: String
    /// The error of the encoding, for a tensor.
    public var distortion: Distortion?
    /// The package digest, for a package.
    public var package: Digest?

    static let magic = Array("ACR1".utf8)
    /// The layout of the trailer, which covers all bytes before it: length u64, CRC-32 u32, magic.
    static let trailerBytes = 16

    /// The record as it is stored on disk.
    package var encoded: ByteView {
        let message = message
        var writer = ByteWriter()
        writer.append(message)
        writer.append(UInt64(message.count))
        writer.append(message.crc32)
        writer.append(Self.magic)
        return writer.view
    }

    /// The `ActionResult` without a trailer, as cache servers store it.
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
