/// Evenly spaced values, `scale * (code - zero) + bias`.
protocol FeedbackSteps {
    var scale: Float { get }
    /// Added to codes; 0 without zero points.
    var codeOfZero: Float { get }
    /// The value of the code `codeOfZero`.
    var offset: Float { get }
    /// The only value of a block that has none.
    static var unit: Self { get }
}

/// The search for the steps that values share.
protocol FeedbackSearch: Sendable {
    associatedtype Steps: FeedbackSteps
    var codes: ClosedRange<Int> { get }
    /// Finds the steps of the least squared error.
    /// - Parameter weights: the weights of the squared errors, one per value.
    func steps(for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>?) throws -> Steps
}

/// Evenly spaced values for error feedback. Each run of positions, or each row, has its own steps.
struct LinearFeedbackGrid<Search: FeedbackSearch>: FeedbackGrid {
    let run: Int?
    private let search: Search
    /// The weights of squared errors: by position, or by column if there is only one run.
    private let importance: [Float]
    /// Called with the grid of a row's run.
    private let store: (_ row: Int, _ firstPosition: Int, Search.Steps) -> Void
    private var scales: RunLanes
    private var zeros: RunLanes
    private var offsets: RunLanes
    private(set) var failure: (error: any Error, row: Int, position: Int)?
    private let (low, high, reach): (Float, Float, Float)

    /// - Parameter fixed: the steps of all rows; nil if each run of each row gets its own.
    init(
        run: Int?, search: Search, importance: [Float], reach: Int, fixed: Search.Steps? = nil,
        store: @escaping (_ row: Int, _ firstPosition: Int, Search.Steps) -> Void
    ) {
        (self.run, self.search, self.importance, self.store) = (run, search, importance, store)
        (low, high, self.reach) = (Float(search.codes.lowerBound), Float(search.codes.upperBound), Float(reach))
        self.fixed = fixed
        scales = RunLanes(columns: importance.count, run: run, initially: Lanes(repeating: 1))
        zeros = RunLanes(columns: importance.count, run: run, initially: .zero)
        offsets = zeros
    }
    private let fixed: Search.Steps?

    mutating func begin(
        _ positions: Range<Int>, columns: ArraySlice<Int32>, rows: Range<Int>, targets: UnsafePointer<Float>
    ) {
        scales.reserve(upTo: rows.upperBound)
        zeros.reserve(upTo: rows.upperBound)
        offsets.reserve(upTo: rows.upperBound)
        let index = run.map { positions.lowerBound / $0 } ?? 0
        for row in 0..<rows.count {
            let values = UnsafeBufferPointer(start: targets + row * positions.count, count: positions.count)
            let steps: Search.Steps
            do {
                steps =
                    try fixed
                    ?? importance.withUnsafeBufferPointer {
                        try search.steps(for: values, weights: $0.baseAddress.map { $0 + positions.lowerBound })
                    }
            } catch {
                failure = failure ?? (error, rows.lowerBound + row, positions.lowerBound)
                steps = .unit
            }
            let line = rows.lowerBound + row
            scales[line, index][line % 16] = steps.scale
            zeros[line, index][line % 16] = steps.codeOfZero
            offsets[line, index][line % 16] = steps.offset
            store(rows.lowerBound + row, positions.lowerBound, steps)
        }
    }

    func choose(
        row: Int, run: Int, position _: Int, targets: Lanes, weights: Lanes
    ) -> (codes: SIMD16<Int32>, values: Lanes) {
        Lanes.steps(
            targets, near: weights, scale: scales[row, run], codeOfZero: zeros[row, run], offset: offsets[row, run],
            codes: low...high, reach: reach)
    }
}

extension Lanes {
    /// Returns the codes of evenly spaced values that are nearest to targets, within the reach of those nearest to weights, and these values.
    @inline(__always)
    static func steps(
        _ targets: Lanes, near weights: Lanes, scale: Lanes, codeOfZero: Lanes, offset: Lanes,
        codes: ClosedRange<Float>,
        reach: Float
    ) -> (codes: SIMD16<Int32>, values: Lanes) {
        let (low, high) = (Lanes(repeating: codes.lowerBound), Lanes(repeating: codes.upperBound))
        let nearest = ((weights - offset) / scale + codeOfZero).clamped(low, high).rounded
        var code = ((targets - offset) / scale + codeOfZero).clamped(low, high).rounded
        // Feedback of errors beyond float32 is NaN.
        code.replace(with: nearest, where: code .!= code)
        // The reach may go beyond the grid.
        code = code.clamped(nearest - reach, nearest + reach).clamped(low, high)
        // All codes of a part without a scale stand for the same value.
        code.replace(with: codeOfZero, where: scale .== 0)
        // The low bits of the sum are those of the code.
        let bits = unsafeBitCast(code + Lanes(repeating: rounder), to: SIMD16<Int32>.self)
        return (bits, scale * (code - codeOfZero) + offset)
    }

    /// 1.5 * 2^23: the sum with a float32 below 2^22 is rounded to an integer.
    private static var rounder: Float { 12_582_912 }

    @inline(__always)
    private func clamped(_ low: Lanes, _ high: Lanes) -> Lanes {
        var x = self
        x.replace(with: low, where: x .< low)
        x.replace(with: high, where: x .> high)
        return x
    }

    @inline(__always)
    private var rounded: Lanes {
        let rounder = Lanes(repeating: Self.rounder)
        return (self + rounder) - rounder
    }
}

extension LinearGrid: FeedbackSteps {
    var codeOfZero: Float { Float(zero) }
    var offset: Float { 0 }
    static var unit: LinearGrid { LinearGrid(scale: 1, zero: 0) }
}

extension LinearGridSearch: FeedbackSearch {
    func steps(for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>?) throws -> LinearGrid {
        try grid(for: values, weights: weights)
    }
}

extension AffineGrid: FeedbackSteps {
    var codeOfZero: Float { 0 }
    var offset: Float { bias }
    static var unit: AffineGrid { AffineGrid(scale: 1, bias: 0, top: 1) }
}

extension AffineGridSearch: FeedbackSearch {
    /// Scale or bias exceeds the range of its type.
    struct Overflow: Error {}

    var codes: ClosedRange<Int> { 0...top }

    func steps(for values: UnsafeBufferPointer<Float>, weights: UnsafePointer<Float>?) throws -> AffineGrid {
        guard let grid = grid(for: values, weights: weights) else { throw Overflow() }
        return grid
    }
}
