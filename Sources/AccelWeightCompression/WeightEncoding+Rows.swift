import AccelByteIO
import AccelTensors

extension WeightEncoding {
    /// Returns the encoding of some of the `count` rows.
    /// - Returns: Nil if they have no encoding of their own: a palette of which they are not whole groups, or rows out
    ///   of range.
    public func rows(_ rows: Range<Int>, of count: Int) -> WeightEncoding? {
        guard rows.lowerBound >= 0, rows.upperBound <= count, count > 0 else { return nil }
        switch self {
        case .values(let type, let bytes):
            let row = bytes.count / count
            return .values(type, bytes[rows.lowerBound * row..<rows.upperBound * row])
        case .affine(let encoding):
            guard let codes = encoding.codes[rows: rows] else { return nil }
            let blocks = encoding.scaleRows == 1 ? 0 : encoding.scales.count / encoding.scaleRows
            let part =
                encoding.scaleRows == 1 ? encoding.scales.indices : rows.lowerBound * blocks..<rows.upperBound * blocks
            return .affine(
                AffineEncoding(
                    codes: codes, isSigned: encoding.isSigned, scales: Array(encoding.scales[part]),
                    zeros: encoding.zeros.map { Array($0[part]) }, offsets: encoding.offsets.map { Array($0[part]) },
                    scaleRows: encoding.scaleRows == 1 ? 1 : rows.count,
                    block: encoding.block, scaleType: encoding.scaleType))
        case .palette(let encoding):
            guard let codes = encoding.codes[rows: rows] else { return nil }
            guard let part = Self.tables(encoding.tables.count, encoding.rowsPerTable, rows) else { return nil }
            let scales = encoding.scales.map { scales in
                let blocks = scales.values.count / max(encoding.codes.rows, 1)
                return BlockScales(
                    values: Array(scales.values[rows.lowerBound * blocks..<rows.upperBound * blocks]),
                    block: scales.block)
            }
            return .palette(
                PaletteEncoding(
                    codes: codes, tables: Array(encoding.tables[part]), rowsPerTable: encoding.rowsPerTable,
                    scales: scales,
                    integers: encoding.integers.map { (Array($0.entries[part]), Array($0.scales[part])) }))
        case .vectors(let encoding):
            guard let codes = encoding.codes[rows: rows],
                let part = Self.tables(encoding.tables.count, encoding.rowsPerTable, rows)
            else { return nil }
            return .vectors(
                VectorEncoding(
                    codes: codes, tables: Array(encoding.tables[part]), size: encoding.size,
                    rowsPerTable: encoding.rowsPerTable))
        case .sparse:
            return nil
        }
    }

    /// Returns the tables that serve the rows; nil if one of them serves other rows too.
    private static func tables(_ count: Int, _ rowsPerTable: Int, _ rows: Range<Int>) -> Range<Int>? {
        if count == 1 { return 0..<1 }
        guard rows.lowerBound % rowsPerTable == 0 else { return nil }
        return rows.lowerBound / rowsPerTable..<(rows.upperBound + rowsPerTable - 1) / rowsPerTable
    }
}

extension PackedCodes {
    /// The codes of some rows; nil if they are out of range.
    subscript(rows part: Range<Int>) -> PackedCodes? {
        guard part.lowerBound >= 0, part.upperBound <= rows else { return nil }
        let row = BitPacking.byteCount(columns, bits: bits)
        return PackedCodes(
            bits: bits, bytes: bytes[part.lowerBound * row..<part.upperBound * row], rows: part.count,
            columns: columns)
    }
}
