import AccelByteIO
import AccelTensors
import CAccelKernels

/// A codec of four bits: each weight is an entry of a table that belongs to the codec, times a scale that a block of a row
/// shares.
///
/// Sections: `codes` (nibbles; each row starts at a byte boundary, lower nibble first), `scales` (one per block,
/// row-major; a negative scale mirrors the table).
protocol TableCodec: BlockScaledCodec {
    /// The 16 entries, ascending, with the bounds between them.
    static var palette: Palette { get }
    /// Candidate positions of the largest magnitude in the table, of either sign.
    static var ratios: SIMD16<Float> { get }
    var settings: TableSettings { get }
}

/// The options of a codec with a table.
struct TableSettings {
    let blocks: Blocks
    let scaleType: ScaleType
    let fit: ScaleFit

    init(_ values: CodecOptionValues) {
        blocks = Blocks(size: values.integer("block"))
        scaleType = ScaleType(rawValue: values["scales"]) ?? .float16
        fit = ScaleFit(rawValue: values["fit"]) ?? .mse
    }
}

extension TableCodec {
    var blocks: Blocks { settings.blocks }
    var scaleType: ScaleType { settings.scaleType }

    static func tableOptions(block: String) -> [CodecOption] {
        [
            Blocks.option(default: block),
            CodecOption("scales", allowed: ["float16", "float32"], default: "float16", help: "type of the scales"),
            ScaleFit.option(default: .mse),
        ]
    }

    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let shape = weight.shape
        let scales = weight.sections[1].withBytes { bytes in
            (0..<shape.rows * blocks.perRow(shape)).map { scaleType.load(bytes, at: $0) }
        }
        return .palette(
            PaletteEncoding(
                codes: PackedCodes(bits: 4, bytes: weight.sections[0], rows: shape.rows, columns: shape.columns),
                tables: [Self.palette.entries], rowsPerTable: max(shape.rows, 1),
                scales: BlockScales(values: scales, block: blocks.size(shape))))
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        [
            SectionLayout("codes", byteCount: shape.rows * Nibbles.byteCount(shape.columns)),
            SectionLayout("scales", byteCount: shape.rows * blocks.perRow(shape) * scaleType.byteCount),
        ]
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowBlocks(of: 1 << 18) }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        let perRow = blocks.perRow(shape)
        var distortion = Distortion()
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(shape.columns, 1)) { codes in
            try source.forEachFiniteRow(unit) { row, values in
                for block in 0..<perRow {
                    let columns = blocks.columns(of: block, shape)
                    let part = UnsafeBufferPointer(rebasing: values[columns])
                    let scale = try scale(for: part) { reason, index in
                        source.error(reason, index: row * shape.columns + columns.lowerBound + index)
                    }
                    scaleType.store(scale, in: sections[1], at: row * perRow + block)
                    distortion.merge(
                        Self.palette.encode(
                            part, scale: scale, into: UnsafeMutableBufferPointer(rebasing: codes[columns])))
                }
                guard let start = codes.baseAddress else { return }
                Nibbles.pack(start, shape.columns, into: sections[0], at: row * Nibbles.byteCount(shape.columns))
            }
        }
        return distortion
    }

    private func scale(
        for values: UnsafeBufferPointer<Float>, error: (_ reason: String, _ index: Int) -> FormatError
    ) throws -> Float {
        let (low, high) = values.extremes
        let largest = max(-low, high)
        guard largest > 0 else { return 1 }
        var bound = scaleType.rounded(largest)
        if bound == 0 { bound = scaleType.next(after: 0) }
        guard bound.isFinite else {
            throw error(
                "needs a scale of \(largest), beyond float16; store it with scales=float32",
                values.firstIndex { abs($0) == largest } ?? 0)
        }
        guard settings.fit == .mse, largest > 1e-30, largest < 1e30 else { return bound }
        return scaleType.refined(largest / Self.ratios, bounds: (bound, -bound)) { scales in
            ScaleSums(scales: scales) { inverses, products, squares in
                ck_try_table_scales(
                    values.baseAddress, values.count, inverses, Self.palette.entries, Self.palette.bounds, products,
                    squares)
            }
        }
    }

    /// Reads scales by their index over all rows.
    private func loadScales(
        _ indices: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutablePointer<Float>
    ) {
        weight.sections[1].withBytes { scaleType.load($0, indices, into: target) }
    }

    /// The scales of a row.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        blocks.perRow(shape) * MemoryLayout<Float>.stride
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (columns, perRow) = (weight.shape.columns, blocks.perRow(weight.shape))
        let scales = scratch.assumingMemoryBound(to: Float.self)
        weight.forEachPackedRow(rows, rowBytes: Nibbles.byteCount(columns), into: target) { row, packed, target in
            loadScales(row * perRow..<(row + 1) * perRow, of: weight, into: scales)
            ck_decode_palette4(packed, 0, Self.palette.entries, target, columns)
            ck_multiply_blocks(target, columns, blocks.size(weight.shape), scales)
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let shape = weight.shape
        return weight.sections[0].withBytes { codes in
            weight.sections[1].withBytes { scales in
                withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { values in
                    for row in rows {
                        source.readFloats(source.elements(ofRows: row..<row + 1), into: values)
                        for column in 0..<shape.columns {
                            let block = column / blocks.size(shape)
                            let scale = scaleType.load(scales, at: row * blocks.perRow(shape) + block)
                            let code = Nibbles.unsigned(
                                codes, from: row * Nibbles.byteCount(shape.columns), at: column)
                            if !Self.palette.isNearest(code, to: values[column], scale: scale) {
                                return (row * shape.columns + column, "has a code that is not the nearest entry's")
                            }
                        }
                    }
                    return nil
                }
            }
        }
    }

    package func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes {
        BlockScaledCodes(
            bits: 4, values: .table(Self.palette.entries), shifts: .none, scaleType: scaleType,
            rowBytes: Nibbles.byteCount(shape.columns), block: blocks.size(shape), blocks: blocks.perRow(shape))
    }
}
