import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The effect of each scheme for one weight on the outputs, with all other weights unchanged.
struct IsolatedErrors {
    let samples: [CalibrationSamples]
    let weights: [PlannedWeight]
    let isAllowed: SchemeFilter?
    let threads: Int
    /// Schemes whose own error is below this share of the coarsest scheme's are not run: for so small errors, the
    /// output error is proportional to the weight error, with the ratio of the finest scheme that was run.
    private static let leastShare = 0.01

    /// Returns the schemes of each weight, in the order of `weights`, with errors measured over some of the samples.
    /// Runs continue from the inputs of the changed weight, which are computed once for all schemes.
    /// - Parameter progress: called before the schemes of a weight are measured.
    func candidates(over positions: Int, progress: (SearchStep) -> Void) throws -> [[SchemeCandidate]] {
        var found: [String: [SchemeCandidate]] = [:]
        for part in samples {
            let runs = try IsolatedRuns(part.thinned(to: positions), threads: threads)
            let wanted = weights.map(\.source).filter { found[$0.name] == nil }
            try runs.forEach(of: wanted, wantsStatistics: true) { source, statistics, error in
                progress(.measuring(weight: source.name, index: found.count, of: weights.count))
                found[source.name] = try measured(source, statistics, error)
            }
        }
        return try weights.map { weight in
            if let known = found[weight.source.name] { return known }
            // The samples do not reach the weight: it keeps the finest scheme.
            guard let last = try CandidateSchemes.codecs(for: weight.source, allowedBy: isAllowed).last else {
                return []
            }
            return [SchemeCandidate(codec: last.codec, bytes: last.bytes, error: 0)]
        }
    }

    /// Runs only the schemes on the convex hull of the weight's own error, weighted by the mean square of each column's
    /// input, and of these not the finest.
    private func measured(
        _ source: StoredTensor, _ statistics: ActivationStatistics?, _ error: (CompressedTensor) throws -> Double
    ) throws -> [SchemeCandidate] {
        let codecs = try CandidateSchemes.codecs(for: source, allowedBy: isAllowed).map { codec, bytes in
            (codec: codec.using(statistics == nil ? .nearest : .weighted), bytes: bytes)
        }
        let original = source.floats()
        let importance = statistics?.meanSquares ?? [Float](repeating: 1, count: source.shape.columns)
        let made = try Parallel.map(codecs.count, threads: threads) { index in
            let (codec, bytes) = codecs[index]
            let tensor = try CompressedTensor.compressing(source, with: codec, given: statistics, threads: 1).tensor
            let error = Self.error(of: tensor.floats(), from: original, importance)
            return (tensor: tensor, candidate: SchemeCandidate(codec: codec, bytes: bytes, error: error))
        }
        let worth = Set(made.map(\.candidate).hull.map { $0.codec.specification })
        let tried = made.filter { worth.contains($0.candidate.codec.specification) }
        let largest = tried.map(\.candidate.error).max() ?? 0
        // From the coarsest scheme on: the ratio of output error to weight error.
        var ratio = 1.0
        return try tried.map { tensor, candidate in
            var candidate = candidate
            if candidate.error >= largest * Self.leastShare {
                let own = candidate.error
                candidate.error = try error(tensor)
                ratio = own > 0 ? candidate.error / own : 1
            } else {
                candidate.error *= ratio
            }
            return candidate
        }
    }

    /// Returns the sum of squared errors, weighted by the importance of their columns.
    private static func error(of stored: [Float], from original: [Float], _ importance: [Float]) -> Double {
        let columns = max(importance.count, 1)
        var sum = 0.0
        for start in stride(from: 0, to: original.count, by: columns) {
            for column in 0..<min(columns, original.count - start) {
                let difference = stored[start + column] - original[start + column]
                sum += Double(difference * difference) * Double(importance[column])
            }
        }
        return sum
    }
}
