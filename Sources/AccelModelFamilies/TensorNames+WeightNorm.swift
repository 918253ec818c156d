import AccelByteIO
import AccelTensors

extension TensorNames {
    /// Takes `NAME.weight`, which is stored plain or as the two factors of weight normalisation: lengths g (one for
    /// each index of the axes where g is not 1) and directions v.
    /// - Throws: `FormatError` naming the tensor if one is missing, has another shape, or is not floating point.
    mutating func takeNormed(_ name: String, _ shape: Shape) throws -> StoredTensor {
        let (lengths, directions) = (
            "\(name).parametrizations.weight.original0", "\(name).parametrizations.weight.original1"
        )
        guard let stored = find(lengths) else { return try take("\(name).weight", shape) }
        let v = try take(directions, shape)
        // A tensor of zeros that replaces a missing one has no length.
        if missing.contains(where: { $0.name == v.name }) { return v }
        guard WeightNorm.fits(lengths: stored.shape, directions: shape) else {
            throw stored.error("expected sizes of \(shape) or 1, found \(stored.shape)")
        }
        let g = try take(lengths, stored.shape)
        let spelled = v.name.replacing(/(parametrizations\.weight\.original1|weight_v)$/, with: "weight")
        let weight = WeightNorm.weight(
            directions: v.floats(), lengths: g.floats(), shape: shape, lengthShape: stored.shape)
        return derived(
            StoredTensor(name: spelled, floats: weight, shape: shape),
            Derivation(rule: .weightNorm, sources: [.init(g), .init(v)]))
    }
}
