/// A sample of the vectors that a weight's rows were multiplied with, excluded from all means, for the judgement of
/// methods.
public struct HeldOutVectors: Sendable {
    /// The vectors, concatenated.
    public private(set) var vectors: [Float] = []
    /// For each vector, its difference from the vector in the original model, y - x, concatenated. Empty if there is no
    /// drift.
    public private(set) var drifts: [Float] = []

    /// Creates a sample. Both lists have a multiple of the weight's columns.
    public init(vectors: [Float] = [], drifts: [Float] = []) {
        (self.vectors, self.drifts) = (vectors, drifts)
    }
}

/// Collects held-out vectors in bounded memory: when it is full, every second vector is dropped and the rate is halved.
struct HeldOutCollector {
    /// The most vectors of a weight.
    static let most = 256
    /// The most vectors of this sample.
    let most: Int
    private let columns: Int
    private let hasDrift: Bool
    private var (seen, step) = (0, 1)
    private var vectors: [Float] = []
    private var drifts: [Float] = []

    init(columns: Int, hasDrift: Bool, most: Int = Self.most) {
        (self.columns, self.hasDrift, self.most) = (columns, hasDrift, most)
    }

    /// A sample that was collected before.
    init(columns: Int, hasDrift: Bool, _ collected: HeldOutVectors) {
        self.init(columns: columns, hasDrift: hasDrift, most: collected.vectors.count / max(columns, 1))
        (vectors, drifts) = (collected.vectors, collected.drifts)
    }

    /// Appends the sample of later vectors.
    mutating func append(_ later: HeldOutCollector) {
        vectors += later.vectors
        drifts += later.drifts
    }

    var result: HeldOutVectors { HeldOutVectors(vectors: vectors, drifts: drifts) }

    mutating func add(_ vector: UnsafePointer<Float>, original: UnsafePointer<Float>?) {
        defer { seen += 1 }
        guard seen.isMultiple(of: step) else { return }
        if vectors.count == most * columns {
            vectors = Self.everySecond(vectors, columns)
            drifts = Self.everySecond(drifts, columns)
            step *= 2
            guard seen.isMultiple(of: step) else { return }
        }
        vectors.append(contentsOf: UnsafeBufferPointer(start: vector, count: columns))
        if hasDrift { drifts.append(contentsOf: (0..<columns).map { (original?[$0] ?? vector[$0]) - vector[$0] }) }
    }

    private static func everySecond(_ lines: [Float], _ columns: Int) -> [Float] {
        stride(from: 0, to: lines.count, by: 2 * max(columns, 1)).flatMap { lines[$0..<$0 + columns] }
    }
}
