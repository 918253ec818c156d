import AccelByteIO
import AccelTensors
import CAccelKernels

/// A codec of four bits: each weight is an entry of a table that belongs to the codec, times a scale that a block of a row
/// shares.
///
/// Sections: `codes` (nibbles; each row starts at a byte boundary, lower nibble first), `scales` (one per block,
/// row-major; a negative scale mirrors the table).
protocol TableCodec: BlockScaledCodec, FeedbackCodec {
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
    /// The largest distance in codes between a stored code and the nearest one.
    private var reach: Int { method == .gptq ? Palette.feedbackReach(of: Self.palette.entries.count) : 0 }
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: blocks.size(shape)) }

    /// Encodes rows by error feedback.
    private func encoding(
        _ unit: Range<Int>, of source: StoredTensor, feedingBackBy statistics: ActivationStatistics,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        let (columns, size, perRow) = (shape.columns, blocks.size(shape), blocks.perRow(shape))
        let factor = statistics.factor(feedbackOrder(shape), threads: 1)
        func block(at position: Int) -> Int { Int(factor.order[position]) / size }
        let search = scaleSearch
        var grid = TableFeedbackGrid(
            run: size, palette: Self.palette, reach: reach, importance: ActivationStatistics.floored(factor.pivots)
        ) { row, position, targets, weights in
            let row = unit.lowerBound + row
            let scale = try search.scale(for: targets, weights: weights) { largest, _ in
                overflow(largest, of: source, at: row * columns + block(at: position) * size)
            }
            scaleType.store(scale, in: sections[1], at: row * perRow + block(at: position))
            return scale
        }
        let distortion = try source.feedingBack(rows: unit, by: factor, on: &grid) { row, codes in
            Nibbles.pack(codes, columns, into: sections[0], at: row * Nibbles.byteCount(columns))
        }
        if let error = grid.failure { throw error }
        return distortion
    }

    var blocks: Blocks { settings.blocks }
    var scaleType: ScaleType { settings.scaleType }

    static func tableOptions(block: String) -> [CodecOption] {
        [
            Blocks.option(default: block),
            CodecOption("scales", allowed: ["float16", "float32"], default: "float16", help: "type of the scales"),
            ScaleFit.option(default: .mse),
            CalibrationMethod.option,
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
        if method == .gptq, let statistics {
            return try encoding(unit, of: source, feedingBackBy: statistics, into: sections)
        }
        let shape = source.shape
        let perRow = blocks.perRow(shape)
        let importance = method == .weighted ? statistics?.importance : nil
        let search = scaleSearch
        var distortion = Distortion()
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(shape.columns, 1)) { codes in
            try source.forEachFiniteRow(unit) { row, values in
                for block in 0..<perRow {
                    let columns = blocks.columns(of: block, shape)
                    let part = UnsafeBufferPointer(rebasing: values[columns])
                    let scale: Float = try importance.withElements(columns) { weights in
                        try search.scale(for: part, weights: weights) { largest, index in
                            overflow(largest, of: source, at: row * shape.columns + columns.lowerBound + index)
                        }
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

    private func overflow(_ largest: Float, of source: StoredTensor, at index: Int) -> FormatError {
        source.error("needs a scale of \(largest), beyond float16; store it with scales=float32", index: index)
    }

    private var scaleSearch: TableScaleSearch {
        TableScaleSearch(palette: Self.palette, ratios: Self.ratios, type: scaleType, fit: settings.fit)
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
                            if !Self.palette.isNear(code, to: values[column], scale: scale, reach: reach) {
                                return (row * shape.columns + column, Palette.distantCode(reach))
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

/// The search for the scale by which values are entries of a table.
struct TableScaleSearch {
    let palette: Palette
    /// Candidate positions of the largest magnitude in the table, of either sign.
    let ratios: SIMD16<Float>
    let type: ScaleType
    let fit: ScaleFit

    /// Finds the scale of a block.
    /// - Parameters:
    ///   - weights: the weights of the squared errors, one per value; nil for 1.
    ///   - error: makes the error for a scale beyond its type, from the scale and the index of the largest value.
    func scale(
        for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>?,
        error: (_ scale: Float, _ index: Int) -> FormatError
    ) throws -> Float {
        let (low, high) = values.extremes
        let largest = max(-low, high)
        guard largest > 0 else { return 1 }
        let reaching = largest / min(abs(palette.entries.first ?? 1), abs(palette.entries.last ?? 1))
        var bound = type.rounded(reaching)
        if bound == 0 { bound = type.next(after: 0) }
        guard bound.isFinite else { throw error(reaching, values.firstIndex { abs($0) == largest } ?? 0) }
        guard fit == .mse, largest > 1e-30, largest < 1e30 else { return bound }
        return type.refined(largest / ratios, bounds: (bound, -bound)) { scales in
            ScaleSums(scales: scales) { inverses, products, squares in
                ck_try_table_scales(
                    values.baseAddress, weights, values.count, inverses, palette.entries, palette.bounds, products,
                    squares)
            }
        }
    }
}
