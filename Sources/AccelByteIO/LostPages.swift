import AccelPlatform

/// Reports of mapped files that were shortened while they were read, or that are on a failing disk.
public enum LostPages {
    struct Map {
        var path: String
        var byteCount: Int
    }
    /// The maps of this process, by address.
    static let maps = Locked<[UInt: Map]>([:])

    /// Installs a handler. A thread that reads a lost page stops, and the returned descriptor becomes readable: then
    /// `read` returns the error, and the process has to end.
    /// - Returns: Nil if the system has no pipe left; then the system ends the process on such a read.
    public static func report() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return cp_report_lost_pages(ends[1]) == 0 ? ends[0] : nil
    }

    /// Returns the error, with the file and the offset of the lost page.
    /// - Parameter descriptor: the descriptor that `report` returned.
    public static func read(from descriptor: Int32) -> FormatError {
        var address: UInt = 0
        let count = withUnsafeMutableBytes(of: &address) { systemRead(descriptor, $0.baseAddress, $0.count) }
        let map = maps.withLock { maps in
            maps.first { $0.key <= address && address - $0.key < UInt($0.value.byteCount) }
        }
        let reason = "became shorter while it was being read, or cannot be read; run again once it is whole"
        guard count == MemoryLayout<UInt>.size, let map else {
            return FormatError(file: "a mapped file", reason: reason)
        }
        return FormatError(file: map.value.path, location: .offset(UInt64(address - map.key)), reason: reason)
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
