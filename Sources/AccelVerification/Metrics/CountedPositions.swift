import Accel
import AccelCPURuntime
import AccelCalibration
import AccelPrograms
import AccelTensors

/// The positions of a run that count: those that its attention mask shows. What a model gives at hidden positions serves no one, so
/// that the figures of outputs leave it out, as those of conversions over samples do.
struct CountedPositions {
    /// All positions count.
    static let all = CountedPositions(shown: [], sizes: [])

    /// For each position, row-major over samples and positions; empty if all count.
    private let shown: [Bool]
    /// The samples, and the positions of each.
    private let sizes: [Int]
    /// The samples of the run, and those that count, from the first on; nil if all do.
    private var rows: (all: Int, own: Int)?
    /// The content of a state before the run, of which only the elements that either side changes count; nil for other values.
    private var start: HostTensor?

    private init(shown: [Bool], sizes: [Int]) { (self.shown, self.sizes) = (shown, sizes) }

    /// The elements of a state that a run changes, so that unchanged initial values do not hide errors; all where nothing is changed.
    init(changedSince start: HostTensor) {
        (shown, sizes, self.start) = ([], [], start)
    }

    /// The positions that the mask of a run's inputs shows; all if there is no mask, or one that shows none.
    init(_ inputs: [String: HostTensor], of interface: Interface?) {
        let name = interface?.inputs.first { $0.value.kind == .attentionMask }?.key ?? CalibrationSamples.maskName
        guard let mask = inputs[name], mask.shape.rank == 2, !mask.elementType.isFloatingPoint else {
            self = .all
            return
        }
        let shown = mask.integers.map { $0 != 0 }
        let isWhole = shown.allSatisfy { $0 } || !shown.contains(true)
        self = isWhole ? .all : CountedPositions(shown: shown, sizes: mask.shape.dimensions)
    }

    /// Returns the positions of the first samples, where the others fill up a run.
    /// - Parameter rows: the samples of the run, and those that count; nil if all do.
    func counting(_ rows: (all: Int, own: Int)?) -> CountedPositions {
        guard let rows, rows.own < rows.all else { return self }
        var copy = self
        copy.rows = rows
        return copy
    }

    /// The positions of a block of tokens that count: those that it is the first to take, without padding.
    /// - Parameters:
    ///   - length: the tokens of the block in a row.
    ///   - lengths: for each row, the tokens before its padding.
    ///   - start: the position of the first token of the sequence.
    init(_ step: RunStep, of length: Int, lengths: [Int], from start: Int) {
        guard let positions = step.positions else {
            self = .all
            return
        }
        let rows = step.rows ?? 0..<length
        let shown = lengths.flatMap { count in
            (0..<length).map { rows.contains($0) && positions.lowerBound - start + $0 - rows.lowerBound < count }
        }
        self = shown.allSatisfy { $0 } ? .all : CountedPositions(shown: shown, sizes: [lengths.count, length])
    }

    /// Whether a tensor of this shape has elements at hidden positions: its first dimensions are samples and positions.
    func hidesElements(of shape: Shape) -> Bool {
        !shown.isEmpty && shape.rank > 2 && Array(shape.dimensions.prefix(2)) == sizes
    }

    /// Returns the elements of a tensor that count, in their order.
    func elements(of tensor: HostTensor) -> [Float] {
        var floats = tensor.floats
        if let rows, tensor.shape.dimensions.first == rows.all {
            floats.removeLast(floats.count / rows.all * (rows.all - rows.own))
        }
        guard hidesElements(of: tensor.shape) else { return floats }
        let width = tensor.shape.count / shown.count
        var counted: [Float] = []
        counted.reserveCapacity(shown.count { $0 } * width)
        for (position, isShown) in shown.enumerated() where isShown && (position + 1) * width <= floats.count {
            counted += floats[position * width..<(position + 1) * width]
        }
        return counted
    }

    /// Returns the elements of a state that either of two runs has changed, as tensors; nil if there are none, or for other values.
    func changes(_ found: HostTensor, _ expected: HostTensor) -> (HostTensor, HostTensor)? {
        guard let start, found.shape == expected.shape, start.shape == found.shape else { return nil }
        let (before, ours, theirs) = (start.floats, found.floats, expected.floats)
        let changed = before.indices.filter { ours[$0] != before[$0] || theirs[$0] != before[$0] }
        guard !changed.isEmpty else { return nil }
        let shape = Shape([changed.count])
        return (HostTensor(changed.map { ours[$0] }, shape), HostTensor(changed.map { theirs[$0] }, shape))
    }

    /// Measures the elements of a tensor that count against those of another of the same shape.
    func metrics(of found: HostTensor, against expected: HostTensor) -> Metrics {
        let (found, expected) = changes(found, expected) ?? (found, expected)
        return Metrics(elements(of: found), against: elements(of: expected))
    }
}
