/// A range of bytes that somebody keeps alive: a part of a mapped file, or of a buffer in memory. Copying a view
/// copies no bytes.
public struct ByteView: @unchecked Sendable {
    // Immutable for as long as the view lives: a map is read-only, a buffer is not written after it is wrapped.
    private let owner: AnyObject
    private let start: UnsafeRawPointer
    public let count: Int

    /// - Parameter owner: keeps `start..<start + count` valid and unchanged while it lives.
    public init(owner: AnyObject, start: UnsafeRawPointer, count: Int) {
        self.owner = owner
        self.start = start
        self.count = count
    }

    /// The bytes of an array, taken over without a second copy where possible.
    public init<Element: BitwiseCopyable>(_ elements: [Element]) {
        let buffer = ByteBuffer(count: elements.count * MemoryLayout<Element>.stride)
        elements.withUnsafeBytes { buffer.bytes.copyMemory(from: $0) }
        self.init(buffer)
    }

    /// The bytes of a buffer that nobody will write to any more.
    public init(_ buffer: ByteBuffer) {
        self.init(owner: buffer, start: UnsafeRawPointer(buffer.bytes.baseAddress!), count: buffer.bytes.count)
    }

    public var isEmpty: Bool { count == 0 }

    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(owner) {} }
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The part `range` of the bytes. Traps outside of `0..<count`: check offsets that come from a file before.
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

/// Bytes in memory on a 64-byte boundary, zeroed at first, freed with their last user.
public final class ByteBuffer: @unchecked Sendable {
    /// Never empty in memory (at least one byte is allocated); `bytes.count` is the count asked for.
    public let bytes: UnsafeMutableRawBufferPointer
    /// Large ones come from the system, zeroed and not touched yet, and go back to it.
    private let isMapped: Bool
    static let mappedBytes = 1 << 21

    /// - Parameter count: one that no input decides; for others there is `init(allocating:for:)`.
    public init(count: Int) {
        if count >= Self.mappedBytes, let pages = SystemPages.map(count) {
            bytes = UnsafeMutableRawBufferPointer(start: pages, count: count)
            isMapped = true
            return
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
        isMapped = false
    }

    /// - Parameter pages: as `SystemPages` gives them.
    init(pages: UnsafeMutableRawPointer, count: Int) {
        bytes = UnsafeMutableRawBufferPointer(start: pages, count: count)
        isMapped = true
    }

    deinit {
        guard let start = bytes.baseAddress else { return }
        if isMapped { SystemPages.unmap(start, bytes.count) } else { start.deallocate() }
    }
}
