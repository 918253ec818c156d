import AccelPlatform

/// How much memory a process can have here. Systems promise more than they have, and end the process that takes it at its word: so
/// whoever needs memory by a number from a file or a request asks here before.
public enum MachineMemory {
    /// Bytes that the machine has, or that the control groups of the process leave to it.
    private static let total: Int = ([physical].compactMap { $0 } + controlGroups).filter { $0 > 0 }.min() ?? .max
    /// Bytes of addresses that the process may take in all (`ulimit -v`).
    private static let addressLimit: Int? = addresses.flatMap { $0 > 0 ? $0 : nil }
    /// `$ACCELC_MEMORY`: bytes that one thing may need, whatever the process has taken already.
    private static let limit: Int? = environment.flatMap { $0 > 0 ? $0 : nil }

    /// Bytes that the process can still take: what the machine has without what the process holds, or less by its limits.
    public static var available: Int { min(free, limit ?? .max) }

    /// The same without `$ACCELC_MEMORY`.
    private static var free: Int {
        let used = Self.used
        return max(0, min(total - used.memory, addressLimit.map { $0 - used.addresses } ?? .max))
    }

    /// - Parameters:
    ///   - bytes: what is needed in all, at one time.
    ///   - held: what the process has taken for the same purpose already.
    ///   - purpose: for the error, e.g. "the arena of function decoder".
    ///   - available: for tests.
    /// - Throws: `RequestError` (unavailable) when there is less.
    public static func require(
        _ bytes: Int, besides held: Int = 0, for purpose: @autoclosure () -> String, available: Int? = nil
    ) throws(RequestError) {
        // What is small is not worth asking the system, unless a limit says so.
        guard bytes > 1 << 24 || available != nil || limit != nil || addressLimit != nil else { return }
        let available = min(available ?? free, limit.map { $0 - held } ?? .max)
        guard bytes > available else { return }
        throw RequestError("\(purpose()) needs \(bytes) bytes; \(available) are available", status: .unavailable)
    }

    /// A sum of sizes; the largest number where it overflows, which no machine has.
    public static func sum(_ sizes: some Sequence<Int>) -> Int {
        sizes.reduce(0) { sum, size in
            let (result, overflow) = sum.addingReportingOverflow(size)
            return overflow ? .max : result
        }
    }

    /// What the process holds: memory without the pages of files, and addresses.
    private static var used: (memory: Int, addresses: Int) {
        #if os(Linux)
            // Pages: addresses, memory, and how much of that are files' pages.
            let counts = lines("/proc/self/statm").first?.split(separator: " ").prefix(3).compactMap { Int($0) } ?? []
            guard counts.count == 3 else { return (0, 0) }
            let size = Int(sysconf(Int32(_SC_PAGESIZE)))
            return ((counts[1] - counts[2]) * size, counts[0] * size)
        #else
            return (0, 0)
        #endif
    }

    private static var physical: Int? {
        let (pages, size) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
        return pages > 0 && size > 0 ? Int(pages) * Int(size) : nil
    }

    private static var addresses: Int? {
        var limit = rlimit()
        #if canImport(Glibc)
            guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else { return nil }
        #else
            guard getrlimit(RLIMIT_AS, &limit) == 0 else { return nil }
        #endif
        return Int(exactly: limit.rlim_cur)
    }

    private static let variable = "ACCELC_MEMORY"
    private static var variableText: String? { ProcessEnvironment.text(variable) }
    private static var environment: Int? { variableText.flatMap { Int($0) } }

    /// - Throws: `RequestError` (usage) where `$ACCELC_MEMORY` is no number of bytes.
    public static func checkVariable() throws(RequestError) {
        guard let text = variableText, !((Int(text) ?? 0) > 0) else { return }
        throw RequestError(
            "$\(variable) is \(quoted(text)): set it to a number of bytes above 0, such as 8000000000, or leave it unset"
        )
    }

    /// The limits of the groups that the process is in, version 2 and 1.
    private static var controlGroups: [Int] {
        #if os(Linux)
            let root = "/sys/fs/cgroup"
            var paths = ["\(root)/memory.max", "\(root)/memory/memory.limit_in_bytes"]
            for line in lines("/proc/self/cgroup") {
                let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
                guard parts.count == 3, parts[0] == "0" || parts[1].split(separator: ",").contains("memory") else {
                    continue
                }
                var group = String(parts[2])
                while group.count > 1 {
                    paths.append(
                        parts[0] == "0" ? "\(root)\(group)/memory.max" : "\(root)/memory\(group)/memory.limit_in_bytes")
                    group = Files.parentFolder(of: group) ?? "/"
                }
            }
            return paths.compactMap { lines($0).first.flatMap { Int($0) } }
        #else
            return []
        #endif
    }

    /// Of a small file, which may say that it has no bytes, as those of the system do.
    private static func lines(_ path: String) -> [Substring] {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_CLOEXEC))
        guard descriptor.number >= 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor.number, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n") : []
    }
}

extension ByteBuffer {
    /// Zeroed bytes, as many as a file or a request asks for.
    /// - Parameter purpose: for the error, e.g. "the arena of function decoder".
    /// - Throws: `RequestError` (unavailable) when there are not so many, before any is taken.
    public convenience init(allocating count: Int, for purpose: @autoclosure () -> String) throws(RequestError) {
        try MachineMemory.require(count, for: purpose())
        guard count >= Self.mappedBytes else {
            self.init(count: count)
            return
        }
        guard let pages = SystemPages.map(count) else {
            throw RequestError(
                "\(purpose()) needs \(count) bytes, which the system does not give: \(systemMessage())",
                status: .unavailable)
        }
        self.init(pages: pages, count: count)
    }
}
