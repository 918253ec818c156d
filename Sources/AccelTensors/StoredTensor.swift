public import AccelByteIO

/// A tensor as it lies in a file or in memory: row-major, little-endian, not copied.
public struct StoredTensor: Sendable {
    public let name: String
    public let elementType: ElementType
    public let shape: Shape
    /// `shape.count * elementType.byteCount` bytes.
    public let bytes: ByteView
    /// The file it comes from, for errors; "memory" when it was made.
    public let file: String

    public init(name: String, elementType: ElementType, shape: Shape, bytes: ByteView, file: String = "memory") {
        precondition(bytes.count == shape.count * elementType.byteCount, "a tensor's bytes do not fit its shape")
        self.name = name
        self.elementType = elementType
        self.shape = shape
        self.bytes = bytes
        self.file = file
    }

    public init(name: String, floats: [Float], shape: Shape) {
        self.init(name: name, elementType: .float32, shape: shape, bytes: ByteView(floats))
    }

    public init(name: String, integers: [Int64], shape: Shape) {
        self.init(name: name, elementType: .int64, shape: shape, bytes: ByteView(integers))
    }

    /// The same elements under another name.
    public func renamed(_ name: String) -> StoredTensor {
        StoredTensor(name: name, elementType: elementType, shape: shape, bytes: bytes, file: file)
    }

    /// An error about this tensor: file, name, and the index of an element in row-major order.
    public func error(_ reason: String, index: Int? = nil) -> FormatError {
        FormatError(file: file, place: .tensor(name, index: index), reason: reason)
    }
}
