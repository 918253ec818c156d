// Upper and lower case as Python's `str` has them.
extension Array where Element == Unicode.Scalar {
    /// The text in upper case.
    func uppercased() -> Text { flatMap { $0.properties.uppercaseMapping.unicodeScalars } }

    /// The text in lower case; a capital sigma at the end of a word becomes a final one.
    func lowercased() -> Text {
        indices.flatMap { lowercase(at: $0) }
    }

    private func lowercase(at index: Int) -> Text {
        guard self[index] == "\u{3A3}" else { return Array(self[index].properties.lowercaseMapping.unicodeScalars) }
        let before = self[..<index].last { !$0.properties.isCaseIgnorable }
        let after = self[(index + 1)...].first { !$0.properties.isCaseIgnorable }
        let isFinal = before?.properties.isCased == true && after?.properties.isCased != true
        return [isFinal ? "\u{3C2}" : "\u{3C3}"]
    }

    /// The first scalar in title case, the rest in lower case.
    func capitalized() -> Text {
        guard let first else { return self }
        return Array(first.properties.titlecaseMapping.unicodeScalars) + indices.dropFirst().flatMap(lowercase)
    }

    /// The first letter of each word in title case, the other letters in lower case.
    func titled() -> Text {
        var (result, followsCased) = (Text(), false)
        for index in indices {
            let properties = self[index].properties
            result += followsCased ? lowercase(at: index) : Array(properties.titlecaseMapping.unicodeScalars)
            followsCased = properties.isCased
        }
        return result
    }

    /// Upper case letters in lower case, and the other way round.
    func swappedCase() -> Text {
        indices.flatMap { index in
            let properties = self[index].properties
            if properties.isUppercase { return lowercase(at: index) }
            return properties.isLowercase ? Array(properties.uppercaseMapping.unicodeScalars) : [self[index]]
        }
    }

    /// The text has cased letters, and all of them are of the upper, or of the lower case.
    func isOfCase(upper: Bool) -> Bool {
        var hasCased = false
        for scalar in self {
            let properties = scalar.properties
            let isTitle = properties.generalCategory == .titlecaseLetter
            if isTitle || (upper ? properties.isLowercase : properties.isUppercase) { return false }
            if upper ? properties.isUppercase : properties.isLowercase { hasCased = true }
        }
        return hasCased
    }

    /// Upper case letters start words, and only they do.
    var isTitled: Bool {
        var (hasCased, followsCased) = (false, false)
        for scalar in self {
            let properties = scalar.properties
            if properties.isUppercase || properties.generalCategory == .titlecaseLetter {
                if followsCased { return false }
                (hasCased, followsCased) = (true, true)
            } else if properties.isLowercase {
                if !followsCased { return false }
                hasCased = true
            } else {
                followsCased = false
            }
        }
        return hasCased
    }
}
