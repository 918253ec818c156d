import AccelPlatform

/// Finds out which mapped file was shortened while it was read, or lies on a disk that cannot be read.
public enum LostPages {
    struct Map {
        var path: String
        var byteCount: Int
    }
    /// The maps of this process, by their addresses.
    static let maps = Locked<[UInt: Map]>([:])

    /// From now on a thread that reads such a page stops there, and the descriptor that is returned becomes readable: then
    /// `read` tells what happened, and the process has to end.
    /// - Returns: nil when the system has no pipe left; then the system ends the process.
    public static func report() -> Int32? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return cp_report_lost_pages(ends[1]) == 0 ? ends[0] : nil
    }

    /// - Parameter descriptor: what `report` returned.
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
        return FormatError(file: map.value.path, place: .offset(UInt64(address - map.key)), reason: reason)
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
