import AccelByteIO

/// A change of a weight by a product of two thin matrices (LoRA, arXiv:2106.09685): `scale * coefficients @ directions`.
public struct LowRankChange: Sendable {
    /// [rows, rank], or [rank, rows] if the factors are transposed. Further axes of size 1 are allowed.
    public let coefficients: StoredTensor
    /// [rank, columns], or [columns, rank] if the factors are transposed. Columns may be several axes.
    public let directions: StoredTensor
    /// Whether both factors are stored transposed.
    public let areTransposed: Bool
    /// The factor of the product.
    public let scale: Float

    /// Creates a change; the shapes have to fit the weight.
    public init(coefficients: StoredTensor, directions: StoredTensor, areTransposed: Bool = false, scale: Float) {
        (self.coefficients, self.directions) = (coefficients, directions)
        (self.areTransposed, self.scale) = (areTransposed, scale)
    }

    /// The factors of some rows as [rows, rank] and [rank, columns].
    /// - Parameter all: the number of rows of the weight.
    fileprivate func factors(_ rows: Range<Int>, of all: Int, columns: Int) -> Factors {
        let rank = all == 0 ? 0 : coefficients.shape.count / all
        let (coefficients, directions): ([Float], [Float])
        if areTransposed {
            let (own, others) = (self.coefficients.floats(), self.directions.floats())
            coefficients = rows.flatMap { row in (0..<rank).map { own[$0 * all + row] } }
            directions = (0..<rank * columns).map { others[$0 % columns * rank + $0 / columns] }
        } else {
            coefficients = [Float](unsafeUninitializedCapacity: rows.count * rank) { target, count in
                self.coefficients.readFloats(rows.lowerBound * rank..<rows.upperBound * rank, into: target)
                count = rows.count * rank
            }
            directions = self.directions.floats()
        }
        return Factors(
            first: rows.lowerBound, coefficients: coefficients, directions: directions, rank: rank, scale: scale)
    }
}

/// The factors of a change, row by row, in float32.
private struct Factors {
    /// The first row.
    let first: Int
    let coefficients: [Float]
    let directions: [Float]
    let rank: Int
    let scale: Float

    /// Adds one row of the change to `target`. `scratch` has as many elements.
    func add(row: Int, to target: UnsafeMutableBufferPointer<Float>, _ scratch: UnsafeMutableBufferPointer<Float>) {
        scratch.update(repeating: 0)
        directions.withUnsafeBufferPointer { directions in
            for index in 0..<rank {
                let factor = coefficients[(row - first) * rank + index]
                let direction = UnsafeBufferPointer(
                    rebasing: directions[index * target.count..<(index + 1) * target.count])
                for column in scratch.indices { scratch[column] += factor * direction[column] }
            }
        }
        for column in target.indices { target[column] += scale * scratch[column] }
    }
}

/// The merge of adapters into one weight: a sum of low-rank changes, in float32, rounded once to the weight's type. With
/// lengths, each output channel of the sum is stretched to its length (DoRA, arXiv:2402.09353).
public struct LowRankMerge: Sendable {
    /// The changes, which are added up.
    public var changes: [LowRankChange] = []
    /// The lengths of the output channels; nil if these keep the length of the sum.
    public var lengths: StoredTensor?
    /// Whether output channels are columns of the weight, not rows.
    public var hasOutputColumns = false

    /// Creates a merge that changes nothing.
    public init() {}

    /// The number of elements that are computed at a time.
    private static var blockElements: Int { 1 << 16 }

    /// Returns the merged weight, whose rows are computed when they are read. A sum that is not finite in the weight's type is a failure then.
    /// - Parameter weight: F32, F16 or BF16, with as many elements as the changes.
    /// - Throws: `FormatError` for another type.
    public func merged(_ weight: StoredTensor) throws -> StoredTensor {
        guard [.float32, .float16, .bfloat16].contains(weight.elementType) else {
            throw weight.error(
                "has elements of \(weight.elementType.rawValue): adapters are merged into F32, F16 and BF16")
        }
        // A vector is one row.
        let rows = weight.shape.rank < 2 ? 1 : weight.shape.dimensions[0]
        let columns = rows == 0 ? 0 : weight.shape.count / rows
        guard rows > 0, columns > 0 else { return weight }
        let columnFactors = Locked<[Float]?>(nil)
        let (type, width) = (weight.elementType, weight.elementType.byteCount)
        let derived = DerivedBytes(rows: rows, rowBytes: columns * width) { [self] wanted, target in
            let factors = changes.map { $0.factors(wanted, of: rows, columns: columns) }
            let stretch = try lengths.map { lengths in
                guard hasOutputColumns else { return lengths.floats() }
                // The length of a column is a sum over all rows.
                return try columnFactors.withLock { known in
                    let found = try known ?? stretches(weight, lengths, rows, columns)
                    known = found
                    return found
                }
            }
            try forEachBlock(of: weight, wanted, factors, columns) { block, sums in
                if let stretch { self.stretch(sums, of: block, columns, by: stretch) }
                let first = (block.lowerBound - wanted.lowerBound) * columns * width
                let bytes = UnsafeMutableRawBufferPointer(
                    rebasing: target[first..<first + block.count * columns * width])
                type.store(sums, in: bytes)
                if let index = type.firstNonFinite(UnsafeRawBufferPointer(bytes)) {
                    throw weight.error(
                        "is not finite with the adapter merged", index: block.lowerBound * columns + index)
                }
            }
        }
        return StoredTensor(
            name: weight.name, elementType: type, shape: weight.shape, bytes: ByteView(derived), file: weight.file)
    }

    /// Stretches the output channels of some rows.
    /// - Parameter factors: those of columns, or the lengths of rows.
    private func stretch(
        _ sums: UnsafeMutableBufferPointer<Float>, of rows: Range<Int>, _ columns: Int, by factors: [Float]
    ) {
        for row in rows {
            let start = (row - rows.lowerBound) * columns
            let values = UnsafeMutableBufferPointer(rebasing: sums[start..<start + columns])
            if hasOutputColumns {
                for column in values.indices { values[column] *= factors[column] }
            } else {
                let squares = values.reduce(0.0) { $0 + Double($1) * Double($1) }
                let factor = factors[row] / Float(squares.squareRoot())
                for column in values.indices { values[column] *= factor }
            }
        }
    }

    /// Returns the factor of each output column.
    private func stretches(
        _ weight: StoredTensor, _ lengths: StoredTensor, _ rows: Int, _ columns: Int
    ) throws -> [Float] {
        var squares = [Double](repeating: 0, count: columns)
        let factors = changes.map { $0.factors(0..<rows, of: rows, columns: columns) }
        forEachBlock(of: weight, 0..<rows, factors, columns) { _, sums in
            for (index, value) in sums.enumerated() { squares[index % columns] += Double(value) * Double(value) }
        }
        return zip(lengths.floats(), squares).map { $0 / Float($1.squareRoot()) }
    }

    /// Calls `body` with the sums of weight and changes, in blocks of rows.
    private func forEachBlock(
        of weight: StoredTensor, _ rows: Range<Int>, _ factors: [Factors], _ columns: Int,
        _ body: (_ rows: Range<Int>, _ sums: UnsafeMutableBufferPointer<Float>) throws -> Void
    ) rethrows {
        let rowsAtOnce = max(1, Self.blockElements / columns)
        let memory = UnsafeMutableBufferPointer<Float>.allocate(capacity: (min(rowsAtOnce, rows.count) + 1) * columns)
        defer { memory.deallocate() }
        let scratch = UnsafeMutableBufferPointer(rebasing: memory[..<columns])
        for first in stride(from: rows.lowerBound, to: rows.upperBound, by: rowsAtOnce) {
            let block = first..<min(first + rowsAtOnce, rows.upperBound)
            let sums = UnsafeMutableBufferPointer(rebasing: memory[columns..<columns + block.count * columns])
            weight.readFloats(first * columns..<block.upperBound * columns, into: sums)
            for row in block {
                let start = (row - first) * columns
                let target = UnsafeMutableBufferPointer(rebasing: sums[start..<start + columns])
                for factor in factors { factor.add(row: row, to: target, scratch) }
            }
            try body(block, sums)
        }
    }
}

extension ElementType {
    /// The index of the first number that is infinite or not a number, of F32, F16 or BF16; nil for none.
    fileprivate func firstNonFinite(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard self != .float32 else { return bytes.bindMemory(to: Float.self).firstIndex { !$0.isFinite } }
        let exponent: UInt16 = self == .float16 ? 0x7C00 : 0x7F80
        return bytes.bindMemory(to: UInt16.self).firstIndex { $0 & exponent == exponent }
    }
}

extension StoredTensor {
    /// The index of the first element that is infinite or not a number; nil for none.
    public var firstNonFinite: Int? {
        let blockElements = 1 << 16
        let block = UnsafeMutableBufferPointer<Float>.allocate(capacity: min(blockElements, max(shape.count, 1)))
        defer { block.deallocate() }
        for first in stride(from: 0, to: shape.count, by: blockElements) {
            let count = min(blockElements, shape.count - first)
            readFloats(first..<first + count, into: block)
            if let index = block[..<count].firstIndex(where: { !$0.isFinite }) { return first + index }
        }
        return nil
    }
}
