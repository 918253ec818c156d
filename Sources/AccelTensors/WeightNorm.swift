/// Weight normalisation: a weight as lengths g and directions v. It is `v * g / |v|`, with the length of v over all axes where
/// g has an extent of 1.
public enum WeightNorm {
    /// Whether lengths of one shape go with directions of another.
    public static func fits(lengths: Shape, directions: Shape) -> Bool {
        lengths.rank == directions.rank
            && zip(lengths.dimensions, directions.dimensions).allSatisfy { $0 == 1 || $0 == $1 }
    }

    /// The weight. Where lengths are those that the directions have, rounded to float32, it is the directions, bit for bit.
    public static func weight(directions: [Float], lengths: [Float], shape: Shape, lengthShape: Shape) -> [Float] {
        let indices = indices(shape, lengthShape)
        let factors = zip(lengths, norms(directions, indices, count: lengths.count)).map { length, norm in
            norm > 0 && Float(norm) == length ? 1 : Double(length) / norm
        }
        return zip(directions, indices).map { Float(Double($0) * factors[$1]) }
    }

    /// Lengths and directions that make a weight, which `weight` gives back exactly. A part of zeros has length 0 and, because
    /// directions of no length have no meaning, a first direction of 1.
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

    /// Of each element, in their order, the index of its length.
    private static func indices(_ shape: Shape, _ lengthShape: Shape) -> [Int] {
        let strides = zip(lengthShape.dimensions, lengthShape.strides).map { $0 == 1 ? 0 : $1 }
        var indices: [Int] = []
        indices.reserveCapacity(shape.count)
        shape.forEachOffset(by: strides) { indices.append($0) }
        return indices
    }
}
