#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension ByteView {
    /// `count` zeros that take no memory until they are read.
    /// - Throws: `RequestError` when there is no room for them in the address space.
    public static func zeros(_ count: Int) throws(RequestError) -> ByteView {
        let pages = ZeroPages(count: count)
        guard let start = pages.start else {
            throw RequestError("no room for \(count) bytes: \(systemMessage())", status: .unavailable)
        }
        return ByteView(owner: pages, start: start, count: count)
    }
}

private final class ZeroPages {
    let start: UnsafeRawPointer?
    private let count: Int

    init(count: Int) {
        self.count = max(count, 1)
        let pages = mmap(nil, self.count, PROT_READ, MAP_PRIVATE | MAP_ANON, -1, 0)
        start = pages == MAP_FAILED ? nil : UnsafeRawPointer(pages)
    }

    deinit { start.map { _ = munmap(UnsafeMutableRawPointer(mutating: $0), count) } }
}
