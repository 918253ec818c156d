import AccelByteIO

/// A date and a time of day, which templates print by `strftime_now`.
public struct ChatTime: Equatable, Sendable {
    /// The year, month (1 to 12) and day (1 to 31) of the Gregorian calendar.
    public let year, month, day: Int
    /// The time of day.
    public let hour, minute, second: Int

    /// Creates a time. Numbers outside of the calendar are moved into it; years are those of Python, 1 to 9999.
    public init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        func within(_ range: ClosedRange<Int>, _ number: Int) -> Int {
            min(max(number, range.lowerBound), range.upperBound)
        }
        (self.year, self.month, self.day) = (within(1...9999, year), within(1...12, month), within(1...31, day))
        (self.hour, self.minute, self.second) = (within(0...23, hour), within(0...59, minute), within(0...59, second))
    }

    /// Creates a time from the seconds since the start of 1970, UTC.
    /// - Parameter offset: the seconds that local time is ahead of UTC.
    public init(secondsSince1970 seconds: Int64, offset: Int = 0) {
        let local = Int(min(max(seconds, -Self.mostSeconds), Self.mostSeconds)) + min(max(offset, -86400), 86400)
        let days = (local - Self.modulo(local, 86400)) / 86400
        let time = Self.modulo(local, 86400)
        // Days are counted from March on, in eras of 400 years: 146097 days.
        let shifted = days + 719_468
        let dayOfEra = Self.modulo(shifted, 146_097)
        let era = (shifted - dayOfEra) / 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        self.init(
            year: era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1, hour: time / 3600, minute: time / 60 % 60,
            second: time % 60)
    }

    /// The seconds of the years that a time may have, and more.
    private static let mostSeconds: Int64 = 400_000_000_000

    /// The current time in UTC.
    public static var now: ChatTime { ChatTime(secondsSince1970: WallClock.nanoseconds / 1_000_000_000) }

    private static func modulo(_ number: Int, _ divisor: Int) -> Int {
        let remainder = number % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }

    private static let monthNames = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
    private static let dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]

    private var isLeapYear: Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    private var monthIndex: Int { Self.modulo(month - 1, 12) }
    private var dayOfYear: Int { Self.daysBefore[monthIndex] + day + (month > 2 && isLeapYear ? 1 : 0) }

    /// The day of the week, 0 for Sunday.
    private var weekday: Int {
        let before = year - 1
        return Self.modulo(before * 365 + before / 4 - before / 100 + before / 400 + dayOfYear, 7)
    }

    /// Returns the time as C's `strftime` writes it in English. Unknown directives stay as they are.
    func formatted(_ format: Text) -> Text {
        var (result, index) = (Text(), 0)
        while index < format.count {
            guard format[index] == "%", index + 1 < format.count else {
                result.append(format[index])
                index += 1
                continue
            }
            let flag = format[index + 1] == "-" && index + 2 < format.count
            let letter = format[index + (flag ? 2 : 1)]
            let shown = directive(letter, isPadded: !flag)
            let end = index + (flag ? 3 : 2)
            result += shown.map { Text($0) } ?? Array(format[index..<end])
            index = end
        }
        return result
    }

    private func directive(_ letter: Unicode.Scalar, isPadded: Bool) -> String? {
        func digits(_ number: Int, _ width: Int = 2, blank: Character = "0") -> String {
            let text = String(number)
            return String(repeating: blank, count: isPadded ? max(0, width - text.count) : 0) + text
        }
        let monthName = Self.monthNames[monthIndex]
        let dayName = Self.dayNames[weekday]
        let hourOfHalf = Self.modulo(hour - 1, 12) + 1
        return switch letter {
        case "Y", "G": String(year)
        case "y": digits(Self.modulo(year, 100))
        case "C": digits(year / 100)
        case "m": digits(month)
        case "d": digits(day)
        case "e": digits(day, blank: " ")
        case "j": digits(dayOfYear, 3)
        case "H": digits(hour)
        case "I": digits(hourOfHalf)
        case "k": digits(hour, blank: " ")
        case "l": digits(hourOfHalf, blank: " ")
        case "M": digits(minute)
        case "S": digits(second)
        case "f": "000000"
        case "p": hour < 12 ? "AM" : "PM"
        case "P": hour < 12 ? "am" : "pm"
        case "B": monthName
        case "b", "h": String(monthName.prefix(3))
        case "A": dayName
        case "a": String(dayName.prefix(3))
        case "w": String(weekday)
        case "u": String(weekday == 0 ? 7 : weekday)
        case "U": digits((dayOfYear + 6 - weekday) / 7)
        case "W": digits((dayOfYear + 6 - Self.modulo(weekday - 1, 7)) / 7)
        case "D": "\(digits(month))/\(digits(day))/\(digits(Self.modulo(year, 100)))"
        case "x": "\(digits(month))/\(digits(day))/\(digits(Self.modulo(year, 100)))"
        case "F": "\(year)-\(digits(month))-\(digits(day))"
        case "T", "X": "\(digits(hour)):\(digits(minute)):\(digits(second))"
        case "R": "\(digits(hour)):\(digits(minute))"
        case "c":
            "\(dayName.prefix(3)) \(monthName.prefix(3)) \(digits(day, blank: " ")) "
                + "\(digits(hour)):\(digits(minute)):\(digits(second)) \(year)"
        case "Z", "z": ""
        case "n": "\n"
        case "t": "\t"
        case "%": "%"
        default: nil
        }
    }
}
