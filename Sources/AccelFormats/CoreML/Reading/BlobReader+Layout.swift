import AccelByteIO

extension BlobReader {
    /// Returns all entries with the offsets of their descriptions, in the order of the file. Checks that entries are
    /// consecutive, aligned to 64 bytes, and that the padding is zero.
    /// - Throws: `FormatError` if that is not so.
    func checkedEntries() throws(FormatError) -> [(offset: Int, entry: Entry)] {
        try requireZeros(8..<64)
        var entries: [(offset: Int, entry: Entry)] = []
        var end = 64
        for _ in 0..<count {
            let offset = (end + 63) / 64 * 64
            let entry = try entry(at: offset)
            guard entry.start == offset + 64 else {
                throw error("the elements lie at \(entry.start), not after their description", at: offset + 16)
            }
            try requireZeros(end..<offset)
            try requireZeros(offset + 32..<offset + 64)
            end = entry.start + entry.bytes.count
            let used = entry.elements * (entry.dataType.bits ?? 8) % 8
            if used > 0, let last = entry.bytes.withBytes({ $0.last }), last >> UInt8(used) != 0 {
                throw error("bits after the last element are not zero", at: end - 1)
            }
            entries.append((offset, entry))
        }
        guard end == bytes.count else {
            throw error("\(count) entries end here, but the file has \(bytes.count) bytes", at: end)
        }
        return entries
    }

    private func requireZeros(_ range: Range<Int>) throws(FormatError) {
        guard !range.isEmpty, range.upperBound <= bytes.count else { return }
        if let index = bytes[range].withBytes({ $0.firstIndex { $0 != 0 } }) {
            throw error("expected a zero between entries", at: range.lowerBound + index)
        }
    }

    private func error(_ reason: String, at offset: Int) -> FormatError {
        FormatError(file: file, location: .offset(UInt64(max(offset, 0))), reason: reason)
    }
}
