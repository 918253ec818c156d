import AccelPlatform

/// Numbers as decimal text, rounded as in the C library, with a decimal point in every locale.
public enum NumberText {
    /// Returns a number such as `0.25`, with a fixed count of digits after the point.
    public static func fixed(_ value: Double, digits: Int) -> String { text("%.\(digits)f", value) }

    /// Returns a number such as `2.5e-01`, with a fixed count of digits after the point.
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
