import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Programs that the tool has started and waits for: they end with it when it is interrupted.
public enum HelperProcesses {
    private static let numbers = Mutex<Set<Int32>>([])

    /// Waits for a program in `body`.
    public static func waiting<Result>(for number: Int32, _ body: () throws -> Result) rethrows -> Result {
        numbers.withLock { _ = $0.insert(number) }
        defer { numbers.withLock { _ = $0.remove(number) } }
        return try body()
    }

    static func endAll() { numbers.withLock { $0.forEach { kill($0, SIGKILL) } } }
}
