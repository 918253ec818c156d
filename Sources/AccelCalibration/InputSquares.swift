import AccelCPURuntime
import AccelPrograms
import AccelTensors
public import AccelWeightCompression

extension [CalibrationSamples] {
    /// Measures the mean squares of the inputs of all multiplied weights, in a run of the original model over all samples.
    /// - Returns: Statistics without products, by the weight's name, of the weights that the samples reach.
    public func meanSquares(threads: Int) throws -> [String: ActivationStatistics] {
        var found: [String: InputSquares] = [:]
        for part in self {
            let run = try SampleRun(part, threads: threads)
            var shared: InputSquares?
            for (index, name) in run.weights.enumerated() {
                if !run.sharesInput(withWeightBefore: index) {
                    try run.run(to: index)
                    shared = try run.inputSquares(of: index)
                }
                guard let shared, shared.count > 0 else { continue }
                found[name] = found[name].map { $0.adding(shared) } ?? shared
            }
        }
        return found.mapValues(\.statistics)
    }
}

/// Sums of the squares of the vectors that a weight is multiplied with.
private struct InputSquares {
    private(set) var sums: [Double]
    private(set) var count = 0

    init(columns: Int) { sums = [Double](repeating: 0, count: columns) }

    mutating func add(_ vector: UnsafePointer<Float>) {
        for column in sums.indices { sums[column] += Double(vector[column]) * Double(vector[column]) }
        count += 1
    }

    func adding(_ other: InputSquares) -> InputSquares {
        var both = self
        for column in sums.indices where column < other.sums.count { both.sums[column] += other.sums[column] }
        both.count += other.count
        return both
    }

    var statistics: ActivationStatistics {
        ActivationStatistics(count: count, meanSquares: sums.map { Float($0 / Double(max(count, 1))) })
    }
}

extension SampleRun {
    /// Returns the sums of the inputs of a weight, at which the samples have to be.
    fileprivate func inputSquares(of weight: Int) throws -> InputSquares {
        try chunks.reduce(into: InputSquares(columns: columns(of: weight))) { squares, chunk in
            let mask = mask(of: weight, chunk: chunk)
            try forEachVector(of: chunk) { vector, position in
                if mask?[position] ?? true { squares.add(vector) }
            }
        }
    }
}
