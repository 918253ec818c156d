/// A view of immutable bytes in a mapped file or a buffer, or of bytes that are computed when they are read; it keeps their owner alive.
/// Copying a view copies no bytes.
public struct ByteView: @unchecked Sendable {
    // Safe: the bytes are immutable while the view lives. A map is read-only, and a buffer is not written after it is
    // wrapped.
    private let owner: AnyObject
    private let place: Place
    /// The number of bytes.
    public let count: Int

    private enum Place {
        case memory(UnsafeRawPointer)
        /// An offset in the bytes of a `DerivedBytes`, which is the owner.
        case derived(Int)
    }

    private init(owner: AnyObject, place: Place, count: Int) {
        (self.owner, self.place, self.count) = (owner, place, count)
    }

    /// Creates a view.
    /// - Parameter owner: keeps `start..<start + count` valid and unchanged while it lives.
    public init(owner: AnyObject, start: UnsafeRawPointer, count: Int) {
        self.init(owner: owner, place: .memory(start), count: count)
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

    /// Creates a view of bytes that are computed each time they are read.
    public init(_ derived: DerivedBytes) { self.init(owner: derived, place: .derived(0), count: derived.count) }

    /// The bytes are those of a mapped file.
    var isMapped: Bool { owner is MappedFile }

    /// The bytes are computed each time they are read.
    public var isDerived: Bool { if case .derived = place { true } else { false } }

    /// There are no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Calls `body` with the bytes, which are valid during the call only. Derived bytes are computed in temporary memory.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(owner) {} }
        switch place {
        case .memory(let start): return try body(UnsafeRawBufferPointer(start: start, count: count))
        case .derived:
            let buffer = ByteBuffer(count: count)
            read(0..<count, into: buffer.bytes)
            defer { withExtendedLifetime(buffer) {} }
            return try body(UnsafeRawBufferPointer(buffer.bytes))
        }
    }

    /// Copies a part of the bytes.
    /// - Precondition: the part lies within the view, and `target` has as many bytes.
    public func read(_ range: Range<Int>, into target: UnsafeMutableRawBufferPointer) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a view's part lies outside of the view")
        precondition(target.count == range.count, "a part of a view has another size than its target")
        guard !range.isEmpty else { return }
        switch place {
        case .memory(let start):
            target.copyMemory(from: UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
            withExtendedLifetime(owner) {}
        case .derived(let offset):
            unsafeDowncast(owner, to: DerivedBytes.self)
                .read(offset + range.lowerBound..<offset + range.upperBound, into: target)
        }
    }

    /// The same bytes in memory: the view itself, or a copy of derived bytes.
    public var resident: ByteView {
        guard isDerived else { return self }
        let buffer = ByteBuffer(count: count)
        read(0..<count, into: buffer.bytes)
        return ByteView(buffer)
    }

    /// The bytes that are best read at once: of derived bytes a part that costs no more than its share.
    package var partBytes: Int {
        isDerived ? unsafeDowncast(owner, to: DerivedBytes.self).partBytes : 1
    }

    /// Why derived bytes could not be computed; nil if all that were read could.
    package var failure: (any Error)? { isDerived ? unsafeDowncast(owner, to: DerivedBytes.self).failure : nil }

    /// The location of the bytes: views of equal locations and counts have equal bytes, while both live.
    package var identity: (owner: ObjectIdentifier?, start: UInt) {
        switch place {
        case .memory(let start): (nil, UInt(bitPattern: start))
        case .derived(let offset): (ObjectIdentifier(owner), UInt(offset))
        }
    }

    /// A part of the bytes. Traps outside of `0..<count`: offsets from a file have to be checked before.
    public subscript(range: Range<Int>) -> ByteView {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a view's part lies outside of the view")
        switch place {
        case .memory(let start):
            return ByteView(owner: owner, start: start + range.lowerBound, count: range.count)
        case .derived(let offset):
            return ByteView(owner: owner, place: .derived(offset + range.lowerBound), count: range.count)
        }
    }
}

extension ByteView: Equatable {
    public static func == (left: ByteView, right: ByteView) -> Bool {
        guard left.count == right.count else { return false }
        if left.identity == right.identity { return true }
        guard left.isDerived || right.isDerived else { return isEqual(left, right) }
        // Most tensors differ at their beginning.
        let step = max(comparedBytes, left.partBytes, right.partBytes)
        return stride(from: 0, to: left.count, by: step).allSatisfy { start in
            let part = start..<min(start + step, left.count)
            return isEqual(left[part], right[part])
        }
    }

    private static let comparedBytes = 1 << 16

    private static func isEqual(_ left: ByteView, _ right: ByteView) -> Bool {
        left.withBytes { l in right.withBytes { r in l.elementsEqual(r) } }
    }
}

/// Bytes that are computed when they are read, such as the numbers of a weight that a file has quantized. Nothing of them is kept.
///
/// Where they cannot be computed, because a file is corrupt, all are 255, which is no number as a float of any size, and `failure` has the
/// error.
public final class DerivedBytes: Sendable {
    /// The number of bytes.
    public let count: Int
    /// The size of parts that are computed by themselves, such as rows: a part of a part costs as much as all of it.
    public let partBytes: Int
    private let compute: @Sendable (Range<Int>, UnsafeMutableRawBufferPointer) throws -> Void
    private let firstFailure = Locked<(any Error)?>(nil)
    /// The first error of a read; nil for none.
    public var failure: (any Error)? { firstFailure.withLock { $0 } }

    /// Creates bytes.
    /// - Parameters:
    ///   - partBytes: the size of parts that are computed by themselves.
    ///   - read: writes the bytes of a range, which is not empty, to memory of its size.
    public init(
        count: Int, partBytes: Int,
        read: @escaping @Sendable (Range<Int>, UnsafeMutableRawBufferPointer) throws -> Void
    ) {
        (self.count, self.partBytes, compute) = (count, partBytes, read)
    }

    fileprivate func read(_ range: Range<Int>, into target: UnsafeMutableRawBufferPointer) {
        do {
            try compute(range, target)
        } catch {
            firstFailure.withLock { $0 = $0 ?? error }
            target.initializeMemory(as: UInt8.self, repeating: 255)
        }
    }

    /// Creates bytes of rows that are computed one after the other.
    /// - Parameters:
    ///   - rows: the number of rows.
    ///   - rowBytes: the size of a row.
    ///   - read: writes some rows to memory of their size, which is aligned to 16 bytes.
    public convenience init(
        rows: Int, rowBytes: Int,
        read: @escaping @Sendable (Range<Int>, UnsafeMutableRawBufferPointer) throws -> Void
    ) {
        self.init(count: rows * rowBytes, partBytes: rowBytes) { range, target in
            let whole = range.lowerBound / rowBytes..<(range.upperBound + rowBytes - 1) / rowBytes
            let first = whole.lowerBound * rowBytes
            let isAligned = UInt(bitPattern: target.baseAddress) % 16 == 0
            if range.lowerBound == first, range.count == whole.count * rowBytes, isAligned {
                return try read(whole, target)
            }
            let buffer = ByteBuffer(count: whole.count * rowBytes)
            try read(whole, buffer.bytes)
            target.copyMemory(
                from: UnsafeRawBufferPointer(
                    rebasing: buffer.bytes[range.lowerBound - first..<range.upperBound - first]))
        }
    }
}

/// Zeroed memory, aligned to 64 bytes, which is freed with its last reference.
public final class ByteBuffer: @unchecked Sendable {
    /// The memory. At least one byte is allocated; `bytes.count` is the requested count.
    public let bytes: UnsafeMutableRawBufferPointer
    /// The allocated block around the buffer; nil for a large buffer, which is mapped from the system, zeroed lazily, and unmapped at
    /// the end.
    private let block: UnsafeMutableRawPointer?
    /// The alignment of the first byte, as kernels read vectors.
    private static let alignment = 64
    static let mappedBytes = 1 << 21
    /// The size in bytes from which memory of requests is mapped, as a model's states and values. Much of it is never touched, so zeroing
    /// it at once would be most of the work of opening a model.
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
