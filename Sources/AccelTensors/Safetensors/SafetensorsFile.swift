public import AccelByteIO

/// A safetensors file with a checked header; its tensors are views of the mapped file.
public struct SafetensorsFile: Sendable {
    /// Limits of a header; beyond them a file is rejected.
    public struct Limits: Sendable {
        /// The size of the header in bytes.
        public var headerBytes: Int
        /// The number of tensors.
        public var tensors: Int
        /// The rank of a tensor.
        public var rank: Int
        /// The length of a tensor's name in UTF-8.
        public var nameBytes: Int
        /// Creates limits.
        public init(headerBytes: Int = 64 << 20, tensors: Int = 1_000_000, rank: Int = 8, nameBytes: Int = 512) {
            self.headerBytes = headerBytes
            self.tensors = tensors
            self.rank = rank
            self.nameBytes = nameBytes
        }
    }

    /// The path of the file, or its name in errors.
    public let path: String
    /// The whole file.
    public let bytes: ByteView
    /// The bytes before the tensors, in private memory.
    public let header: ByteView
    /// The file's identity when it was mapped; nil for bytes in memory.
    public private(set) var identity: FileIdentity?
    /// The tensors, in the order of their bytes.
    public let tensors: [StoredTensor]
    /// The members of `__metadata__`, in the order of the file.
    public let metadata: [(key: String, value: String)]
    private let indexes: [String: Int]

    /// Maps a file and checks its header.
    /// - Throws: `FormatError` naming the offset or tensor; `RequestError` if the file cannot be read.
    public init(_ path: String) throws {
        let file = try MappedFile(path)
        try self.init(file.bytes, file: path)
        identity = file.identity
    }

    /// Checks a file in memory.
    /// - Parameter bytes: the whole file.
    /// - Parameter file: its name in errors.
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

    /// The tensor of a name; nil if there is none.
    public subscript(name: String) -> StoredTensor? { indexes[name].map { tensors[$0] } }
}
