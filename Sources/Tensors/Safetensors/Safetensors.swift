public import ByteIO

/// A safetensors file whose header has been checked; its tensors are views into the map.
public struct SafetensorsFile: Sendable {
    public let path: String
    /// In the order of their bytes.
    public let tensors: [StoredTensor]
    public let metadata: [(key: String, value: String)]
    public init(_ path: String) throws { fatalError("helper") }
    public subscript(name: String) -> StoredTensor? { fatalError("helper") }
}

/// Writes a safetensors file: tensors must be announced (so that the header can be written) before their bytes are appended.
public struct SafetensorsWriter: ~Copyable {
    public struct Entry: Sendable {
        public var name: String
        public var elementType: ElementType
        public var shape: Shape
        public init(name: String, elementType: ElementType, shape: Shape) {
            self.name = name
            self.elementType = elementType
            self.shape = shape
        }
    }
    public init(replacing path: String, entries: [Entry], metadata: [(key: String, value: String)] = []) throws { fatalError("helper") }
    /// The bytes of the next entry, or a part of them.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) throws { fatalError("helper") }
    /// - Throws: when the bytes appended are not those announced.
    public consuming func finish() throws { fatalError("helper") }
    /// Writes all of `tensors` in one call.
    public static func write(_ tensors: [StoredTensor], to path: String, metadata: [(key: String, value: String)] = []) throws { fatalError("helper") }
}
