import AccelByteIO
import AccelPlatform

/// Child processes of the tool, which end with it when it is interrupted.
public enum HelperProcesses {
    private static let numbers = Locked<Set<Int32>>([])

    /// Starts a program and waits for it.
    /// - Parameters:
    ///   - start: returns the process identifier.
    ///   - wait: returns when the process has ended.
    public static func running<Result>(
        _ start: () throws -> Int32, _ wait: (Int32) throws -> Result
    ) rethrows -> Result {
        // Under the lock, so that no running process is unknown.
        let number = try numbers.withLock { numbers in
            let number = try start()
            numbers.insert(number)
            return number
        }
        defer { numbers.withLock { _ = $0.remove(number) } }
        return try wait(number)
    }

    /// Ends all child processes with their descendants, and starts no new ones while `body` runs.
    public static func endingAll<Result>(_ body: () -> Result) -> Result {
        numbers.withLock { numbers in
            let all = numbers.flatMap { [$0] + descendants(of: $0) }
            // A program that asks for a passphrase gets time to restore the terminal's echo.
            all.forEach { kill($0, SIGTERM) }
            for _ in 0..<30 where numbers.contains(where: { kill($0, 0) == 0 }) { usleep(10_000) }
            all.forEach { kill($0, SIGKILL) }
            return body()
        }
    }

    /// Returns all descendants of a process, as far as the system reports them.
    private static func descendants(of number: Int32) -> [Int32] {
        var children = [Int32](repeating: 0, count: 64)
        #if canImport(Darwin)
            let count = proc_listchildpids(number, &children, Int32(4 * children.count))
            children = Array(children.prefix(max(0, Int(count))))
        #else
            let list = FileDescriptor(open("/proc/\(number)/task/\(number)/children", O_RDONLY | O_CLOEXEC))
            var text = [UInt8](repeating: 0, count: 1024)
            let count = list.number < 0 ? 0 : read(list.number, &text, text.count)
            children = text.prefix(max(0, count)).split(separator: UInt8(ascii: " ")).compactMap {
                Int32(String(decoding: $0, as: UTF8.self))
            }
        #endif
        return children.flatMap { [$0] + descendants(of: $0) }
    }
}
