/// The normalization forms of Unicode, with the changes that align new scalars with old ones.
enum Normalization: Sendable {
    case canonicalDecomposition, canonicalComposition, compatibleDecomposition, compatibleComposition

    private var isCompatible: Bool { self == .compatibleDecomposition || self == .compatibleComposition }
    private var composes: Bool { self == .canonicalComposition || self == .compatibleComposition }

    private enum Hangul {
        static let syllable: UInt32 = 0xAC00, lead: UInt32 = 0x1100, vowel: UInt32 = 0x1161, tail: UInt32 = 0x11A7
        static let leads: UInt32 = 19, vowels: UInt32 = 21, tails: UInt32 = 28, syllables: UInt32 = 11172
    }

    /// Normalizes a text.
    func apply(to text: inout ScalarText) {
        if isUnchanged(text.scalars) { return }
        var scalars: [UInt32] = []
        var changes: [Int] = []
        decompose(text.scalars, &scalars, &changes)
        if composes { compose(&scalars, &changes) }
        text.transform(scalars, changes)
    }

    /// Without composition or decomposition, a text of such scalars stays as it is.
    private func isUnchanged(_ scalars: [UInt32]) -> Bool {
        let limit: UInt32 = composes && !isCompatible ? 0x300 : isCompatible ? 0xA0 : 0xC0
        return scalars.allSatisfy { $0 < limit }
    }

    private func decompose(_ text: [UInt32], _ scalars: inout [UInt32], _ changes: inout [Int]) {
        var classes: [UInt8] = []
        // Where the current run of scalars with a combining class starts.
        var runStart = 0
        func sortRun() {
            guard classes.count - runStart > 1 else { return }
            let order = (runStart..<classes.count).sorted { (classes[$0], $0) < (classes[$1], $1) }
            let sorted = order.map { (scalars[$0], changes[$0], classes[$0]) }
            for (index, item) in sorted.enumerated() {
                (scalars[runStart + index], changes[runStart + index], classes[runStart + index]) = item
            }
        }
        func append(_ scalar: UInt32, _ change: Int) {
            let combining = scalar < 0x300 ? 0 : UnicodeData.combiningClass[scalar]
            if combining == 0 { sortRun() }
            scalars.append(scalar)
            changes.append(change)
            classes.append(combining)
            if combining == 0 { runStart = classes.count }
        }
        for scalar in text {
            if scalar < 0xA0 {
                append(scalar, 0)
            } else if scalar >= Hangul.syllable, scalar < Hangul.syllable + Hangul.syllables {
                let index = scalar - Hangul.syllable
                append(Hangul.lead + index / (Hangul.vowels * Hangul.tails), 0)
                append(Hangul.vowel + index % (Hangul.vowels * Hangul.tails) / Hangul.tails, 1)
                if index % Hangul.tails > 0 { append(Hangul.tail + index % Hangul.tails, 1) }
            } else if isCompatible, let range = UnicodeData.compatible.find(scalar) {
                for index in range { append(UnicodeData.compatible[index], index == range.lowerBound ? 0 : 1) }
            } else if let range = UnicodeData.canonical.find(scalar) {
                for index in range { append(UnicodeData.canonical[index], index == range.lowerBound ? 0 : 1) }
            } else {
                append(scalar, 0)
            }
        }
        sortRun()
    }

    /// Composes in place. A composed scalar consumes what its parts consume.
    private func compose(_ scalars: inout [UInt32], _ changes: inout [Int]) {
        var count = 0
        /// The last scalar of class 0, to which others may be joined.
        var starter: Int?
        var lastClass: UInt8?
        for index in scalars.indices {
            let (scalar, change) = (scalars[index], changes[index])
            let combining = scalar < 0x300 ? 0 : UnicodeData.combiningClass[scalar]
            if let first = starter, lastClass.map({ $0 < combining }) ?? true,
                let composed = Self.composed(scalars[first], scalar)
            {
                scalars[first] = composed
                changes[first] += change - 1
                continue
            }
            if combining == 0 {
                starter = count
                lastClass = nil
            } else {
                lastClass = combining
            }
            (scalars[count], changes[count]) = (scalar, change)
            count += 1
        }
        scalars.removeLast(scalars.count - count)
        changes.removeLast(changes.count - count)
    }

    private static func composed(_ first: UInt32, _ second: UInt32) -> UInt32? {
        let lead = first &- Hangul.lead
        let vowel = second &- Hangul.vowel
        if lead < Hangul.leads, vowel < Hangul.vowels {
            return Hangul.syllable + (lead * Hangul.vowels + vowel) * Hangul.tails
        }
        let syllable = first &- Hangul.syllable
        let tail = second &- Hangul.tail
        if syllable < Hangul.syllables, syllable % Hangul.tails == 0, tail > 0, tail < Hangul.tails {
            return first + tail
        }
        return UnicodeData.compositions[UInt64(first) << 32 | UInt64(second)]
    }
}
