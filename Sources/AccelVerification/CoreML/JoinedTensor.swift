import AccelByteIO
import AccelFormats
import AccelTensors

/// A tensor that the package stores in parts.
struct JoinedTensor {
    let source: StoredTensor
    private var floats: [Float]
    private var rows: [Range<Int>] = []
    private var metrics = Metrics()
    private var byteCount = 0
    private var codec = ""
    private var tolerance: Tolerance?
    private var bound: RowBound.Finding?
    private var failure: String?

    init(source: StoredTensor) {
        self.source = source
        floats = [Float](repeating: 0, count: source.shape.count)
    }

    mutating func add(
        _ part: Range<Int>, _ weight: CoreMLWeight, _ elements: [Float], _ metrics: Metrics, _ tolerance: Tolerance,
        _ verdict: (finding: RowBound.Finding, failureReason: String?)? = nil
    ) {
        let width = source.shape.dimensions.dropFirst().reduce(1, *)
        floats.replaceSubrange(part.lowerBound * width..<part.upperBound * width, with: elements)
        // An embedding table that is also the output head is in the package twice; its bytes are counted once.
        if !rows.contains(part) { byteCount += (weight.storedBits + 7) / 8 }
        rows.append(part)
        self.metrics.merge(metrics)
        codec = weight.codec
        self.tolerance = tolerance
        if let finding = verdict?.finding { bound = bound?.joined(with: finding) ?? finding }
        if let failureReason = tolerance.failureReason(for: metrics) ?? verdict?.failureReason {
            failure = failure ?? "rows \(part.lowerBound) to \(part.upperBound - 1): \(failureReason)"
        }
    }

    /// The first rows that no part holds; nil if all rows are held.
    var missing: Range<Int>? {
        var end = 0
        for part in rows.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if part.lowerBound > end { return end..<part.lowerBound }
            end = max(end, part.upperBound)
        }
        let count = source.shape.dimensions.first ?? 0
        return end < count ? end..<count : nil
    }

    var stored: StoredTensor { StoredTensor(name: source.name, floats: floats, shape: source.shape) }

    var finding: WeightFinding? {
        guard let tolerance else { return nil }
        let gap = missing.map { "rows \($0.lowerBound) to \($0.upperBound - 1) are in no weight of the package" }
        return WeightFinding(
            name: source.name, shape: source.shape, codec: codec, byteCount: byteCount,
            sourceByteCount: source.bytes.count, isTable: false, metrics: metrics.summarized, tolerance: tolerance,
            bound: bound, failure: gap ?? failure)
    }
}
