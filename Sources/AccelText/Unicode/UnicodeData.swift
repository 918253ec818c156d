import CAccelUnicode

/// Properties of Unicode scalars, each in the version that `tokenizers` uses for it; see scripts/unicode_tables.py.
enum UnicodeData {
    /// General categories, in the order of the table.
    static let categoryNames = [
        "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
        "Sm",
        "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn", "Cs",
    ]

    static let whiteSpaceRanges = ScalarRanges(
        table: list(accelc_unicode_white_space()))
    static let patternWordRanges = ScalarRanges(
        table: list(accelc_unicode_pattern_word()))

    static let whiteSpace = ScalarSet(whiteSpaceRanges)
    static let word = set(accelc_unicode_word())
    static let numeric = set(accelc_unicode_numeric())
    static let punctuation = set(accelc_unicode_punctuation())
    static let bertControl = set(accelc_unicode_bert_control())
    static let bertMarks = set(accelc_unicode_bert_marks())
    static let marks = set(accelc_unicode_marks())
    static let combiningClass = map(accelc_unicode_combining())
    static let scriptClass = map(accelc_unicode_script_classes())
    static let graphemeClass = map(accelc_unicode_graphemes())

    static let lowercase = ScalarStrings(
        keys: list(accelc_unicode_lowercase_keys()),
        heads: list(accelc_unicode_lowercase_heads()),
        data: list(accelc_unicode_lowercase_data()))
    static let canonical = ScalarStrings(
        keys: list(accelc_unicode_canonical_keys()),
        heads: list(accelc_unicode_canonical_heads()),
        data: list(accelc_unicode_canonical_data()))
    static let compatible = ScalarStrings(
        keys: list(accelc_unicode_compatible_keys()),
        heads: list(accelc_unicode_compatible_heads()),
        data: list(accelc_unicode_compatible_data()))

    /// The composed scalar of a pair: first << 32 | second.
    static let compositions: [UInt64: UInt32] = {
        let triples = list(accelc_unicode_compositions())
        var pairs: [UInt64: UInt32] = [:]
        for index in stride(from: 0, to: triples.count, by: 3) {
            pairs[UInt64(triples[index]) << 32 | UInt64(triples[index + 1])] = triples[index + 2]
        }
        return pairs
    }()

    /// All scalars that `(?i)` takes for each other, by each of them.
    static let caseClasses: [UInt32: [UInt32]] = {
        let flat = list(accelc_unicode_case_classes())
        var classes: [UInt32: [UInt32]] = [:]
        var index = 0
        while index < flat.count {
            let members = Array(flat[index + 1...index + Int(flat[index])])
            for member in members { classes[member] = members }
            index += members.count + 1
        }
        return classes
    }()

    /// Returns the scalars of a general category (`Lu`) or a group of them (`L`); nil for another name.
    static func category(_ name: String) -> ScalarRanges? {
        let indexes = categoryNames.indices.filter { categoryNames[$0] == name || categoryNames[$0].prefix(1) == name }
        guard !indexes.isEmpty else { return nil }
        return ranges(accelc_unicode_categories()) { indexes.contains(Int($0)) }
    }

    /// Returns the scalars of a script by its name in patterns; nil for another name. Case, `_`, `-` and spaces do not matter.
    static func script(_ name: String) -> ScalarRanges? {
        let names = String(cString: accelc_unicode_script_names()).split(separator: "\n")
        guard let index = names.firstIndex(where: { plain($0) == plain(name[...]) }) else { return nil }
        return ranges(accelc_unicode_scripts()) { Int($0) == index + 1 }
    }

    static func plain(_ name: Substring) -> String {
        String(name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " })
    }

    private static func ranges(_ table: accelc_unicode_list, _ wanted: (UInt8) -> Bool) -> ScalarRanges {
        let runs = list(table)
        return ScalarRanges(
            runs.indices.compactMap { index in
                guard wanted(UInt8(truncatingIfNeeded: runs[index])) else { return nil }
                let end = index + 1 < runs.count ? runs[index + 1] >> 8 : ScalarRanges.limit
                return runs[index] >> 8..<end
            })
    }

    private static func set(_ table: accelc_unicode_list) -> ScalarSet {
        ScalarSet(ScalarRanges(table: list(table)))
    }

    private static func map(_ table: accelc_unicode_list) -> ScalarMap {
        ScalarMap(runs: list(table))
    }

    private static func list(_ table: accelc_unicode_list) -> UnsafeBufferPointer<UInt32> {
        UnsafeBufferPointer(start: table.values, count: Int(table.count))
    }
}

/// A string of scalars for some Unicode scalars, such as their lower case.
struct ScalarStrings: Sendable {
    /// The number of each scalar that has a string, from 1, by pages of 256 scalars.
    private let pageOfBlock: [UInt16]
    private let pages: [UInt16]
    private let heads: [UInt32]
    private let data: [UInt32]

    /// - Parameter keys: ascending.
    /// - Parameter heads: of each key: index in the data << 8 | count.
    init(keys: UnsafeBufferPointer<UInt32>, heads: UnsafeBufferPointer<UInt32>, data: UnsafeBufferPointer<UInt32>) {
        var pageOfBlock = [UInt16](repeating: 0, count: Int(ScalarRanges.limit) / 256)
        var pages = [UInt16](repeating: 0, count: 256)
        for (index, key) in keys.enumerated() {
            let block = Int(key >> 8)
            if pageOfBlock[block] == 0 {
                pageOfBlock[block] = UInt16(pages.count / 256)
                pages += [UInt16](repeating: 0, count: 256)
            }
            pages[Int(pageOfBlock[block]) * 256 + Int(key & 0xFF)] = UInt16(index + 1)
        }
        self.pageOfBlock = pageOfBlock
        self.pages = pages
        self.heads = Array(heads)
        self.data = Array(data)
    }

    /// Returns the range in `data` of the scalar's string; nil if it has none.
    /// - Parameter scalar: below 0x110000.
    @inline(__always)
    func find(_ scalar: UInt32) -> Range<Int>? {
        let index = Int(pages[Int(pageOfBlock[Int(scalar >> 8)]) << 8 + Int(scalar & 0xFF)])
        guard index > 0 else { return nil }
        let head = Int(heads[index - 1])
        return head >> 8..<head >> 8 + head & 0xFF
    }

    @inline(__always)
    subscript(index: Int) -> UInt32 { data[index] }
}
