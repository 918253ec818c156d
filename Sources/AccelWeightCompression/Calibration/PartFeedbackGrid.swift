/// Evenly spaced values for error feedback, in blocks of columns whose parts have steps of their own.
struct PartFeedbackGrid: FeedbackGrid {
    let run: Int?
    /// The columns of a block, and of a part.
    private let (elements, part): (Int, Int)
    /// The column at each position, and the weight of its squared errors.
    private let (order, importance): ([Int32], [Float])
    private let (low, high, reach): (Float, Float, Float)
    /// Finds and stores the steps of a row's block from the targets of its columns, with the weights of their squared errors; columns that the
    /// row does not have are zeros.
    private let steps: (_ row: Int, _ block: Int, _ targets: [Float], _ weights: [Float]) throws -> [GGMLSteps]
    /// The steps of all parts of each block.
    private var scales: RunLanes
    private var offsets: RunLanes
    /// The first error of `steps`.
    private(set) var failure: (any Error)?

    init(
        elements: Int, part: Int, order: [Int32], importance: [Float], codes: ClosedRange<Int>, reach: Int,
        steps: @escaping (_ row: Int, _ block: Int, _ targets: [Float], _ weights: [Float]) throws -> [GGMLSteps]
    ) {
        (run, self.elements, self.part) = (min(elements, order.count), elements, min(part, elements))
        (self.order, self.importance, self.steps) = (order, importance, steps)
        (low, high, self.reach) = (Float(codes.lowerBound), Float(codes.upperBound), Float(reach))
        let parts = elements / self.part
        scales = RunLanes(columns: order.count, run: run, parts: parts, initially: Lanes(repeating: 1))
        offsets = RunLanes(columns: order.count, run: run, parts: parts, initially: .zero)
    }

    mutating func begin(
        _ positions: Range<Int>, columns: ArraySlice<Int32>, rows: Range<Int>, targets: UnsafePointer<Float>
    ) {
        scales.reserve(upTo: rows.upperBound)
        offsets.reserve(upTo: rows.upperBound)
        let first = (run.map { positions.lowerBound / $0 } ?? 0) * (elements / part)
        let block = columns.first.map { Int($0) / elements } ?? 0
        var weights = [Float](repeating: 0, count: elements)
        for (position, column) in zip(positions, columns) { weights[Int(column) % elements] = importance[position] }
        for row in 0..<rows.count {
            var values = [Float](repeating: 0, count: elements)
            for (index, column) in columns.enumerated() {
                // Feedback of errors beyond float32 is no number.
                let target = targets[row * positions.count + index]
                values[Int(column) % elements] = target.isFinite ? target : 0
            }
            do {
                let line = rows.lowerBound + row
                for (part, steps) in try steps(line, block, values, weights).enumerated() {
                    scales[line, first + part][line % 16] = steps.scale
                    offsets[line, first + part][line % 16] = steps.offset
                }
            } catch { failure = failure ?? error }
        }
    }

    func choose(
        row: Int, run: Int, position: Int, targets: Lanes, weights: Lanes
    ) -> (codes: SIMD16<Int32>, values: Lanes) {
        let part = run * (elements / part) + Int(order[position]) % elements / part
        return Lanes.steps(
            targets, near: weights, scale: scales[row, part], codeOfZero: .zero, offset: offsets[row, part],
            codes: low...high, reach: reach)
    }
}
