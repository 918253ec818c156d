import AccelByteIO
import AccelTensors

extension GGMLCodec: FeedbackCodec {
    /// The entries of iq4_nl.
    private static let table: [Float] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
    private static let palette = Palette(table)
    private static let ratios = SIMD16<Float>(
        100, 106, 113, 120, 127, 134, 142, 150, -100, -106, -113, -120, -127, -134, -142, -150)
    private static let reach = Palette.feedbackReach(of: table.count)

    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: format.elements) }

    /// Encodes rows by error feedback.
    func encoding(
        _ unit: Range<Int>, of source: StoredTensor, feedingBackBy statistics: ActivationStatistics,
        into blocks: UnsafeMutableRawBufferPointer
    ) throws -> Distortion {
        guard let layout = format.layout else {
            return try tableEncoding(unit, of: source, feedingBackBy: statistics, into: blocks)
        }
        return try steppedEncoding(layout, unit, of: source, feedingBackBy: statistics, into: blocks)
    }

    /// Checks that no code of error feedback is further from the nearest one than it may be.
    func feedbackViolation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        guard let layout = format.layout else { return tableViolation(rows, of: weight, source: source) }
        return steppedViolation(layout, rows, of: weight, source: source)
    }

    /// A block of iq4_nl has a scale in float16, and two codes in each byte: those of its halves.
    private func tableEncoding(
        _ unit: Range<Int>, of source: StoredTensor, feedingBackBy statistics: ActivationStatistics,
        into blocks: UnsafeMutableRawBufferPointer
    ) throws -> Distortion {
        let (columns, size, rowBytes) = (source.shape.columns, format.elements, bytesPerRow(source.shape))
        let factor = statistics.factor(feedbackOrder(source.shape), threads: 1)
        let search = TableScaleSearch(palette: Self.palette, ratios: Self.ratios, type: .float16, fit: .mse)
        func block(at position: Int) -> Int { Int(factor.order[position]) / size }
        var grid = TableFeedbackGrid(
            run: min(size, columns), palette: Self.palette, reach: Self.reach,
            importance: ActivationStatistics.floored(factor.pivots)
        ) { row, position, targets, weights in
            let row = unit.lowerBound + row
            let scale = try search.scale(for: targets, weights: weights) { _, _ in
                format.overflow(in: source, at: row * columns + block(at: position) * size)
            }
            blocks.storeBytes(
                of: Half.bits(scale), toByteOffset: row * rowBytes + block(at: position) * format.bytes, as: UInt16.self
            )
            return scale
        }
        let distortion = try source.feedingBack(rows: unit, by: factor, on: &grid) { row, codes in
            for start in stride(from: 0, to: columns, by: size) {
                let target = row * rowBytes + start / size * format.bytes + format.scaleOffset + 2
                // What fills up the last block are zeros, as near as the table has them.
                func code(_ index: Int) -> UInt8 { start + index < columns ? codes[start + index] : 8 }
                for index in 0..<size / 2 { blocks[target + index] = code(index) | code(index + size / 2) << 4 }
            }
        }
        if let error = grid.failure { throw error }
        return distortion
    }

    private func tableViolation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (columns, size, rowBytes) = (weight.shape.columns, format.elements, bytesPerRow(weight.shape))
        return weight.sections[0].withBytes { blocks in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { values in
                for row in rows {
                    source.readFloats(source.elements(ofRows: row..<row + 1), into: values)
                    for column in 0..<columns {
                        let (block, index) = column.quotientAndRemainder(dividingBy: size)
                        let start = row * rowBytes + block * format.bytes + format.scaleOffset
                        let scale = ScaleType.float16.load(
                            UnsafeRawBufferPointer(rebasing: blocks[start..<start + 2]), at: 0)
                        let byte = blocks[start + 2 + index % (size / 2)]
                        let code = index < size / 2 ? byte & 15 : byte >> 4
                        if !Self.palette.isNear(code, to: values[column], scale: scale, reach: Self.reach) {
                            return (row * columns + column, Palette.distantCode(Self.reach))
                        }
                    }
                }
                return nil
            }
        }
    }
}
