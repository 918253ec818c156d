import AccelPlatform

/// The time of day, which may jump.
public enum WallClock {
    /// The current time in nanoseconds since the start of 1970, UTC.
    public static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Returns a time in UTC in ISO 8601, such as `2026-01-31T09:05:00Z`.
    public static func text(_ nanoseconds: Int64) -> String {
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var date = tm()
        guard gmtime_r(&seconds, &date) != nil else { return "?" }
        func digits(_ number: Int32, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(date.tm_year + 1900, 4))-\(digits(date.tm_mon + 1, 2))-\(digits(date.tm_mday, 2))"
            + "T\(digits(date.tm_hour, 2)):\(digits(date.tm_min, 2)):\(digits(date.tm_sec, 2))Z"
    }
}
