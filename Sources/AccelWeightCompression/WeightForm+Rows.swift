import AccelByteIO
import AccelTensors

extension WeightForm {
    /// Returns the encoding of some of the `count` rows.
    /// - Returns: Nil if they have no encoding of their own: a palette of which they are not whole groups, or rows out
    ///   of range.
    public func rows(_ rows: Range<Int>, of count: Int) -> WeightForm? {
        guard rows.lowerBound >= 0, rows.upperBound <= count, count > 0 else { return nil }
        switch self {
        case .values(let type, let bytes):
            let row = bytes.count / count
            return .values(type, bytes[rows.lowerBound * row..<rows.upperBound * row])
        case .affine(let form):
            guard let codes = form.codes[rows: rows] else { return nil }
            let blocks = form.scaleRows == 1 ? 0 : form.scales.count / form.scaleRows
            let part = form.scaleRows == 1 ? form.scales.indices : rows.lowerBound * blocks..<rows.upperBound * blocks
            return .affine(
                AffineForm(
                    codes: codes, isSigned: form.isSigned, scales: Array(form.scales[part]),
                    zeros: form.zeros.map { Array($0[part]) }, offsets: form.offsets.map { Array($0[part]) },
                    scaleRows: form.scaleRows == 1 ? 1 : rows.count,
                    block: form.block, scaleType: form.scaleType))
        case .palette(let form):
            guard let codes = form.codes[rows: rows] else { return nil }
            guard let part = Self.tables(form.tables.count, form.rowsPerTable, rows) else { return nil }
            let scales = form.scales.map { scales in
                let blocks = scales.values.count / max(form.codes.rows, 1)
                return BlockScales(
                    values: Array(scales.values[rows.lowerBound * blocks..<rows.upperBound * blocks]),
                    block: scales.block)
            }
            return .palette(
                PaletteForm(
                    codes: codes, tables: Array(form.tables[part]), rowsPerTable: form.rowsPerTable, scales: scales,
                    integers: form.integers.map { (Array($0.entries[part]), Array($0.scales[part])) }))
        case .vectors(let form):
            guard let codes = form.codes[rows: rows],
                let part = Self.tables(form.tables.count, form.rowsPerTable, rows)
            else { return nil }
            return .vectors(
                VectorForm(
                    codes: codes, tables: Array(form.tables[part]), size: form.size, rowsPerTable: form.rowsPerTable))
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
