import AccelPlatform

/// Returns the system's message for an error number.
package func systemMessage(_ number: Int32 = errno) -> String {
    String(cString: strerror(number))
}

/// An open file descriptor, which is closed at the end of its lifetime.
package struct FileDescriptor: ~Copyable, Sendable {
    // No class: of a small one that the compiler puts on the stack, release builds of Swift 6.3 freed memory that had not
    // become an object (scripts/stack_objects.py).
    package private(set) var number: Int32

    package init(_ number: Int32) { self.number = number }

    deinit { if number >= 0 { _ = systemClose(number) } }

    /// Writes all of `bytes`. Returns false on a system error, which is in `errno`.
    func writeAll(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))
            let written = write(number, part.baseAddress, part.count)
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return true
    }

    /// Returns the remaining bytes, up to the first error.
    package func readToEnd() -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(number, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return all }
            all += part[..<count]
        }
    }

    /// Lets the system start to write the data to the disk, so that a later sync is short. Does not wait.
    func startWriting() { cp_start_writing(number) }

    /// Closes the descriptor. Returns false if the system reports an error, such as data that could not be written.
    package mutating func close() -> Bool {
        defer { number = -1 }
        return number < 0 || systemClose(number) == 0
    }
}

private func systemClose(_ number: Int32) -> Int32 { close(number) }

extension FileIdentity {
    init(_ status: stat) {
        #if canImport(Darwin)
            let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        self.init(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino),
            size: Int64(truncatingIfNeeded: status.st_size),
            modifiedNanoseconds: Int64(truncatingIfNeeded: modified.tv_sec) &* 1_000_000_000
                &+ Int64(truncatingIfNeeded: modified.tv_nsec),
            changedNanoseconds: Int64(truncatingIfNeeded: changed.tv_sec) &* 1_000_000_000
                &+ Int64(truncatingIfNeeded: changed.tv_nsec))
    }
}

/// Whole pages of memory from the system.
enum SystemPages {
    /// Returns zeroed pages; nil if there are none left.
    /// - Parameter isSparse: most pages may never be touched.
    static func map(_ count: Int, isSparse: Bool = false) -> UnsafeMutableRawPointer? {
        #if canImport(Darwin)
            let flags = MAP_PRIVATE | MAP_ANON
        #else
            let flags = MAP_PRIVATE | MAP_ANONYMOUS
        #endif
        guard let pages = mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0), pages != MAP_FAILED else {
            return nil
        }
        #if os(Linux)
            // Huge pages, if available, reduce page faults by hundreds.
            if !isSparse { madvise(pages, count, MADV_HUGEPAGE) }
        #endif
        return pages
    }

    static func unmap(_ pages: UnsafeMutableRawPointer, _ count: Int) { munmap(pages, count) }

    /// Replaces pages by zeroed ones, which take memory when they are next touched.
    /// - Returns: false if the system call fails.
    static func renew(_ pages: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        #if canImport(Darwin)
            let flags = MAP_PRIVATE | MAP_ANON | MAP_FIXED
        #else
            let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED
        #endif
        return mmap(pages, count, PROT_READ | PROT_WRITE, flags, -1, 0) == pages
    }
}
