import AccelByteIO
import AccelTensors

extension StoredTensor {
    /// The size of a row in bytes.
    private var rowBytes: Int { shape.columns * elementType.byteCount }

    /// Returns units of rows in groups that are read at once: each has so many bytes, if there are enough, and no fewer than a part of
    /// computed bytes has.
    func groups(of units: [Range<Int>], atLeast byteCount: Int) -> [[Range<Int>]] {
        let least = max(byteCount, bytes.partBytes)
        return units.reduce(into: []) { groups, unit in
            if let last = groups.indices.last, groups[last].reduce(0, { $0 + $1.count * rowBytes }) < least {
                groups[last].append(unit)
            } else {
                groups.append([unit])
            }
        }
    }

    /// Returns the same elements, of which those of some rows are computed now, and only once.
    /// - Throws: `RequestError` if there is too little memory; `FormatError` if the file that they are computed from is corrupt.
    func holding(_ rows: Range<Int>) throws -> StoredTensor {
        let held = rows.lowerBound * rowBytes..<rows.upperBound * rowBytes
        let (buffer, all) = (try ByteBuffer(allocating: held.count, for: name), bytes)
        all.read(held, into: buffer.bytes)
        if let failure = all.failure { throw failure }
        let view = ByteView(buffer)
        let derived = DerivedBytes(count: all.count, partBytes: rowBytes) { range, target in
            if held.contains(range.lowerBound), range.upperBound <= held.upperBound {
                view.read(range.lowerBound - held.lowerBound..<range.upperBound - held.lowerBound, into: target)
            } else {
                all.read(range, into: target)
            }
        }
        return StoredTensor(
            name: name, elementType: elementType, shape: shape, bytes: ByteView(derived), file: file)
    }
}
