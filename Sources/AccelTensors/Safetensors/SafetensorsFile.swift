public import AccelByteIO

/// A safetensors file whose header has been checked; its tensors are views into the map.
public struct SafetensorsFile: Sendable {
    /// What a header may cost before it is refused.
    public struct Limits: Sendable {
        public var headerBytes: Int
        public var tensors: Int
        public var rank: Int
        public var nameBytes: Int
        public init(headerBytes: Int = 64 << 20, tensors: Int = 1_000_000, rank: Int = 8, nameBytes: Int = 512) {
            self.headerBytes = headerBytes
            self.tensors = tensors
            self.rank = rank
            self.nameBytes = nameBytes
        }
    }

    public let path: String
    /// The whole file.
    public let bytes: ByteView
    /// All before the tensors, as it was parsed: in memory of its own.
    public let header: ByteView
    /// As it was when the file was mapped; nil for bytes in memory.
    public private(set) var identity: FileIdentity?
    /// In the order of their bytes.
    public let tensors: [StoredTensor]
    public let metadata: [(key: String, value: String)]
    private let indexes: [String: Int]

    public init(_ path: String) throws {
        let file = try MappedFile(path)
        try self.init(file.bytes, file: path)
        identity = file.identity
    }

    /// - Parameter bytes: the whole file.
    /// - Parameter file: what errors call it.
    public init(_ bytes: ByteView, file: String, limits: Limits = Limits()) throws(FormatError) {
        let header = try SafetensorsHeader(parsing: bytes, file: file, limits: limits)
        path = file
        self.bytes = bytes
        self.header = header.bytes
        metadata = header.metadata
        tensors = header.entries.map { entry in
            StoredTensor(
                name: entry.name, elementType: entry.elementType, shape: entry.shape,
                bytes: bytes[header.dataStart + entry.begin..<header.dataStart + entry.end], file: file)
        }
        var indexes = [String: Int](minimumCapacity: tensors.count)
        for (index, tensor) in tensors.enumerated() { indexes[tensor.name] = index }
        self.indexes = indexes
    }

    public subscript(name: String) -> StoredTensor? { indexes[name].map { tensors[$0] } }
}
