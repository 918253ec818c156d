import AccelPlatform

/// The environment variables of the process.
public enum ProcessEnvironment {
    /// Returns the value of a variable; nil if it is not set.
    public static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Returns the value of a variable; nil if it is not set, or empty.
    public static func text(_ name: String) -> String? { value(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// All variables by name. If a name occurs several times, the first counts, as for `value`.
    public static var all: [String: String] {
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

    /// The folder for temporary files: `$TMPDIR`, or `/tmp`.
    public static var temporaryFolder: String { text("TMPDIR") ?? "/tmp" }
}
