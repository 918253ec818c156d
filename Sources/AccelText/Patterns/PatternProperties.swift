/// The sets of scalars that patterns name: `\p{L}`, `\p{Han}`, `[:digit:]`.
enum PatternProperties {
    /// Decimal digits of all scripts, general category Nd.
    static let digits = UnicodeData.category("Nd") ?? ScalarRanges()
    static let hexadecimal = ScalarRanges([0x30..<0x3A, 0x41..<0x47, 0x61..<0x67])

    /// Returns the scalars of a category, a script, or a class such as `alnum`; nil for another name.
    static func named(_ name: String) -> ScalarRanges? {
        func union(_ categories: String...) -> ScalarRanges {
            categories.compactMap { UnicodeData.category($0) }.reduce(ScalarRanges()) { $0.union($1) }
        }
        let plain = UnicodeData.plain(name[...])
        let long = [
            "letter": "L", "mark": "M", "number": "N", "punctuation": "P", "symbol": "S", "separator": "Z",
            "other": "C",
            "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm",
            "otherletter": "Lo", "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me",
            "decimalnumber": "Nd", "letternumber": "Nl", "othernumber": "No",
        ]
        switch plain {
        case "space": return UnicodeData.whiteSpaceRanges
        case "digit": return digits
        case "word": return UnicodeData.patternWordRanges
        case "cntrl": return union("Cc")
        case "punct":
            return union("P").union(
                ScalarRanges([
                    0x24..<0x25, 0x2B..<0x2C, 0x3C..<0x3F, 0x5E..<0x5F, 0x60..<0x61, 0x7C..<0x7D, 0x7E..<0x7F,
                ]))
        case "xdigit": return hexadecimal
        case "any": return ScalarRanges().inverted()
        case "ascii": return ScalarRanges(0...0x7F)
        default: break
        }
        if let category = UnicodeData.categoryNames.first(where: { $0.lowercased() == plain }) {
            return UnicodeData.category(category)
        }
        if plain.utf8.count == 1, let group = UnicodeData.category(plain.uppercased()) { return group }
        if let category = long[plain] { return UnicodeData.category(category) }
        return UnicodeData.script(name)
    }
}
