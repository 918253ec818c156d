import AccelPlatform

/// The environment variables of the process.
public enum ProcessEnvironment {
    /// The variables of a run within a process, in place of those of the process.
    @TaskLocal package static var replacement: [String: String]?

    /// Returns the value of a variable; nil if it is not set.
    public static func value(_ name: String) -> String? {
        if let replacement { return replacement[name] }
        return getenv(name).map { String(cString: $0) }
    }

    /// Returns the value of a variable; nil if it is not set, or empty.
    public static func text(_ name: String) -> String? { value(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// All variables by name. If a name occurs several times, the first counts, as for `value`.
    public static var all: [String: String] {
        if let replacement { return replacement }
        var all: [String: String] = [:]
        var next = cp_environment()
        while let line = next?.pointee {
            let text = String(cString: line)
            if let end = text.firstIndex(of: "="), all[String(text[..<end])] == nil {
                all[String(text[..<end])] = String(text[text.index(after: end)...])
            }
            next = next?.successor()
        }
        return all
    }

    /// The path of the executable; nil if the system does not tell.
    public static var executable: String? {
        var path = [CChar](repeating: 0, count: 4096)
        #if canImport(Darwin)
            var size = UInt32(path.count)
            let isFound = _NSGetExecutablePath(&path, &size) == 0
        #else
            let isFound = (1..<path.count).contains(readlink("/proc/self/exe", &path, path.count - 1))
        #endif
        return isFound ? String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// The folder for temporary files: `$TMPDIR`, or `/tmp`.
    public static var temporaryFolder: String { text("TMPDIR") ?? "/tmp" }
}
