/// A view of immutable bytes in a mapped file or a buffer; it keeps their owner alive. Copying a view copies no bytes.
public struct ByteView: @unchecked Sendable {
    // Safe: the bytes are immutable while the view lives. A map is read-only, and a buffer is not written after it is
    // wrapped.
    private let owner: AnyObject
    private let start: UnsafeRawPointer
    /// The number of bytes.
    public let count: Int

    /// Creates a view.
    /// - Parameter owner: keeps `start..<start + count` valid and unchanged while it lives.
    public init(owner: AnyObject, start: UnsafeRawPointer, count: Int) {
        self.owner = owner
        self.start = start
        self.count = count
    }

    /// Creates a view of an array's elements as bytes.
    public init<Element: BitwiseCopyable>(_ elements: [Element]) {
        let buffer = ByteBuffer(count: elements.count * MemoryLayout<Element>.stride)
        elements.withUnsafeBytes { buffer.bytes.copyMemory(from: $0) }
        self.init(buffer)
    }

    /// Creates a view of a buffer, which must not be written any more.
    public init(_ buffer: ByteBuffer) {
        self.init(owner: buffer, start: UnsafeRawPointer(buffer.bytes.baseAddress!), count: buffer.bytes.count)
    }

    /// The bytes are those of a mapped file.
    var isMapped: Bool { owner is MappedFile }

    /// There are no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Calls `body` with the bytes, which are valid during the call only.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(owner) {} }
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// A part of the bytes. Traps outside of `0..<count`: offsets from a file have to be checked before.
    public subscript(range: Range<Int>) -> ByteView {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a view's part lies outside of the view")
        return ByteView(owner: owner, start: start + range.lowerBound, count: range.count)
    }
}

extension ByteView: Equatable {
    public static func == (left: ByteView, right: ByteView) -> Bool {
        left.count == right.count && left.withBytes { l in right.withBytes { r in l.elementsEqual(r) } }
    }
}

/// Zeroed memory, aligned to 64 bytes, which is freed with its last reference.
public final class ByteBuffer: @unchecked Sendable {
    /// The memory. At least one byte is allocated; `bytes.count` is the requested count.
    public let bytes: UnsafeMutableRawBufferPointer
    /// The allocated block around the buffer; nil for a large buffer, which is mapped from the system, zeroed lazily, and unmapped at
    /// the end.
    private let block: UnsafeMutableRawPointer?
    /// Of the first byte, as kernels read vectors.
    private static let alignment = 64
    static let mappedBytes = 1 << 21
    /// Of those that a request asks for, as a model's states and values. Many of them are never touched, so that zeroing
    /// them at once would be most of the work of opening a model.
    static let mappedBytesOfRequests = 1 << 16

    /// Creates a buffer. Traps if there is no memory.
    /// - Parameter count: a number that does not depend on input; `init(allocating:for:)` is for all others.
    public init(count: Int) {
        if count >= Self.mappedBytes, let pages = SystemPages.map(count) {
            bytes = UnsafeMutableRawBufferPointer(start: pages, count: count)
            block = nil
            return
        }
        // Aligned here: glibc before 2.38 does not use freed memory again for blocks of a larger alignment than its own.
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1) + Self.alignment - 1, alignment: 16)
        bytes = UnsafeMutableRawBufferPointer(
            start: block.alignedUp(toMultipleOf: Self.alignment), count: count)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        self.block = block
    }

    /// - Parameter pages: memory from `SystemPages`.
    init(pages: UnsafeMutableRawPointer, count: Int) {
        bytes = UnsafeMutableRawBufferPointer(start: pages, count: count)
        block = nil
    }

    /// Sets all bytes to zero; a large buffer also gives its memory back to the system until it is next touched.
    package func clear() {
        if block == nil, let start = bytes.baseAddress, SystemPages.renew(start, bytes.count) { return }
        _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        if let block { return block.deallocate() }
        bytes.baseAddress.map { SystemPages.unmap($0, bytes.count) }
    }
}
