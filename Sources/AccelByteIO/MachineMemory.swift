import AccelPlatform

/// The memory that the process can use. Systems promise more memory than they have, and kill processes that use it. So
/// every amount that depends on a file or a request is checked here first.
public enum MachineMemory {
    /// The memory of the machine, or the limit of the process's control groups, in bytes.
    public static let total: Int =
        ([physical].compactMap { $0 } + ControlGroup.all.compactMap(\.limit)).filter { $0 > 0 }.min() ?? .max
    /// The limit of the address space in bytes (`ulimit -v`); nil for none.
    private static let addressLimit: Int? = addresses.flatMap { $0 > 0 ? $0 : nil }
    /// The value of `$ACCELC_MEMORY`: the most bytes for one purpose, independent of other memory of the process.
    private static let limit: Int? = environment.flatMap { $0 > 0 ? $0 : nil }

    /// The bytes that the process can still take: those that the machine and each of the process's control groups have
    /// free, reduced by limits.
    public static var available: Int { min(free, limit ?? .max) }

    /// The same, without `$ACCELC_MEMORY`.
    private static var free: Int {
        let used = Self.used
        // Without the system's own figure, other processes are taken to use nothing.
        let machine = lines("/proc/meminfo").first { $0.hasPrefix("MemAvailable:") }.flatMap(kilobytes)
        let groups = ControlGroup.all.compactMap(\.free)
        let addresses = addressLimit.map { $0 - used.addresses }
        return max(0, ([machine ?? total - used.memory, addresses].compactMap { $0 } + groups).min() ?? 0)
    }

    /// The bytes of a line of /proc/meminfo.
    private static func kilobytes(_ line: Substring) -> Int? {
        line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map {
            $0.multipliedReportingOverflow(by: 1024)
        }
        .flatMap { $0.overflow ? nil : $0.partialValue }
    }

    /// Checks that memory suffices.
    /// - Parameters:
    ///   - bytes: the memory that is needed at one time.
    ///   - held: memory that the process already uses for the same purpose.
    ///   - purpose: the subject of the error, such as "the arena of function decoder".
    ///   - available: replaces the measured amount in tests.
    /// - Throws: `RequestError` (unavailable) if there is less.
    public static func require(
        _ bytes: Int, besides held: Int = 0, for purpose: @autoclosure () -> String, available: Int? = nil
    ) throws(RequestError) {
        // Small amounts are not worth a system call, unless a limit is set.
        guard bytes > 1 << 24 || available != nil || limit != nil || addressLimit != nil else { return }
        let available = min(available ?? free, limit.map { $0 - held } ?? .max)
        guard bytes > available else { return }
        throw RequestError("\(purpose()) needs \(bytes) bytes; \(available) are available", status: .unavailable)
    }

    /// Returns a sum of sizes; `Int.max` on overflow.
    public static func sum(_ sizes: some Sequence<Int>) -> Int {
        sizes.reduce(0) { sum, size in
            let (result, overflow) = sum.addingReportingOverflow(size)
            return overflow ? .max : result
        }
    }

    /// The memory of the process without pages of files, and its address space, in bytes.
    private static var used: (memory: Int, addresses: Int) {
        #if os(Linux)
            // In pages: address space, memory, and the part of it that belongs to files.
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

    /// Checks `$ACCELC_MEMORY`.
    /// - Throws: `RequestError` (usage) if it is not a positive number of bytes.
    public static func checkVariable() throws(RequestError) {
        guard let text = variableText, !((Int(text) ?? 0) > 0) else { return }
        throw RequestError(
            "$\(variable) is \(quoted(text)): set it to a number of bytes above 0, such as 8000000000, or leave it unset"
        )
    }

    /// Returns the lines of a small file, which may report a size of 0 as the system's own files do.
    fileprivate static func lines(_ path: String) -> [Substring] {
        let descriptor = FileDescriptor(open(path, O_RDONLY | O_CLOEXEC))
        guard descriptor.number >= 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        let count = read(descriptor.number, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n") : []
    }
}

/// A control group that bounds the memory of the process, of version 2 or 1.
struct ControlGroup {
    /// The folder with its files.
    let folder: String
    /// The names of the files with its limit and its use, and of the line of memory.stat with the file pages that are not in use.
    private let names: (limit: String, used: String, inactive: String)

    init(_ folder: String, isVersion2: Bool) {
        self.folder = folder
        names =
            isVersion2
            ? ("memory.max", "memory.current", "inactive_file ")
            : ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
    }

    private func number(_ name: String) -> Int? {
        MachineMemory.lines("\(folder)/\(name)").first.flatMap { Int($0) }
    }

    /// The most bytes that its processes may take together; nil for no limit.
    var limit: Int? { number(names.limit).flatMap { $0 < Self.unlimited ? $0 : nil } }
    /// Version 1 has a number near 2^63 for no limit.
    private static let unlimited = 1 << 60

    /// The bytes that its processes may still take; nil without a limit. Pages of files that are not in use count as free.
    var free: Int? {
        guard let limit, let used = number(names.used) else { return nil }
        let inactive = MachineMemory.lines("\(folder)/memory.stat").first { $0.hasPrefix(names.inactive) }
            .flatMap { Int($0.dropFirst(names.inactive.count)) }
        return limit - max(0, used - (inactive ?? 0))
    }

    /// The groups of the process, with those above them. A process does not move between groups while it runs.
    static let all: [ControlGroup] = {
        #if os(Linux)
            let root = "/sys/fs/cgroup"
            var groups = [ControlGroup(root, isVersion2: true), ControlGroup("\(root)/memory", isVersion2: false)]
            for line in MachineMemory.lines("/proc/self/cgroup") {
                let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
                guard parts.count == 3, parts[0] == "0" || parts[1].split(separator: ",").contains("memory") else {
                    continue
                }
                var group = String(parts[2])
                while group.count > 1 {
                    let isVersion2 = parts[0] == "0"
                    groups.append(ControlGroup((isVersion2 ? root : "\(root)/memory") + group, isVersion2: isVersion2))
                    group = Files.parentFolder(of: group) ?? "/"
                }
            }
            return groups.filter { $0.limit != nil }
        #else
            return []
        #endif
    }()
}

extension ByteBuffer {
    /// Allocates zeroed memory of a size that depends on a file or a request.
    /// - Parameters:
    ///   - purpose: the subject of the error, such as "the arena of function decoder".
    ///   - isSparse: most of it may never be touched, so that it is taken page by page, and not in huge pages.
    /// - Throws: `RequestError` (unavailable) if memory does not suffice; checked before the allocation.
    public convenience init(
        allocating count: Int, for purpose: @autoclosure () -> String, isSparse: Bool = false
    ) throws(RequestError) {
        try MachineMemory.require(count, for: purpose())
        guard count >= Self.mappedBytesOfRequests else {
            self.init(count: count)
            return
        }
        guard let pages = SystemPages.map(count, isSparse: isSparse) else {
            throw RequestError(
                "\(purpose()) needs \(count) bytes, but the system did not allocate them: \(systemMessage())",
                status: .unavailable)
        }
        self.init(pages: pages, count: count)
    }
}
