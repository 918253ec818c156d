public import AccelByteIO
public import AccelTensors
import CAccelKernels

/// 8-bit floating-point numbers (OFP8 of the Open Compute Project) with a scale. The scale maps the largest weight that
/// shares it to the largest value of the type. Quotients are rounded to nearest, ties to even.
///
/// Sections: `codes` (one byte per weight, row-major), `scales` (float32, one per tile, row-major).
public struct Float8Codec: SingleSchemeCodec {
    public static let name = "float8"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "type", allowed: ["e4m3", "e5m2"], default: "e4m3",
            help: "e4m3: three bits of mantissa, values up to 448; e5m2: two, up to 57344"),
        CodecOption(
            "scale", allowed: ["channel", "tensor", "block"], default: "channel",
            help: "weights that share a scale: an output channel, the tensor, or a block of 128 x 128"),
    ]

    public let values: CodecOptionValues
    private let isE5M2: Bool
    private let type: Float8
    private let sharing: Sharing

    /// The weights that share a scale.
    private enum Sharing: String {
        case channel, tensor, block
    }

    public init(_ values: CodecOptionValues) {
        self.values = values
        isE5M2 = values["type"] == "e5m2"
        type = isE5M2 ? .e5m2 : .e4m3
        sharing = Sharing(rawValue: values["scale"]) ?? .channel
    }

    /// The division of weights into tiles that share a scale. Tiles at the lower and right edges may be smaller.
    private struct Tiles {
        let rows: Int
        let columns: Int
        let perRow: Int
        let count: Int

        init(_ shape: Shape, by sharing: Sharing) {
            switch sharing {
            case .tensor: (rows, columns) = (max(shape.rows, 1), max(shape.columns, 1))
            case .block: (rows, columns) = (128, 128)
            case .channel: (rows, columns) = (1, max(shape.columns, 1))
            }
            perRow = (shape.columns + columns - 1) / columns
            count = (shape.rows + rows - 1) / rows * perRow
        }

        /// The columns of a tile, of `all` columns.
        func columns(of tile: Int, _ all: Int) -> Range<Int> { tile * columns..<min((tile + 1) * columns, all) }
    }

    private func tiles(_ shape: Shape) -> Tiles { Tiles(shape, by: sharing) }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
    }

    public func sections(elementType: ElementType, shape: Shape) -> [SectionLayout] {
        [
            SectionLayout("codes", byteCount: shape.count),
            SectionLayout("scales", byteCount: tiles(shape).count * MemoryLayout<Float>.stride),
        ]
    }

    /// Whole rows of tiles, so that each unit writes its own scales.
    public func units(shape: Shape) -> [Range<Int>] {
        let tall = tiles(shape).rows
        let step = max(1, (1 << 18) / max(shape.columns, 1) / tall) * tall
        return stride(from: 0, to: shape.rows, by: step).map { $0..<min($0 + step, shape.rows) }
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        sections[0].withBytes { codes in
            codes.contains { !type.values[Int($0)].isFinite } ? "a code that is no finite number" : nil
        }
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let (shape, tiles) = (source.shape, tiles(source.shape))
        var distortion = Distortion()
        var scales = [Float](repeating: 1, count: tiles.perRow)
        try withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { stored in
            let stored = UnsafeMutableBufferPointer(rebasing: stored[..<shape.columns])
            for start in stride(from: unit.lowerBound, to: unit.upperBound, by: tiles.rows) {
                let band = start..<min(start + tiles.rows, unit.upperBound)
                try findScales(of: source, band, tiles, &scales)
                for (tile, scale) in scales.enumerated() {
                    let index = start / tiles.rows * tiles.perRow + tile
                    sections[1].storeBytes(of: scale, toByteOffset: 4 * index, as: Float.self)
                }
                try source.forEachFiniteRow(band) { row, values in
                    let codes = UnsafeMutableRawBufferPointer(
                        rebasing: sections[0][row * shape.columns..<(row + 1) * shape.columns])
                    for tile in 0..<tiles.perRow {
                        let scale = scales[tile]
                        for column in tiles.columns(of: tile, shape.columns) {
                            let code = type.code(values[column] / scale)
                            codes[column] = code
                            stored[column] = type.values[Int(code)] * scale
                        }
                    }
                    distortion.add(values, storedAs: stored)
                }
            }
        }
        return distortion
    }

    /// Finds the scale of each tile in a band of rows: it maps the largest magnitude to the largest value of the type.
    private func findScales(
        of source: StoredTensor, _ band: Range<Int>, _ tiles: Tiles, _ scales: inout [Float]
    ) throws {
        for tile in scales.indices { scales[tile] = 0 }
        try source.forEachFiniteRow(band) { _, values in
            for tile in 0..<tiles.perRow {
                let columns = tiles.columns(of: tile, source.shape.columns)
                let (low, high) = UnsafeBufferPointer(rebasing: values[columns]).extremes
                scales[tile] = max(scales[tile], -low, high)
            }
        }
        for tile in scales.indices {
            let largest = scales[tile]
            var scale = largest == 0 ? 1 : max(largest / type.largest, .leastNormalMagnitude)
            // A scale that was rounded up may exceed float32 times the largest value.
            if !(scale * type.largest).isFinite { scale = scale.nextDown }
            scales[tile] = scale
        }
    }

    private func scale(of weight: CompressedTensor, _ tiles: Tiles, row: Int, tile: Int) -> Float {
        weight.sections[1].withBytes {
            $0.loadUnaligned(fromByteOffset: 4 * (row / tiles.rows * tiles.perRow + tile), as: Float.self)
        }
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (tiles, columns) = (tiles(weight.shape), weight.shape.columns)
        weight.sections[1].withBytes { scales in
            weight.forEachPackedRow(rows, rowBytes: columns, into: target) { row, codes, target in
                let firstScale = row / tiles.rows * tiles.perRow
                for tile in 0..<tiles.perRow {
                    let part = tiles.columns(of: tile, columns), first = part.lowerBound
                    let scale = scales.loadUnaligned(fromByteOffset: 4 * (firstScale + tile), as: Float.self)
                    ck_decode_float8(codes + first, isE5M2 ? 1 : 0, scale, part.count, target + first)
                }
            }
        }
    }

    /// A table of the type's values, with one scale for each tile of each row.
    public func encoding(of weight: CompressedTensor) -> WeightEncoding? {
        let (shape, tiles) = (weight.shape, tiles(weight.shape))
        let scales = (0..<shape.rows).flatMap { row in
            (0..<tiles.perRow).map { scale(of: weight, tiles, row: row, tile: $0) }
        }
        return .palette(
            PaletteEncoding(
                codes: PackedCodes(bits: 8, bytes: weight.sections[0], rows: shape.rows, columns: shape.columns),
                tables: [type.values.map { $0.isFinite ? $0 : 0 }], rowsPerTable: max(shape.rows, 1),
                scales: BlockScales(values: scales, block: min(tiles.columns, max(shape.columns, 1)))))
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (shape, tiles) = (weight.shape, tiles(weight.shape))
        return weight.sections[0].withBytes { codes in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(shape.columns, 1)) { values in
                for row in rows {
                    source.readFloats(source.elements(ofRows: row..<row + 1), into: values)
                    for column in 0..<shape.columns {
                        let x = values[column] / scale(of: weight, tiles, row: row, tile: column / tiles.columns)
                        func distance(_ code: UInt8) -> Double { abs(Double(x) - Double(type.values[Int(code)])) }
                        // The comparison is written so that a NaN code is a violation too.
                        if !(distance(codes[row * shape.columns + column]) <= distance(type.code(x))) {
                            return (row * shape.columns + column, "has a code that is not the nearest value's")
                        }
                    }
                }
                return nil
            }
        }
    }
}

extension Float8Codec: BlockScaledCodec {
    package func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes {
        let tiles = tiles(shape)
        return BlockScaledCodes(
            bits: 8, values: .float8(isE5M2: isE5M2), shifts: .none, scaleType: .float32, rowBytes: shape.columns,
            block: min(tiles.columns, max(shape.columns, 1)), blocks: tiles.perRow, rowsPerScale: tiles.rows)
    }
}
