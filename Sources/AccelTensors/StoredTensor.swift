public import AccelByteIO

/// A tensor in a file or in memory: row-major, little-endian, not copied.
public struct StoredTensor: Sendable {
    /// The name in the checkpoint or file.
    public let name: String
    /// The type of the elements.
    public let elementType: ElementType
    /// The shape; scalars have rank 0.
    public let shape: Shape
    /// The elements: `shape.count * elementType.byteCount` bytes.
    public let bytes: ByteView
    /// The file that it comes from, for errors; "memory" for a computed tensor.
    public let file: String

    /// Creates a tensor from its bytes.
    /// - Precondition: there are `shape.count * elementType.byteCount` bytes.
    public init(name: String, elementType: ElementType, shape: Shape, bytes: ByteView, file: String = "memory") {
        precondition(bytes.count == shape.count * elementType.byteCount, "a tensor's bytes do not fit its shape")
        self.name = name
        self.elementType = elementType
        self.shape = shape
        self.bytes = bytes
        self.file = file
    }

    /// Creates an F32 tensor. `floats` has `shape.count` elements.
    public init(name: String, floats: [Float], shape: Shape) {
        self.init(name: name, elementType: .float32, shape: shape, bytes: ByteView(floats))
    }

    /// Creates an I64 tensor. `integers` has `shape.count` elements.
    public init(name: String, integers: [Int64], shape: Shape) {
        self.init(name: name, elementType: .int64, shape: shape, bytes: ByteView(integers))
    }

    /// Returns the same elements in memory: the tensor itself, unless its bytes are computed when they are read.
    /// - Throws: `RequestError` if there is too little memory; `FormatError` if the file that they are computed from is corrupt.
    public func resident(threads: Int = 1) throws -> StoredTensor {
        guard bytes.isDerived else { return self }
        let buffer = try ByteBuffer(allocating: bytes.count, for: name)
        let step = max(Self.partBytes / bytes.partBytes, 1) * bytes.partBytes
        let starts = Array(stride(from: 0, to: bytes.count, by: step))
        try Parallel.forEach(starts.count, threads: threads) { index in
            let part = starts[index]..<min(starts[index] + step, bytes.count)
            bytes.read(part, into: UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[part]))
        }
        if let failure = bytes.failure { throw failure }
        return StoredTensor(name: name, elementType: elementType, shape: shape, bytes: ByteView(buffer), file: file)
    }

    private static let partBytes = 1 << 20

    /// Returns the same elements under another name.
    public func renamed(_ name: String) -> StoredTensor {
        StoredTensor(name: name, elementType: elementType, shape: shape, bytes: bytes, file: file)
    }

    /// Returns an error about this tensor: file, name, and the index of an element in row-major order.
    public func error(_ reason: String, index: Int? = nil) -> FormatError {
        FormatError(file: file, location: .tensor(name, index: index), reason: reason)
    }
}
