import AccelTensors
import AccelWeightCompression

/// GPTQ of matrices of MiniLM's sizes on all cores: what it takes once the inputs' moments are there.
struct Feedback {
    private static let layers = 6
    private static let (hidden, inner) = (384, 1536)
    /// The matrices that share inputs, for each kind of input of a layer.
    private static let kinds: [[Shape]] = [
        [[hidden, hidden], [hidden, hidden], [hidden, hidden]], [[hidden, hidden]], [[inner, hidden]],
        [[hidden, inner]],
    ]
    private let moments: [[Float]]
    private let weights: [[StoredTensor]]

    init() {
        moments = Self.kinds.map { shapes in
            let columns = shapes[0].columns
            let sums = MomentSums(columns: columns)
            let inputs = Weights(rows: 2048, columns: columns).tensor(.float32).floats()
            inputs.withUnsafeBufferPointer { inputs in
                sums.add(Array(0..<2048), of: inputs.baseAddress!, threads: Parallel.processorCount)
            }
            return sums.statistics(threads: Parallel.processorCount)?.moments ?? []
        }
        weights = Self.kinds.map { shapes in
            shapes.map { Weights(rows: $0.rows, columns: $0.columns).tensor(.float32) }
        }
    }

    /// Seconds on the clock, the best of `rounds`.
    func seconds(_ specification: String, _ rounds: Int) throws -> Double {
        let codec = try Codecs.codec(specification)
        let threads = Parallel.processorCount
        return try (0..<rounds).map { _ in
            let start = ContinuousClock.now
            for _ in 0..<Self.layers {
                for (moments, weights) in zip(moments, weights) {
                    // Anew for each layer: it keeps what follows from the moments.
                    let statistics = ActivationStatistics(
                        columns: weights[0].shape.columns, count: 2048, moments: moments)
                    for weight in weights {
                        _ = try CompressedTensor.compressing(weight, with: codec, given: statistics, threads: threads)
                    }
                }
            }
            return (ContinuousClock.now - start) / .seconds(1)
        }.min() ?? 0
    }
}
