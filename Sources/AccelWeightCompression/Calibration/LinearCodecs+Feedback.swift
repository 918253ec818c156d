import AccelByteIO
import AccelTensors

extension ActivationStatistics {
    /// The importance of a squared error, by column: the mean square of the input, normalised to a mean of 1, with a
    /// lower bound for inputs that were always zero.
    var importance: [Float] { Self.floored(meanSquares) }

    static func floored(_ squares: [Float]) -> [Float] {
        let mean = squares.reduce(0) { $0 + Double($1) } / Double(max(squares.count, 1))
        guard mean > 0 else { return squares.map { _ in 1 } }
        // Normalised, so that the unit of the inputs does not matter.
        return squares.map { Float(max(Double($0) / mean, 1e-4)) }
    }
}

extension [Float]? {
    /// Calls `body` with the elements of a range; with nil without elements.
    func withElements<Result>(
        _ range: Range<Int>, _ body: (UnsafePointer<Float>?) throws -> Result
    ) rethrows -> Result {
        guard let self else { return try body(nil) }
        return try self[range].withUnsafeBufferPointer { try body($0.baseAddress) }
    }
}

extension LinearGridSearch {
    /// The largest distance in codes between a code of error feedback and the nearest one.
    static let feedbackReach = 3

    /// Returns why error feedback cannot have chosen a code that is `steps` from the value; nil if it can.
    func feedbackViolation(_ steps: Double, code: Int, reach: Int) -> String? {
        // Values outside of the grid count as its end.
        let nearest = min(max(steps + Double(code), Double(codes.lowerBound)), Double(codes.upperBound))
        guard steps.isFinite, abs(nearest - Double(code)) <= Double(reach) + LinearGrid.halfStep else {
            return "is \(abs(steps)) steps from its stored value, more than \(reach) and a half"
        }
        return nil
    }
}

extension WeightCodec {
    /// The largest distance in codes between a stored code and the nearest one.
    var reach: Int { method == .gptq ? LinearGridSearch.feedbackReach : 0 }
}

/// A codec whose codes can be chosen by error feedback.
protocol FeedbackCodec: WeightCodec {
    /// The order of the columns of a weight.
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder
}

extension Int4Codec: FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: blockSize(shape)) }

    func encoding(
        _ unit: Range<Int>, of source: StoredTensor, feedingBackBy statistics: ActivationStatistics,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let columns = source.shape.columns
        let (size, blocks) = (blockSize(source.shape), blocksPerRow(source.shape))
        let factor = statistics.factor(feedbackOrder(source.shape), threads: 1)
        let zeroBytes = Nibbles.byteCount(blocks)
        var zeros = [UInt8](repeating: 0, count: unit.count * blocks)
        return try zeros.withUnsafeMutableBufferPointer { zeros in
            nonisolated(unsafe) let zeros = zeros
            var grid = LinearFeedbackGrid(
                run: size, search: search, importance: ActivationStatistics.floored(factor.pivots),
                reach: LinearGridSearch.feedbackReach
            ) { row, position, grid in
                let block = Int(factor.order[position]) / size
                search.scaleType.store(grid.scale, in: sections[1], at: (unit.lowerBound + row) * blocks + block)
                zeros[row * blocks + block] = UInt8(truncatingIfNeeded: grid.zero)
            }
            let distortion = try source.feedingBack(unit, by: factor, on: &grid) { row, codes in
                Nibbles.pack(codes, columns, into: sections[0], at: row * Nibbles.byteCount(columns))
            }
            if !isSymmetric, let start = zeros.baseAddress {
                for (index, row) in unit.enumerated() {
                    Nibbles.pack(start + index * blocks, blocks, into: sections[2], at: row * zeroBytes)
                }
            }
            return distortion
        }
    }
}

extension Int8Codec: FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: 1) }

    func encoding(
        _ unit: Range<Int>, of source: StoredTensor, feedingBackBy statistics: ActivationStatistics,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let columns = source.shape.columns
        let factor = statistics.factor(feedbackOrder(source.shape), threads: 1)
        let shared = isPerChannel ? nil : try sharedGrid(of: source)
        var grid = LinearFeedbackGrid(
            run: nil, search: search, importance: factor.byColumn(ActivationStatistics.floored(factor.pivots)),
            reach: LinearGridSearch.feedbackReach, fixed: shared
        ) { row, _, grid in store(grid, in: sections, at: isPerChannel ? unit.lowerBound + row : 0) }
        return try source.feedingBack(unit, by: factor, on: &grid) { row, codes in
            guard let target = sections[0].baseAddress else { return }
            (target + row * columns).copyMemory(from: codes, byteCount: columns)
        }
    }
}

extension AffineCodec: FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: blocks.size(shape)) }

    func encoding(
        _ unit: Range<Int>, of source: StoredTensor, feedingBackBy statistics: ActivationStatistics,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        let shape = source.shape
        let (columns, size, perRow) = (shape.columns, blocks.size(shape), blocks.perRow(shape))
        let factor = statistics.factor(feedbackOrder(shape), threads: 1)
        func block(at position: Int) -> Int { Int(factor.order[position]) / size }
        var grid = LinearFeedbackGrid(
            run: size, search: search, importance: ActivationStatistics.floored(factor.pivots),
            reach: reach
        ) { row, position, grid in
            store(grid, in: sections, at: (unit.lowerBound + row) * perRow + block(at: position))
        }
        let distortion = try source.feedingBack(rows: unit, by: factor, on: &grid) { row, codes in
            guard let target = sections[0].baseAddress else { return }
            BitPacking.pack(
                UnsafeBufferPointer(start: codes, count: columns), bits: bits,
                into: (target + row * bytesPerRow(shape)).assumingMemoryBound(to: UInt8.self))
        }
        if let failure = grid.failure {
            throw overflow(
                of: source, at: (unit.lowerBound + failure.row) * columns + block(at: failure.position) * size)
        }
        return distortion
    }
}

extension PaletteCodec: FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: 1) }
}

extension StoredTensor {
    /// Runs error feedback over rows on a linear grid.
    /// - Parameter store: receives the codes of each row.
    /// - Throws: `FormatError` if a scale exceeds its type.
    func feedingBack(
        _ unit: Range<Int>, by factor: FeedbackFactor, on grid: inout LinearFeedbackGrid<LinearGridSearch>,
        _ store: (_ row: Int, _ codes: UnsafePointer<UInt8>) -> Void
    ) throws -> Distortion {
        let distortion = try feedingBack(rows: unit, by: factor, on: &grid, store)
        if let failure = grid.failure, let overflow = failure.error as? LinearGridSearch.Overflow {
            throw error(overflow, index: (unit.lowerBound + failure.row) * shape.columns)
        }
        return distortion
    }

    /// Runs error feedback over rows on any grid.
    /// - Parameter store: receives the codes of each row.
    func feedingBack<Grid: FeedbackGrid>(
        rows unit: Range<Int>, by factor: FeedbackFactor, on grid: inout Grid,
        _ store: (_ row: Int, _ codes: UnsafePointer<UInt8>) -> Void
    ) throws -> Distortion {
        let columns = shape.columns
        let count = unit.count * columns
        let weights = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2 * count)
        let codes = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
        defer {
            weights.deallocate()
            codes.deallocate()
        }
        var distortion = Distortion()
        guard let start = weights.baseAddress else { return distortion }
        try readFinite(elements(ofRows: unit), into: UnsafeMutableBufferPointer(start: start, count: count))
        ErrorFeedback(factor: factor).run(start, rows: unit.count, grid: &grid, codes: codes, stored: start + count)
        for (index, row) in unit.enumerated() {
            store(row, codes + index * columns)
            let row = start + index * columns
            distortion.add(
                UnsafeMutableBufferPointer(start: row, count: columns),
                storedAs: UnsafeMutableBufferPointer(start: row + count, count: columns))
        }
        return distortion
    }
}
