import AccelByteIO
public import AccelCPURuntime
public import AccelTensors

/// A tensor: elements in row-major order, with their type and shape. It is a value: a copy shares the memory until one of
/// the two is changed.
///
///     var mask = try AccelTensor([1, 1, 0] as [Int64], 1, 3)
///     try mask.withMutableSpan(of: Int64.self) { $0[2] = 1 }
public struct AccelTensor: Sendable {
    /// The type of the elements.
    public let elementType: ElementType
    /// The shape; scalars have rank 0.
    public private(set) var shape: Shape
    private var memory: TensorMemory

    /// A tensor of an array's elements.
    /// - Parameters:
    ///   - elements: in row-major order; they are copied.
    ///   - dimensions: the shape; without any it is `[elements.count]`.
    /// - Throws: `AccelError` (invalid) if the shape has another number of elements.
    public init<Element: ExecutionElement>(_ elements: [Element], _ dimensions: Int...) throws(AccelError) {
        let shape = Shape(dimensions.isEmpty ? [elements.count] : dimensions)
        let count = try Self.count(of: shape)
        guard count == elements.count else {
            throw AccelError(
                .invalid, "has \(elements.count) elements; the shape \(shape) has \(count)", at: "a tensor")
        }
        try self.init(of: Element.self, shape: shape) { span in
            for index in elements.indices { span[index] = elements[index] }
        }
    }

    /// A tensor whose elements `body` writes. They are zero before.
    /// - Throws: `AccelError` (invalid) for a shape without a size, (memory) without memory; and the errors of `body`.
    public init<Element: ExecutionElement>(
        of type: Element.Type, shape: Shape,
        initializingWith body: (inout MutableSpan<Element>) throws(AccelError) -> Void
    ) throws(AccelError) {
        let count = try Self.count(of: shape)
        let (bytes, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        guard !overflow else { throw AccelError(.invalid, "the shape \(shape) is too large", at: "a tensor") }
        do {
            memory = TensorMemory(try ByteBuffer(allocating: bytes, for: "a tensor"))
        } catch {
            throw AccelError(error, at: "a tensor")
        }
        (elementType, self.shape) = (type.elementType, shape)
        try withMutableSpan(of: type, body)
    }

    /// A tensor of bytes that are not copied, e.g. of a mapped file, or of a buffer of pixels or samples.
    /// - Parameters:
    ///   - bytes: valid and unchanged until `release` is called; aligned to the element type.
    ///   - release: called once, on any thread, when no tensor has the bytes any more; also if this call throws.
    /// - Throws: `AccelError` (invalid) if the number of bytes is not the shape's, or they are not aligned.
    public init(
        adopting bytes: UnsafeRawBufferPointer, elementType: ElementType, shape: Shape,
        release: @escaping @Sendable () -> Void
    ) throws(AccelError) {
        let owner = Releaser(release)
        let count = try Self.count(of: shape)
        let (expected, overflow) = count.multipliedReportingOverflow(by: elementType.byteCount)
        guard !overflow, bytes.count == expected else {
            throw AccelError(
                .invalid, "has \(bytes.count) bytes; \(elementType.rawValue)\(shape) has \(expected)", at: "a tensor")
        }
        guard let start = bytes.baseAddress else {
            self.init(StoredTensor(name: "", elementType: elementType, shape: shape, bytes: ByteView([UInt8]())))
            return
        }
        guard UInt(bitPattern: start) % UInt(elementType.byteCount) == 0 else {
            throw AccelError(
                .invalid, "the bytes do not lie on a boundary of \(elementType.byteCount) bytes", at: "a tensor",
                hint: "copy them to memory that does")
        }
        let view = ByteView(owner: owner, start: start, count: bytes.count)
        self.init(StoredTensor(name: "", elementType: elementType, shape: shape, bytes: view))
    }

    /// The elements of a tensor of a file or a backend, not copied.
    public init(_ tensor: StoredTensor) {
        (elementType, shape) = (tensor.elementType, tensor.shape)
        memory = TensorMemory(tensor.bytes)
    }

    /// The same elements under a name, not copied.
    public func stored(name: String) -> StoredTensor {
        StoredTensor(name: name, elementType: elementType, shape: shape, bytes: memory.view)
    }

    /// Calls `body` with the elements.
    /// - Throws: `AccelError` (invalid) if they are of another type; and the errors of `body`.
    public func withSpan<Element: ExecutionElement, Result>(
        of type: Element.Type, _ body: (Span<Element>) throws(AccelError) -> Result
    ) throws(AccelError) -> Result {
        try check(type)
        let count = shape.count
        return try memory.bytes.withBytes { bytes throws(AccelError) in
            if UInt(bitPattern: bytes.baseAddress) % UInt(MemoryLayout<Element>.alignment) == 0 {
                return try body(Span(_unsafeElements: bytes.assumingMemoryBound(to: Element.self)))
            }
            // A tensor of a file may lie anywhere.
            let copied = (0..<count).map {
                bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Element>.stride, as: type)
            }
            return try body(copied.span)
        }
    }

    /// Calls `body` with the elements, to be changed. They are copied before if another tensor has them, too.
    /// - Throws: `AccelError` (invalid) if they are of another type, (memory) without memory; and the errors of `body`.
    public mutating func withMutableSpan<Element: ExecutionElement, Result>(
        of type: Element.Type, _ body: (inout MutableSpan<Element>) throws(AccelError) -> Result
    ) throws(AccelError) -> Result {
        try check(type)
        if !isKnownUniquelyReferenced(&memory) || memory.buffer == nil {
            do { memory = try memory.copied() } catch { throw AccelError(error, at: "a tensor") }
        }
        guard let buffer = memory.buffer else {
            throw AccelError(.internalFailure, "a copy has no memory", at: "a tensor")
        }
        defer { withExtendedLifetime(memory) {} }
        var span = MutableSpan(_unsafeElements: buffer.bytes.assumingMemoryBound(to: Element.self))
        return try body(&span)
    }

    /// A copy of the elements.
    /// - Throws: `AccelError` (invalid) if they are of another type.
    public func array<Element: ExecutionElement>(of type: Element.Type) throws(AccelError) -> [Element] {
        try withSpan(of: type) { span in span.indices.map { span[$0] } }
    }

    /// The same elements in another shape, not copied.
    /// - Throws: `AccelError` (invalid) if the shape has another number of elements.
    public func reshaped(_ shape: Shape) throws(AccelError) -> AccelTensor {
        guard try Self.count(of: shape) == self.shape.count else {
            throw AccelError(.invalid, "\(typeText) does not have the elements of \(shape)", at: "a tensor")
        }
        var reshaped = self
        reshaped.shape = shape
        return reshaped
    }

    /// Type and shape, e.g. `F32[1,384]`.
    public var typeText: String { "\(elementType.rawValue)\(shape)" }

    private func check<Element: ExecutionElement>(_ type: Element.Type) throws(AccelError) {
        guard type.elementType == elementType else {
            throw AccelError(.invalid, expected: "\(type.elementType.rawValue)", found: "\(typeText)", at: "a tensor")
        }
    }

    private static func count(of shape: Shape) throws(AccelError) -> Int {
        guard shape.dimensions.allSatisfy({ $0 >= 0 }), let count = shape.checkedCount else {
            throw AccelError(.invalid, "the shape \(shape) has no size", at: "a tensor")
        }
        return count
    }
}

/// The bytes of a tensor; those of a buffer may be written while there is one reference.
private final class TensorMemory: Sendable {
    let bytes: ByteView
    /// nil: the bytes belong to others, and are only read.
    let buffer: ByteBuffer?

    init(_ bytes: ByteView) { (self.bytes, buffer) = (bytes, nil) }
    init(_ buffer: ByteBuffer) { (bytes, self.buffer) = (ByteView(buffer), buffer) }

    /// A view that keeps this memory, so that there is more than one reference while it lives.
    var view: ByteView {
        bytes.withBytes { bytes in
            bytes.baseAddress.map { ByteView(owner: self, start: $0, count: bytes.count) } ?? self.bytes
        }
    }

    func copied() throws -> TensorMemory {
        let buffer = try ByteBuffer(allocating: bytes.count, for: "a tensor")
        bytes.withBytes { buffer.bytes.copyMemory(from: $0) }
        return TensorMemory(buffer)
    }
}

private final class Releaser: Sendable {
    private let release: @Sendable () -> Void
    init(_ release: @escaping @Sendable () -> Void) { self.release = release }
    deinit { release() }
}
