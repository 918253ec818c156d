import AccelByteIO

/// The address of memory that may be replaced by other memory between runs.
struct MemoryLocation: @unchecked Sendable {
    // The owner of the cell replaces the address between runs only.
    let cell: UnsafePointer<UnsafeMutableRawPointer>
    /// Bytes from the address in the cell.
    var offset = 0

    var start: UnsafeMutableRawPointer { cell.pointee + offset }
}

/// An address that operands refer to.
final class AddressCell: @unchecked Sendable {
    // Its owner sets it between runs only; a weight's is set once, before anything runs on it.
    let pointer: UnsafeMutablePointer<UnsafeMutableRawPointer>
    /// Owns the memory at the address.
    private var owner: AnyObject?

    init(_ buffer: ByteBuffer) {
        pointer = .allocate(capacity: 1)
        // A buffer's memory is there even when it is empty.
        pointer.initialize(to: buffer.bytes.baseAddress.unsafelyUnwrapped)
        owner = buffer
    }

    init(_ address: UnsafeMutableRawPointer, keptBy owner: AnyObject) {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: address)
        self.owner = owner
    }

    deinit { pointer.deallocate() }

    var location: MemoryLocation { MemoryLocation(cell: UnsafePointer(pointer)) }

    func set(_ address: UnsafeMutableRawPointer, keptBy owner: AnyObject?) {
        pointer.pointee = address
        self.owner = owner
    }
}

/// The memory of intermediate values and of scratch. The functions of a session share one, since one of them runs at a
/// time: it is as large as the largest function needs.
final class SharedArena: @unchecked Sendable {
    // Grows between runs only.
    private let address: AddressCell
    private(set) var buffer: ByteBuffer
    /// Whose results it holds; nil while a run is under way, and after one of an executor.
    var user: ObjectIdentifier?

    init() {
        buffer = ByteBuffer(count: 64)
        address = AddressCell(buffer)
    }

    var cell: UnsafePointer<UnsafeMutableRawPointer> { UnsafePointer(address.pointer) }
    var byteCount: Int { buffer.bytes.count }

    /// Grows the arena to at least this size and keeps its contents.
    /// - Throws: `RequestError` (unavailable) when there is not as much memory.
    func reserve(_ count: Int, for purpose: String) throws {
        guard count > buffer.bytes.count else { return }
        let larger = try ByteBuffer(allocating: count, for: purpose)
        larger.bytes.copyMemory(from: UnsafeRawBufferPointer(buffer.bytes))
        buffer = larger
        address.set(larger.bytes.baseAddress.unsafelyUnwrapped, keptBy: larger)
    }
}
