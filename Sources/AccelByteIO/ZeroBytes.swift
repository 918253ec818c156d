import AccelPlatform

extension ByteView {
    /// Returns zeros that take no memory until they are read.
    /// - Throws: `RequestError` (unavailable) if the address space does not suffice.
    public static func zeros(_ count: Int) throws -> ByteView {
        guard count > 0 else { return ByteView(ByteBuffer(count: 0)) }
        let pages = try ZeroPages(count)
        return ByteView(owner: pages, start: pages.start, count: count)
    }
}

private final class ZeroPages {
    let start: UnsafeRawPointer
    private let count: Int

    init(_ count: Int) throws {
        #if canImport(Darwin)
            let flags = MAP_PRIVATE | MAP_ANON
        #else
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #endif
        guard let address = mmap(nil, count, PROT_READ, flags, -1, 0), address != MAP_FAILED else {
            throw RequestError("cannot map \(count) bytes of zeros: \(systemMessage())", status: .unavailable)
        }
        start = UnsafeRawPointer(address)
        self.count = count
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: start), count) }
}
