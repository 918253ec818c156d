import AccelPlatform
import AccelPrograms
import AccelTensors

/// Random errors as large as those of an arithmetic, which show how much a computation amplifies them (Monte Carlo
/// arithmetic; Parker, 1997).
///
/// The reference implementations compute each result in float64 and round it once. Kernels round each product and sum, in
/// an order of their own. Both are right, and how far apart they end depends on the model and its inputs: all-MiniLM-L6-v2
/// leaves 124 dB, SmolLM2-135M 80 dB. So the reference runs twice, once with a random relative error in each result, and
/// the distance of the two runs is the noise that a limit has to leave room for.
struct RoundingNoise: Sendable {
    /// An arithmetic, by the RMS of the relative errors of its results.
    enum Arithmetic: Equatable, Sendable {
        /// Sums and functions that are rounded to float32.
        case float32
        /// Each result is rounded to float16, with a relative error of at most 2^-11.
        case float16

        var relativeSize: Float { self == .float32 ? 0x1p-23 : 0x1p-12 }
    }

    /// The limit is so many times the measured noise.
    static let margin = 4.0
    /// The same in dB.
    static let marginDecibels = 20 * log10(margin)
    /// Results that differ by more than this share of their RMS are other results, whatever the noise: in dB, 12.
    static let mostNoise = -20 * log10(Tolerance.mostNoise)
    /// Results of fewer elements than this are measured by several runs.
    private static let fewElements = 64
    /// The most runs of a measurement.
    private static let mostRuns = 4

    let arithmetic: Arithmetic
    /// Noise of the same seed is equal.
    let seed: UInt64

    /// Returns the noises of the runs that measure results of these shapes.
    static func runs(_ arithmetic: Arithmetic, over shapes: [Shape], seed: UInt64) -> [RoundingNoise] {
        let count = shapes.map(\.count).filter { $0 > 0 }.min() ?? fewElements
        let runs = min(mostRuns, max(1, (fewElements + count - 1) / count))
        return (0..<runs).map { RoundingNoise(arithmetic: arithmetic, seed: seed &+ UInt64($0)) }
    }

    /// Whether an element is a whole number, such as a position or a zero: sums and products of these are exact in any order.
    private static func isCount(_ element: Float) -> Bool {
        abs(element) < 0x1p20 && element == element.rounded(.towardZero)
    }

    /// Returns a float32 tensor with an error in each element; a tensor of another type, whose errors come from the
    /// numbers that are rounded to it, as it is.
    /// - Parameter name: tensors of different names have different errors.
    func applied(to tensor: HostTensor, _ name: String) -> HostTensor {
        guard case .float32(let floats) = tensor.elements else { return tensor }
        let stream = SeededStream(seed: seed, name: name)
        let size = arithmetic.relativeSize
        let width = 1 << 12
        var noisy = Reference.rows((floats.count + width - 1) / width, width: width) { row, target in
            for index in row * width..<min((row + 1) * width, floats.count) {
                let element = floats[index]
                let moved = element * (1 + size * stream.normal(index))
                target[index - row * width] = moved.isFinite && !Self.isCount(element) ? moved : element
            }
        }
        noisy.removeLast(noisy.count - floats.count)
        return HostTensor(noisy, tensor.shape)
    }

    /// Computes an operation by its reference, with errors where those of a right implementation are: in each result, and,
    /// of sums, in each term.
    /// - Parameters:
    ///   - label: of the node; nodes of different labels have different errors.
    ///   - rows: the rows of a linear product's weight that are multiplied; nil for all.
    func evaluate(
        _ operation: any Operator, _ label: String, _ operands: [ReferenceOperand], rows: [Int]? = nil
    ) throws -> [HostTensor] {
        let rounding = type(of: operation).rounding
        var moved = operands
        if rounding == .accumulated {
            moved = operands.enumerated().map { index, operand in
                guard case .tensor(let tensor) = operand else { return operand }
                return .tensor(applied(to: tensor, "\(label) input \(index)"))
            }
        }
        let results =
            if let rows, let linear = operation as? Linear {
                [try linear.evaluate(moved, rows: rows)]
            } else {
                try operation.evaluate(operands: moved)
            }
        if rounding == .exact { return results }
        return results.enumerated().map { applied(to: $1, "\(label) \($0)") }
    }

    /// Returns the evaluation of nodes with errors; of their reference where there is no noise.
    static func evaluation(_ noise: RoundingNoise?) -> ReferenceRun.Evaluation {
        { node, operands in
            try noise?.evaluate(node.operation, node.label, operands) ?? node.operation.evaluate(operands: operands)
        }
    }
}

extension [String: Metrics] {
    /// Adds a measurement of the noise of a result; of several of one result the largest counts.
    mutating func measure(_ name: String, _ noise: Metrics) {
        if let other = self[name], !(noise.sqnr < other.sqnr) { return }
        self[name] = noise.summarized
    }
}

extension Tolerance {
    /// Returns the limit that leaves room for measured noise; the own one where that is wider, or where no arithmetic sets it.
    func allowing(_ noise: Metrics?) -> Tolerance {
        guard let noise, let arithmetic, let sqnr, noise.squaredError > 0, noise.nonFiniteMismatches == 0 else {
            return self
        }
        let limit = max(noise.sqnr - RoundingNoise.marginDecibels, RoundingNoise.mostNoise)
        guard limit < sqnr else { return self }
        return Tolerance(
            sqnr: limit,
            origin: "4 x the noise of \(arithmetic) arithmetic, measured at \(FigureText.decibels(noise.sqnr)) dB")
    }

    /// Returns the limit for the outputs of a lossy model: the loss that its reference has on the same inputs.
    /// - Parameter loss: the reference with the stored weights, and with the roundings of the package, against the expected values.
    func allowing(loss: Metrics) -> Tolerance {
        let limit = loss.sqnr - RoundingNoise.marginDecibels
        guard let sqnr, limit < sqnr else { return self }
        var tolerance = self
        tolerance.sqnr = limit
        tolerance.origin = "4 x the loss of the reference with the stored weights, \(FigureText.decibels(loss.sqnr)) dB"
        return tolerance
    }
}

extension OutputFinding {
    /// Returns the finding with a limit that leaves room for measured noise.
    func allowing(_ noise: Metrics?) -> OutputFinding {
        let limit = tolerance.allowing(noise)
        guard limit != tolerance else { return self }
        var copy = self
        copy.tolerance = limit
        copy.failure = limit.failureReason(for: metrics)
        return copy
    }

    /// The output exceeds a limit that measured noise may widen.
    var isBeyondArithmetic: Bool {
        failure != nil && tolerance.arithmetic != nil && metrics.sqnr >= RoundingNoise.mostNoise
    }
}
