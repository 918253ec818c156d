import AccelCPURuntime
public import AccelPrograms
import AccelTensors

/// The least and the greatest element of the vectors that a weight is multiplied with, column by column.
public struct InputRanges: Sendable {
    private var (least, most): ([Float], [Float])

    init(columns: Int) {
        (least, most) = ([Float](repeating: .infinity, count: columns), [Float](repeating: -.infinity, count: columns))
    }

    mutating func add(_ vector: UnsafePointer<Float>) {
        for column in least.indices {
            let element = vector[column]
            // NaN stays.
            if element < least[column] || element.isNaN { least[column] = element }
            if element > most[column] || element.isNaN { most[column] = element }
        }
    }

    mutating func add(_ other: InputRanges) {
        other.least.withUnsafeBufferPointer { $0.baseAddress.map { add($0) } }
        other.most.withUnsafeBufferPointer { $0.baseAddress.map { add($0) } }
    }

    /// The largest magnitude of each column.
    var magnitudes: [Float] { zip(least, most).map { max(abs($0), abs($1)) } }

    /// The range of all elements of the vectors; nil if they are not finite, or if there was no vector.
    public var rounding: RowRounding? {
        let rounding = RowRounding(of: least + most)
        return RowRounding(scale: rounding.scale, lowest: rounding.lowest)
    }
}

extension [CalibrationSamples] {
    /// Measures the inputs of some weights in a run of the original model over the samples.
    /// - Returns: The ranges by the weight's name, of the weights that the samples reach.
    public func inputRanges(of wanted: Set<String>, threads: Int) throws -> [String: InputRanges] {
        var found: [String: InputRanges] = [:]
        for part in self where !part.part.multipliedWeights.isDisjoint(with: wanted) {
            let run = try SampleRun(part, threads: threads)
            var shared: InputRanges?
            for (index, name) in run.weights.enumerated() {
                if !run.sharesInput(withWeightBefore: index) { shared = nil }
                guard wanted.contains(name) else { continue }
                if shared == nil {
                    try run.run(to: index)
                    shared = try run.inputRanges(of: index)
                }
                if let shared { found[name, default: shared].add(shared) }
            }
        }
        return found
    }
}

extension SampleRun {
    /// Returns the ranges of the inputs of a weight, at which the samples have to be.
    fileprivate func inputRanges(of weight: Int) throws -> InputRanges {
        try chunks.reduce(into: InputRanges(columns: columns(of: weight))) { ranges, chunk in
            let mask = mask(of: weight, chunk: chunk)
            try forEachVector(of: chunk) { vector, position in
                if mask?[position] ?? true { ranges.add(vector) }
            }
        }
    }
}
