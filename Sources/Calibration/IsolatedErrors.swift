import ByteIO
import Programs
import Tensors
import WeightCompression

/// What storing one weight alone in some way does to the outputs, all other weights as they are.
struct IsolatedErrors {
    let samples: [CalibrationSamples]
    let weights: [PlannedWeight]
    let threads: Int

    /// Ways to store each weight, in the order of `weights`, with the errors measured over some of the samples. The run
    /// goes on from the inputs of the changed weight, which are found once for all ways.
    func candidates(over positions: Int) throws -> [[BudgetCandidate]] {
        var found: [String: [BudgetCandidate]] = [:]
        let byName = Dictionary(weights.map { ($0.source.name, $0.source) }) { first, _ in first }
        for part in samples {
            let run = try SampleRun(part.thinned(to: positions), threads: threads)
            try run.run(from: nil, to: nil)
            let reference = run.outputs()
            try run.restart()
            try run.run(from: nil, to: run.weights.isEmpty ? nil : 0)
            var shared: ActivationStatistics?
            for (index, name) in run.weights.enumerated() {
                if !run.sharesInput(withWeightBefore: index) { shared = nil }
                if let source = byName[name], found[name] == nil {
                    shared = shared ?? run.statistics(of: index)
                    let snapshot = run.snapshot()
                    found[name] = try measured(source, shared, in: run) { tensor in
                        try run.replace(tensor)
                        try run.run(from: index, to: nil)
                        let error = run.error(of: run.outputs(), from: reference)
                        run.restore(snapshot)
                        return error
                    }
                }
                if index + 1 < run.weights.count { try run.run(from: index, to: index + 1) }
            }
            for weight in weights where found[weight.source.name] == nil && part.part.reads(weight.source.name) {
                found[weight.source.name] = try measured(weight.source, nil, in: run) { tensor in
                    try run.replace(tensor)
                    try run.restart()
                    try run.run(from: nil, to: nil)
                    return run.error(of: run.outputs(), from: reference)
                }
            }
        }
        return try weights.map { weight in
            if let known = found[weight.source.name] { return known }
            // Not in what the samples run through: as it is.
            guard let last = try BudgetSchemes.codecs(for: weight.source).last else { return [] }
            return [BudgetCandidate(codec: last.codec, bytes: last.bytes, error: 0)]
        }
    }

    /// Only ways on the hull by the weights' own errors, each as important as its input is large, are worth a run.
    private func measured(
        _ source: StoredTensor, _ statistics: ActivationStatistics?, in run: SampleRun,
        _ error: (CompressedTensor) throws -> Double
    ) throws -> [BudgetCandidate] {
        let codecs = try BudgetSchemes.codecs(for: source).map { codec, bytes in
            (codec: codec.using(statistics == nil ? .nearest : .weighted), bytes: bytes)
        }
        let original = source.floats()
        let importance = statistics?.meanSquares ?? []
        let made = try Parallel.map(codecs.count, threads: threads) { index in
            let tensor = try CompressedTensor.compressing(
                source, with: codecs[index].codec, given: statistics, threads: 1
            ).tensor
            let stored = tensor.floats()
            var sum = 0.0
            for place in original.indices {
                let difference = Double(stored[place]) - Double(original[place])
                let weight = importance.isEmpty ? 1 : Double(importance[place % importance.count])
                sum += difference * difference * weight
            }
            return (
                tensor: tensor,
                candidate: BudgetCandidate(codec: codecs[index].codec, bytes: codecs[index].bytes, error: sum)
            )
        }
        let worth = Set(made.map(\.candidate).hull.map { $0.codec.specification })
        defer { try? run.replace(Self.exact(source)) }
        return try made.filter { worth.contains($0.candidate.codec.specification) }.map { tensor, candidate in
            var candidate = candidate
            candidate.error = try error(tensor)
            return candidate
        }
    }

    private static func exact(_ source: StoredTensor) throws -> CompressedTensor {
        try CompressedTensor.compressing(source, with: Codecs.codec("stored"), threads: 1).tensor
    }
}

extension Program {
    fileprivate func reads(_ weight: String) -> Bool { constants.contains { $0.isWeight && $0.tensor.name == weight } }
}
