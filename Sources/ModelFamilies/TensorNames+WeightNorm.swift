import ByteIO
import Tensors

extension TensorNames {
    /// Takes `NAME.weight`, stored as it is or as the two factors of weight normalisation: a direction v and lengths g,
    /// one for each index of the axes where g is not 1. The weight is `v * g / |v|`, with the length of v over all axes
    /// where g has an extent of 1.
    /// - Throws: `FormatError` naming the tensor when one is missing, of another shape, or no floating-point numbers.
    mutating func takeNormed(_ name: String, _ shape: Shape) throws -> StoredTensor {
        let (lengths, directions) = (
            "\(name).parametrizations.weight.original0", "\(name).parametrizations.weight.original1"
        )
        guard let stored = find(lengths) else { return try take("\(name).weight", shape) }
        let v = try take(directions, shape)
        // Nothing to compute with what stands in for a missing tensor.
        if missing.contains(where: { $0.name == v.name }) { return v }
        guard stored.shape.rank == shape.rank,
            zip(stored.shape.dimensions, shape.dimensions).allSatisfy({ $0 == 1 || $0 == $1 })
        else {
            throw stored.error("expected extents of \(shape) or 1, found \(stored.shape)")
        }
        let g = try take(lengths, stored.shape)
        let spelled = v.name.replacing(/(parametrizations\.weight\.original1|weight_v)$/, with: "weight")
        return StoredTensor(
            name: spelled, floats: Self.scaled(v.floats(), g.floats(), shape, stored.shape), shape: shape)
    }

    private static func scaled(_ v: [Float], _ g: [Float], _ shape: Shape, _ lengths: Shape) -> [Float] {
        let strides = zip(lengths.dimensions, lengths.strides).map { $0 == 1 ? 0 : $1 }
        // The factor of each element's length, in the elements' order.
        var indices: [Int] = []
        indices.reserveCapacity(v.count)
        var position = [Int](repeating: 0, count: shape.rank)
        var index = 0
        for _ in v {
            indices.append(index)
            var axis = shape.rank - 1
            while axis >= 0 {
                position[axis] += 1
                index += strides[axis]
                if position[axis] < shape.dimensions[axis] { break }
                index -= strides[axis] * position[axis]
                position[axis] = 0
                axis -= 1
            }
        }
        var squares = [Double](repeating: 0, count: g.count)
        for (value, index) in zip(v, indices) { squares[index] += Double(value) * Double(value) }
        let factors = zip(g, squares).map { Double($0) / $1.squareRoot() }
        return zip(v, indices).map { Float(Double($0) * factors[$1]) }
    }
}
