/// Codes of a weight that are stored in more bits than they have, since Core ML has integers of 4 and 8 bits only.
struct CodeWidening: Hashable, Comparable {
    /// The bits of a code.
    let bits: Int
    /// The bits in which it is stored.
    let stored: Int

    /// Returns nil if the codes are stored as they are.
    init?(_ bits: Int, in stored: Int) {
        guard stored > bits else { return nil }
        (self.bits, self.stored) = (bits, stored)
    }

    static func < (left: Self, right: Self) -> Bool { left.bits < right.bits }

    /// The sizes of indices that Core ML stores as they are.
    private static let palettes = [1, 2, 3, 4, 6, 8]

    /// Returns the warning about so many weights, with the scheme whose codes take no more bits than asked for.
    func warning(weights count: Int) -> String {
        let palette = Self.palettes.last { $0 <= bits } ?? bits
        let noun = count == 1 ? "1 weight has codes" : "\(count) weights have codes"
        return
            "\(noun) of \(bits) bits, which Core ML stores in \(stored): palette:bits=\(palette) takes \(palette), or "
            + "choose a scheme of \(stored) bits, which loses less at the same size"
    }
}
