/// Weight normalisation (Salimans and Kingma, 2016): a weight is `v * g / |v|`, with lengths g and directions v, and
/// the norm over all axes of which g has size 1.
public enum WeightNorm {
    /// Returns whether the shape of lengths matches that of directions.
    public static func fits(lengths: Shape, directions: Shape) -> Bool {
        lengths.rank == directions.rank
            && zip(lengths.dimensions, directions.dimensions).allSatisfy { $0 == 1 || $0 == $1 }
    }

    /// Returns the weight. If the lengths equal those of the directions, rounded to float32, the weight is
    /// bit-identical to the directions.
    public static func weight(directions: [Float], lengths: [Float], shape: Shape, lengthShape: Shape) -> [Float] {
        let indices = indices(shape, lengthShape)
        let factors = zip(lengths, norms(directions, indices, count: lengths.count)).map { length, norm in
            norm > 0 && Float(norm) == length ? 1 : Double(length) / norm
        }
        return zip(directions, indices).map { Float(Double($0) * factors[$1]) }
    }

    /// Returns lengths and directions from which `weight` computes the same weight exactly. A slice of zeros has length
    /// 0 and, because its direction is undefined, a first direction of 1.
    public static func factors(of weight: [Float], shape: Shape, lengthShape: Shape) -> (
        lengths: [Float], directions: [Float]
    ) {
        let indices = indices(shape, lengthShape)
        let lengths = norms(weight, indices, count: lengthShape.count).map { Float($0) }
        var directions = weight
        var isEmpty = lengths.map { $0 == 0 }
        for (element, index) in indices.enumerated() where isEmpty[index] {
            directions[element] = 1
            isEmpty[index] = false
        }
        return (lengths, directions)
    }

    private static func norms(_ directions: [Float], _ indices: [Int], count: Int) -> [Double] {
        var squares = [Double](repeating: 0, count: count)
        for (value, index) in zip(directions, indices) { squares[index] += Double(value) * Double(value) }
        return squares.map { $0.squareRoot() }
    }

    /// Returns the index of the length of each element, in order.
    private static func indices(_ shape: Shape, _ lengthShape: Shape) -> [Int] {
        let strides = zip(lengthShape.dimensions, lengthShape.strides).map { $0 == 1 ? 0 : $1 }
        var indices: [Int] = []
        indices.reserveCapacity(shape.count)
        shape.forEachOffset(by: strides) { indices.append($0) }
        return indices
    }
}
