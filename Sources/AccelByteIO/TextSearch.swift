// Searches without regular expressions: these and the generic searches beside them would bring 1.3 MB into the C library.

extension StringProtocol {
    /// Returns the range of the first occurrence of a text; nil if there is none, or if the text is empty.
    package func place(of text: String) -> Range<Index>? {
        guard !text.isEmpty else { return nil }
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) {
                return start..<(index(start, offsetBy: text.count, limitedBy: endIndex) ?? endIndex)
            }
            start = index(after: start)
        }
        return nil
    }

    /// The text with another one in place of each, or of the first ones, of a text.
    package func substituting(_ text: String, by other: String, atMost most: Int = .max) -> String {
        var (made, rest, count) = ("", self[...], 0)
        while count < most, let place = rest.place(of: text) {
            made += String(rest[..<place.lowerBound]) + other
            rest = rest[place.upperBound...]
            count += 1
        }
        return made + String(rest)
    }

    /// The parts between a text, without empty ones.
    package func parts(between text: String) -> [String] {
        var (parts, rest) = ([String](), self[...])
        while let place = rest.place(of: text) {
            parts.append(String(rest[..<place.lowerBound]))
            rest = rest[place.upperBound...]
        }
        return (parts + [String(rest)]).filter { !$0.isEmpty }
    }
}
