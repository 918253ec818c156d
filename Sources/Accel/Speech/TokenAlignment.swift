import AccelPlatform

/// Finds where the tokens of a text are spoken, by the attention of some of the decoder's heads to the sound: the shares of attention are
/// normalised over the tokens and smoothed over time, and the cheapest monotonic path through their mean tells the times (dynamic time
/// warping), as in OpenAI's Whisper.
struct TokenAlignment {
    /// The scores of some heads before the softmax: F32[heads, rows, states], of which the first rows and states count.
    struct Scores {
        let heads, rows, states: Int
    }

    /// For each kept row the state of the sound at which it begins.
    let starts: [Int]
    /// The states that a share is smoothed over.
    private static let smoothing = 7

    /// - Parameters:
    ///   - scores: the scores of a text.
    ///   - shape: the sizes of the scores.
    ///   - tokens: the number of the text's tokens, 1 or more.
    ///   - states: the number of the sound's states, 1 or more.
    ///   - kept: the tokens whose times are wanted.
    init(_ scores: Span<Float>, _ shape: Scores, tokens: Int, states: Int, kept: Range<Int>) {
        var mean = [Float](repeating: 0, count: kept.count * states)
        for head in 0..<shape.heads {
            var shares: [Float] = []
            shares.reserveCapacity(tokens * states)
            for token in 0..<tokens {
                let start = (head * shape.rows + token) * shape.states
                shares += Self.softmax(scores.extracting(start..<start + states))
            }
            Self.normalise(&shares, tokens: tokens, states: states)
            for (row, token) in kept.enumerated() {
                let smooth = Self.smoothed(shares[token * states..<(token + 1) * states])
                for state in 0..<states { mean[row * states + state] += smooth[state] / Float(shape.heads) }
            }
        }
        starts = Self.starts(along: mean, rows: kept.count, states: states)
    }

    private static func softmax(_ scores: Span<Float>) -> [Float] {
        let total = logSumExp(scores)
        return scores.indices.map { Float(exp(Double(scores[$0]) - total)) }
    }

    /// Takes the mean over all tokens from each state's shares, and divides them by their deviation.
    private static func normalise(_ shares: inout [Float], tokens: Int, states: Int) {
        for state in 0..<states {
            let column = stride(from: state, to: tokens * states, by: states)
            let mean = column.reduce(0) { $0 + Double(shares[$1]) } / Double(tokens)
            let variance = column.reduce(0) { sum, index in
                let difference = Double(shares[index]) - mean
                return sum + difference * difference
            }
            let deviation = (variance / Double(tokens)).squareRoot()
            for index in column {
                shares[index] = deviation > 0 ? Float((Double(shares[index]) - mean) / deviation) : 0
            }
        }
    }

    /// Returns the medians around each value. The values go on in reverse at both ends.
    private static func smoothed(_ values: ArraySlice<Float>) -> [Float] {
        let reach = smoothing / 2
        let values = Array(values)
        guard values.count > reach else { return values }
        func value(_ index: Int) -> Float {
            let inner = abs(index)
            return values[inner < values.count ? inner : 2 * (values.count - 1) - inner]
        }
        return values.indices.map { index in
            (index - reach...index + reach).map(value).sorted()[reach]
        }
    }

    /// Returns the first state of each row on the path from the first row and state to the last ones with the largest sum, where each step
    /// leads to the next row, the next state, or both.
    private static func starts(along values: [Float], rows: Int, states: Int) -> [Int] {
        enum Step: UInt8 { case both, row, state }
        var steps = [Step](repeating: .state, count: rows * states)
        /// The largest sums of the row before, and of the current one.
        var before = [Double](repeating: -.infinity, count: states)
        for row in 0..<rows {
            var sums = [Double](repeating: -.infinity, count: states)
            for state in 0..<states {
                let left = state > 0 ? sums[state - 1] : -.infinity
                let (above, diagonal) = (before[state], state > 0 ? before[state - 1] : row == 0 ? 0 : -.infinity)
                let step: Step = diagonal > above && diagonal > left ? .both : above > left ? .row : .state
                steps[row * states + state] = step
                let best = step == .both ? diagonal : step == .row ? above : left
                sums[state] = best + Double(values[row * states + state])
            }
            before = sums
        }
        var starts = [Int](repeating: 0, count: rows)
        var (row, state) = (rows - 1, states - 1)
        while row >= 0, state >= 0 {
            starts[row] = state
            switch steps[row * states + state] {
            case .both: (row, state) = (row - 1, state - 1)
            case .row: row -= 1
            case .state: state -= 1
            }
        }
        return starts
    }
}
