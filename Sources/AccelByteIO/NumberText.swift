import AccelPlatform

/// Numbers as decimal text, rounded as the C library rounds them, always with a point.
public enum NumberText {
    /// e.g. `0.25` for 1/4 with two digits after the point.
    public static func fixed(_ value: Double, digits: Int) -> String { text("%.\(digits)f", value) }

    /// e.g. `2.5e-01` for 1/4 with one digit after the point.
    public static func scientific(_ value: Double, digits: Int) -> String { text("%.\(digits)e", value) }

    private static func text(_ format: String, _ value: Double) -> String {
        // The largest number has 309 digits before the point.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            _ = withVaList([value]) { vsnprintf(start, buffer.count, format, $0) }
            return String(cString: start)
        }
    }
}
