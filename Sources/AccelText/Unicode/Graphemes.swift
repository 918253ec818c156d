/// The boundaries of extended grapheme clusters (Unicode Standard Annex 29), over classes that `UnicodeData.graphemeClass` gives.
enum Graphemes {
    private enum Class: UInt8 {
        case other, carriageReturn, lineFeed, control, extend, joiner, regional, prepend, spacingMark
        case lead, vowel, tail, leadVowel, leadVowelTail, pictographic, consonant, linker, conjunctExtend
    }

    /// Returns the end of the cluster that starts at an index.
    static func end(_ scalars: [UInt32], from start: Int) -> Int {
        var index = start + 1
        var last = kind(scalars[start])
        var regionals = last == .regional ? 1 : 0
        // A pictogram and what extends it.
        var isPictogram = last == .pictographic
        // A consonant and its extensions, and whether a linker is among them.
        var conjunct = last == .consonant
        var hasLinker = false
        while index < scalars.count {
            let next = kind(scalars[index])
            let joins: Bool
            switch (last, next) {
            case (.carriageReturn, .lineFeed): joins = true
            case (.carriageReturn, _), (.lineFeed, _), (.control, _), (_, .carriageReturn), (_, .lineFeed),
                (_, .control):
                joins = false
            case (.lead, .lead), (.lead, .vowel), (.lead, .leadVowel), (.lead, .leadVowelTail): joins = true
            case (.leadVowel, .vowel), (.leadVowel, .tail), (.vowel, .vowel), (.vowel, .tail): joins = true
            case (.leadVowelTail, .tail), (.tail, .tail): joins = true
            case (_, .extend), (_, .joiner), (_, .spacingMark), (_, .linker), (_, .conjunctExtend): joins = true
            case (.prepend, _): joins = true
            case (_, .consonant) where conjunct && hasLinker: joins = true
            case (.joiner, .pictographic) where isPictogram: joins = true
            case (.regional, .regional): joins = regionals % 2 == 1
            default: joins = false
            }
            guard joins else { return index }
            regionals = next == .regional ? regionals + 1 : 0
            switch next {
            case .consonant: (conjunct, hasLinker) = (true, false)
            case .linker: hasLinker = true
            case .conjunctExtend, .joiner: break
            default: conjunct = false
            }
            switch next {
            case .pictographic: isPictogram = true
            case .extend, .joiner, .linker, .conjunctExtend: break
            default: isPictogram = false
            }
            last = next
            index += 1
        }
        return index
    }

    private static func kind(_ scalar: UInt32) -> Class {
        Class(rawValue: UnicodeData.graphemeClass[scalar]) ?? .other
    }
}
