import AccelByteIO

/// The replacements of sentencepiece (`precompiled_charsmap`): a double array over UTF-8 (Darts-clone), and the texts that its values
/// point to. Layout: the array's size in bytes as uint32, its units as uint32, then texts that end with a zero byte.
struct CharacterMap: Sendable {
    private let units: [UInt32]
    private let texts: [UInt8]

    /// - Throws: `FormatError` at `field` if the map is corrupt.
    init(_ bytes: [UInt8], _ field: JSONField) throws {
        func word(_ index: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 | UInt32(bytes[index + $1]) << UInt32($1 * 8) }
        }
        guard bytes.count >= 4 else { throw field.error("the character map has \(bytes.count) bytes") }
        let size = Int(word(0))
        guard size % 4 == 0, size >= 4, size <= bytes.count - 4 else {
            throw field.error("the character map's trie has \(size) bytes of \(bytes.count)")
        }
        units = (0..<size / 4).map { word(4 + $0 * 4) }
        texts = Array(bytes[(4 + size)...])
        guard String(validating: texts, as: UTF8.self) != nil else {
            throw field.error("the character map's texts are not UTF-8")
        }
    }

    /// Finds the shortest or the longest prefix of a text that is mapped.
    /// - Returns: its length in bytes, and the range of the replacement; nil if no prefix is mapped.
    func prefix(of text: UnsafeBufferPointer<UInt8>, longest: Bool) -> (length: Int, replacement: Range<Int>)? {
        var found: (Int, Range<Int>)?
        var node = offset(units[0])
        for index in text.indices {
            let byte = text[index]
            guard byte != 0 else { break }
            node ^= Int(byte)
            guard node < units.count, units[node] & 0x8000_00FF == UInt32(byte) else { break }
            let unit = units[node]
            node ^= offset(unit)
            if unit >> 8 & 1 == 1 {
                guard node < units.count else { break }
                let start = Int(units[node] & 0x7FFF_FFFF)
                guard start <= texts.count else { break }
                let end = texts[start...].firstIndex(of: 0) ?? texts.count
                found = (index + 1, start..<end)
                if !longest { break }
            }
        }
        return found
    }

    private func offset(_ unit: UInt32) -> Int { Int(unit >> 10) << Int((unit & 1 << 9) >> 6) }

    /// The scalars of a replacement.
    func scalars(_ range: Range<Int>) -> [UInt32] { Array(texts[range]).scalars }

    /// The bytes of a replacement.
    subscript(range: Range<Int>) -> ArraySlice<UInt8> { texts[range] }

    /// Replaces as `tokenizers` does: a grapheme of less than 6 bytes as a whole by its shortest mapped prefix, else scalar by scalar.
    func apply(to text: inout ScalarText) {
        var scalars: [UInt32] = []
        var changes: [Int] = []
        var isModified = false
        var bytes: [UInt8] = []
        func replace(_ range: Range<Int>) -> Bool {
            bytes.removeAll(keepingCapacity: true)
            for index in range { UTF8Text.append(text.scalars[index], to: &bytes) }
            guard let found = bytes.withUnsafeBufferPointer({ prefix(of: $0, longest: false) }) else { return false }
            let new = self.scalars(found.replacement)
            let difference = new.count - range.count
            for index in new.indices {
                scalars.append(new[index])
                changes.append(0)
            }
            if difference > 0 {
                for index in changes.indices.suffix(difference) { changes[index] = 1 }
            } else if difference < 0, !changes.isEmpty {
                changes[changes.count - 1] += difference
            }
            return true
        }
        var index = 0
        while index < text.scalars.count {
            let end = Graphemes.end(text.scalars, from: index)
            let size = text.scalars[index..<end].reduce(0) { $0 + UTF8Text.length(of: $1) }
            if size < 6, replace(index..<end) {
                isModified = true
            } else {
                for single in index..<end {
                    if replace(single..<single + 1) {
                        isModified = true
                    } else {
                        scalars.append(text.scalars[single])
                        changes.append(0)
                    }
                }
            }
            index = end
        }
        if isModified { text.transform(scalars, changes) }
    }
}
