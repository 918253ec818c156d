import AccelPrograms
import AccelTensors

/// The classifier of a wav2vec 2.0 or HuBERT encoder.
extension Wav2Vec2Graph {
    /// Returns scores of labels, F32[batch, labels]: those of the mean over all frames.
    mutating func labels() throws -> Value {
        let hidden = config.sumsLayers ? try sum(try states(try features())) : try encoder(try features())
        let projected = try layers.linear("projector", hidden, from: config.width, to: config.projection)
        let mean = try layers.in("pooled") {
            try $0.apply(Reduce(.mean, axes: [1], keepsAxes: false), projected)
        }
        return try layers.linear("classifier", mean, from: config.projection, to: config.labels)
    }

    /// Returns the sum of hidden states by weights that add up to 1.
    private mutating func sum(_ states: [Value]) throws -> Value {
        let name = "layer_weights"
        let scores = try layers.weight(name, [states.count])
        return try layers.in(name) { layers in
            let weights = try layers.apply(Softmax(), scores)
            let products = try states.enumerated().map { index, state in
                let weight = try layers.apply(Slice(begin: [.fixed(index)], sizes: [1]), weights)
                return try layers.apply(Multiply(), state, weight)
            }
            return try products.dropFirst().reduce(products[0]) { try layers.apply(Add(), $0, $1) }
        }
    }
}
