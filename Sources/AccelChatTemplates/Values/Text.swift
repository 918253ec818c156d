/// A text as Python indexes it: by Unicode scalars.
typealias Text = [Unicode.Scalar]

extension Array where Element == Unicode.Scalar {
    init(_ string: String) { self = Array(string.unicodeScalars) }

    /// The text as a string.
    var string: String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: self)
        return String(view)
    }

    /// Returns the index of the first occurrence of a text at or after `start`; nil if there is none.
    func firstIndex(of part: Text, from start: Int = 0, to end: Int? = nil) -> Int? {
        let end = end ?? count
        guard start >= 0, start + part.count <= end else { return nil }
        return (start...(end - part.count)).first { hasPart(part, at: $0) }
    }

    /// Returns the index of the last occurrence of a text within bounds; nil if there is none.
    func lastIndex(of part: Text, from start: Int = 0, to end: Int? = nil) -> Int? {
        let end = end ?? count
        guard start >= 0, start + part.count <= end else { return nil }
        return (start...(end - part.count)).last { hasPart(part, at: $0) }
    }

    /// The part is at an index.
    func hasPart(_ part: Text, at index: Int) -> Bool {
        guard index >= 0, index + part.count <= count else { return false }
        for offset in 0..<part.count where self[index + offset] != part[offset] { return false }
        return true
    }

    /// The text without leading and trailing scalars that fulfil a condition.
    func stripped(left: Bool = true, right: Bool = true, of isStripped: (Unicode.Scalar) -> Bool) -> Text {
        var (start, end) = (0, count)
        while left, start < end, isStripped(self[start]) { start += 1 }
        while right, end > start, isStripped(self[end - 1]) { end -= 1 }
        return Array(self[start..<end])
    }

    /// The text with all, or the first `most`, occurrences of a part replaced.
    func replacing(_ old: Text, with new: Text, most: Int = -1) -> Text {
        var (result, position, left) = (Text(), 0, most < 0 ? Int.max : most)
        if old.isEmpty {
            for scalar in self {
                if left > 0 { result += new }
                left = Swift.max(0, left - 1)
                result.append(scalar)
            }
            return left > 0 ? result + new : result
        }
        while left > 0, let found = firstIndex(of: old, from: position) {
            result += self[position..<found]
            result += new
            position = found + old.count
            left -= 1
        }
        return result + self[position...]
    }

    /// The lines, broken where Python breaks them.
    func lines(keepEnds: Bool = false) -> [Text] {
        var lines: [Text] = []
        var (start, index) = (0, 0)
        while index < count {
            guard self[index].isLineBreak else {
                index += 1
                continue
            }
            let end = index
            index += self[index] == "\r" && index + 1 < count && self[index + 1] == "\n" ? 2 : 1
            lines.append(Array(self[start..<(keepEnds ? index : end)]))
            start = index
        }
        if start < count { lines.append(Array(self[start...])) }
        return lines
    }
}

extension Array where Element == Text {
    /// The texts with a separator between them.
    func joined(by separator: Text) -> Text { Array<Unicode.Scalar>(joined(separator: separator)) }
}

extension Unicode.Scalar {
    /// White space as Python's `str.isspace` has it.
    var isPythonSpace: Bool {
        switch value {
        case 0x09...0x0D, 0x1C...0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
        default: false
        }
    }

    /// A scalar at which Python's `str.splitlines` breaks.
    var isLineBreak: Bool {
        switch value {
        case 0x0A...0x0D, 0x1C...0x1E, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// A letter as Python's `str.isalpha` has it.
    var isPythonLetter: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
        default: false
        }
    }

    /// A digit of a decimal number, as Python's `str.isdecimal` has it.
    var isPythonDecimal: Bool { properties.generalCategory == .decimalNumber }

    /// A digit as Python's `str.isdigit` has it: superscripts too.
    var isPythonDigit: Bool { properties.numericType == .decimal || properties.numericType == .digit }

    /// A scalar that Python's `repr` prints as it is.
    var isPythonPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        case .spaceSeparator: self == " "
        default: true
        }
    }

    /// The scalar is a decimal digit of ASCII.
    var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
