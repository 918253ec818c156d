/// Some vectors that a weight's rows were multiplied with, kept out of all means: methods are judged by them.
public struct HeldOutVectors: Sendable {
    /// One after the other.
    public private(set) var vectors: [Float] = []
    /// For each of them, how far it is from what it would be with all weights before as they were. Empty: not at all.
    public private(set) var drifts: [Float] = []

    public init(vectors: [Float] = [], drifts: [Float] = []) {
        (self.vectors, self.drifts) = (vectors, drifts)
    }
}

/// Collects vectors to hold out: the more there are, the fewer of them.
struct HeldOutCollector {
    static let most = 256
    private let columns: Int
    private let hasDrift: Bool
    private var (seen, step) = (0, 1)
    private var vectors: [Float] = []
    private var drifts: [Float] = []

    init(columns: Int, hasDrift: Bool) {
        (self.columns, self.hasDrift) = (columns, hasDrift)
    }

    var result: HeldOutVectors { HeldOutVectors(vectors: vectors, drifts: drifts) }

    mutating func add(_ vector: UnsafePointer<Float>, original: UnsafePointer<Float>?) {
        defer { seen += 1 }
        guard seen.isMultiple(of: step) else { return }
        if vectors.count == Self.most * columns {
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
