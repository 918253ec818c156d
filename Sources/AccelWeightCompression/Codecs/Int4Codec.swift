import AccelByteIO
public import AccelTensors
import CAccelKernels

/// 4-bit integers with block scales: `scale * (code - zero)`. Each code is the true quotient by the stored scale,
/// rounded to nearest (ties to even). The last block of a row may be smaller.
///
/// Sections: `codes` (two's complement nibbles; each row starts at a byte boundary, lower nibble first), `scales` (one
/// per block, row-major), and for `mode=asymmetric` `zeros` (one nibble per scale, packed like codes).
public struct Int4Codec: SingleSchemeCodec {
    public static let name = "int4"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "block", allowed: ["16", "32", "64", "128", "channel"], default: "32",
            help: "weights of a row that share a scale; channel: the whole row"),
        CodecOption(
            "mode", allowed: ["symmetric", "asymmetric"], default: "symmetric",
            help: "symmetric: codes about 0; asymmetric: codes -8 to 7 about a stored zero point"),
        CodecOption(
            "range", allowed: ["7", "8"], default: "8",
            help: "symmetric codes: 7: -7 to 7; 8: -8 to 7, with the better sign of the scale"),
        CodecOption("scales", allowed: ["float16", "float32"], default: "float16", help: "type of the scales"),
        ScaleFit.option(default: .mse),
        CalibrationMethod.option,
    ]

    public let values: CodecOptionValues
    /// There is no zero point: codes are symmetric about 0.
    public let isSymmetric: Bool
    private let block: Int?
    let search: LinearGridSearch

    /// Creates the codec.
    /// - Throws: `RequestError` for `range` together with `mode=asymmetric`, which has a fixed range.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        block = values.integer("block")
        isSymmetric = values["mode"] == "symmetric"
        if !isSymmetric, values["range"] != "8" {
            throw RequestError("int4: mode=asymmetric always has codes -8 to 7; remove range")
        }
        search = LinearGridSearch(
            codes: isSymmetric && values["range"] == "7" ? -7...7 : -8...7, isSymmetric: isSymmetric,
            scaleType: ScaleType(rawValue: values["scales"]) ?? .float16,
            fit: ScaleFit(rawValue: values["fit"]) ?? .mse)
    }

    /// Returns the number of weights in a row that share a scale.
    public func blockSize(_ shape: Shape) -> Int { max(min(block ?? shape.columns, shape.columns), 1) }
    /// Returns the number of scales per row.
    public func blocksPerRow(_ shape: Shape) -> Int { (shape.columns + blockSize(shape) - 1) / blockSize(shape) }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        let blocks = blocksPerRow(shape)
        return [
            SectionLayout("codes", byteCount: shape.rows * Nibbles.byteCount(shape.columns)),
            SectionLayout("scales", byteCount: shape.rows * blocks * search.scaleType.byteCount),
        ] + (isSymmetric ? [] : [SectionLayout("zeros", byteCount: shape.rows * Nibbles.byteCount(blocks))])
    }

    public func units(shape: Shape) -> [Range<Int>] { shape.rowBlocks(of: 1 << 18) }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        if method == .gptq, let statistics {
            return try encoding(unit, of: source, feedingBackBy: statistics, into: sections)
        }
        let columns = source.shape.columns
        let (size, blocks) = (blockSize(source.shape), blocksPerRow(source.shape))
        let importance = method == .weighted ? statistics?.importance : nil
        let rows = importance == nil ? LinearRows(source, search) : nil
        var distortion = Distortion()
        try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { stored in
            try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: columns + blocks + 1) { codes in
                let zeros = UnsafeMutableBufferPointer(rebasing: codes[columns..<columns + blocks])
                for index in unit {
                    if let rows, let errors = quickly(index, rows, source.shape, sections) {
                        distortion.merge(errors)
                        continue
                    }
                    try source.forEachFiniteRow(index..<index + 1) { index, row in
                        guard let values = row.baseAddress, let back = stored.baseAddress, let start = codes.baseAddress
                        else { return }
                        for block in 0..<blocks {
                            let part = block * size..<min((block + 1) * size, columns)
                            let grid = try source.grid(
                                search, for: UnsafeBufferPointer(rebasing: row[part]), weights: importance?[part],
                                firstIndex: index * columns + part.lowerBound)
                            search.scaleType.store(grid.scale, in: sections[1], at: index * blocks + block)
                            zeros[block] = UInt8(truncatingIfNeeded: grid.zero)
                            grid.encode(
                                values + part.lowerBound, part.count, within: search.codes,
                                codes: start + part.lowerBound, stored: back + part.lowerBound)
                        }
                        Nibbles.pack(start, columns, into: sections[0], at: index * Nibbles.byteCount(columns))
                        if !isSymmetric, let zeros = zeros.baseAddress {
                            Nibbles.pack(zeros, blocks, into: sections[2], at: index * Nibbles.byteCount(blocks))
                        }
                        distortion.add(row, storedAs: UnsafeMutableBufferPointer(rebasing: stored[..<columns]))
                    }
                }
            }
        }
        return distortion
    }

    private func quickly(
        _ row: Int, _ rows: LinearRows, _ shape: Shape, _ sections: [UnsafeMutableRawBufferPointer]
    ) -> Distortion? {
        guard let codes = sections[0].baseAddress, let scales = sections[1].baseAddress else { return nil }
        let scaleBytes = blocksPerRow(shape) * search.scaleType.byteCount
        return rows.encodeNibbles(
            row, block: blockSize(shape),
            into: (codes + row * Nibbles.byteCount(shape.columns)).assumingMemoryBound(to: UInt8.self),
            scales: (scales + row * scaleBytes).assumingMemoryBound(to: UInt8.self))
    }

    /// Reads scales by their index over all rows.
    private func loadScales(
        _ indices: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutablePointer<Float>
    ) {
        weight.sections[1].withBytes { search.scaleType.load($0, indices, into: target) }
    }

    private func grid(of weight: CompressedTensor, row: Int, block: Int) -> LinearGrid {
        grid(of: weight, row: row, block: block, of: blocksPerRow(weight.shape))
    }

    private func grid(of weight: CompressedTensor, row: Int, block: Int, of blocks: Int) -> LinearGrid {
        let zero =
            isSymmetric
            ? 0 : weight.sections[2].withBytes { Nibbles.signed($0, from: row * Nibbles.byteCount(blocks), at: block) }
        return LinearGrid(
            scale: weight.sections[1].withBytes { search.scaleType.load($0, at: row * blocks + block) }, zero: zero)
    }

    /// The codes of a row as bytes, its scales, and its zero points.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        2 * blocksPerRow(shape) * MemoryLayout<Float>.stride + shape.columns
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (shape, columns) = (weight.shape, weight.shape.columns)
        let (size, blocks) = (blockSize(shape), blocksPerRow(shape))
        let scales = scratch.assumingMemoryBound(to: Float.self)
        let zeros = isSymmetric ? nil : scales + blocks
        let codes = (scratch + 2 * blocks * MemoryLayout<Float>.stride).assumingMemoryBound(to: UInt8.self)
        weight.forEachPackedRow(rows, rowBytes: Nibbles.byteCount(columns), into: target) { row, packed, target in
            loadScales(row * blocks..<(row + 1) * blocks, of: weight, into: scales)
            if let zeros { loadZeros(of: weight, row: row, blocks, into: zeros) }
            ck_unpack_codes(packed, 4, columns, codes)
            ck_decode_scaled(codes, 1, columns, size, scales, zeros, target)
        }
    }

    private func loadZeros(
        of weight: CompressedTensor, row: Int, _ blocks: Int, into target: UnsafeMutablePointer<Float>
    ) {
        weight.sections[2].withBytes { section in
            for block in 0..<blocks {
                target[block] = Float(Nibbles.signed(section, from: row * Nibbles.byteCount(blocks), at: block))
            }
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (columns, blocks, reach) = (weight.shape.columns, blocksPerRow(weight.shape), reach)
        let size = blockSize(weight.shape)
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { row in
            withUnsafeTemporaryAllocation(of: Int8.self, capacity: max(columns, 1)) { codes in
                guard let values = row.baseAddress, let start = codes.baseAddress else { return nil }
                for index in rows {
                    source.readFloats(index * columns..<(index + 1) * columns, into: row)
                    weight.sections[0].withBytes {
                        Nibbles.unpackSigned($0, from: index * Nibbles.byteCount(columns), columns, into: start)
                    }
                    for block in 0..<blocks {
                        let part = block * size..<min((block + 1) * size, columns)
                        let grid = grid(of: weight, row: index, block: block, of: blocks)
                        let found = search.violation(
                            of: values + part.lowerBound, codes: start + part.lowerBound, part.count, on: grid,
                            reach: reach)
                        if let found { return (index * columns + part.lowerBound + found.index, found.reason) }
                    }
                }
                return nil
            }
        }
    }
}

extension Int4Codec: BlockScaledCodec {
    package func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes {
        let blocks = blocksPerRow(shape)
        return BlockScaledCodes(
            bits: 4, values: .signed,
            shifts: isSymmetric ? .none : .zeros(rowBytes: Nibbles.byteCount(blocks)), scaleType: search.scaleType,
            rowBytes: Nibbles.byteCount(shape.columns), block: blockSize(shape), blocks: blocks)
    }
}
