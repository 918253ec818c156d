import AccelByteIO
import AccelTensors

extension MicroscaledCodec {
    /// The largest distance between a stored value and the nearest one, in values of the type.
    var reach: Int { method == .gptq ? Palette.feedbackReach(of: elements.ascending.count) : 0 }

    /// Encodes rows by error feedback.
    /// - Parameter scales: the scales by their codes, with that of the tensor.
    func encoding(
        _ unit: Range<Int>, of source: StoredTensor, among scales: [Float],
        feedingBackBy statistics: ActivationStatistics, threads: Int, into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        let (columns, size, perRow) = (shape.columns, blocks.size(shape), blocks.perRow(shape))
        let factor = statistics.factor(FeedbackOrder(group: size), threads: 1)
        let (importance, codes) = (ActivationStatistics.floored(factor.pivots), elements.ascending)
        let palette = Palette(codes.map { elements.values[Int($0)] })
        guard let target = sections[0].baseAddress.map(SharedBytes.init),
            let scaleTarget = sections[1].baseAddress.map(SharedBytes.init)
        else { return Distortion() }
        let parts = source.rowBlocks(of: 1 << 17, in: unit)
        return try Parallel.map(parts.count, threads: threads) { index in
            let rows = parts[index]
            var grid = TableFeedbackGrid(run: size, palette: palette, reach: reach, importance: importance) {
                row, position, targets, weights in
                let code = scaleCode(for: targets, weights: weights, of: source.elementType, among: scales)
                let block = (rows.lowerBound + row) * perRow + Int(factor.order[position]) / size
                scaleTarget.start.storeBytes(of: code, toByteOffset: block, as: UInt8.self)
                // The scale is 0 if all targets are.
                return scales[Int(code)] == 0 ? 1 : scales[Int(code)]
            }
            return try source.feedingBack(rows: rows, by: factor, on: &grid) { row, ranks in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: columns) { line in
                    for column in 0..<columns { line[column] = codes[Int(ranks[column])] }
                    BitPacking.pack(
                        UnsafeBufferPointer(line), bits: elements.bits,
                        into: (target.start + row * rowBytes(shape)).assumingMemoryBound(to: UInt8.self))
                }
            }
        }.reduce(into: Distortion()) { $0.merge($1) }
    }
}

extension SmallFloat {
    /// The codes of all finite values, ascending; of the two zeros, that without a sign.
    var ascending: [UInt8] {
        values.indices.filter { values[$0].isFinite && !(values[$0] == 0 && values[$0].sign == .minus) }
            .sorted { values[$0] < values[$1] }.map { UInt8($0) }
    }

    /// The rank of each code's value among the finite ones, ascending. Both zeros have the same; values that are not finite are out of
    /// reach of all.
    var ranks: [Int] {
        let known = Dictionary(
            uniqueKeysWithValues: ascending.enumerated().map { (values[Int($0.element)], $0.offset) })
        return values.map { known[$0] ?? 2 * values.count }
    }
}
