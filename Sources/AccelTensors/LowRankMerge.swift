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

    /// The factors as [rows, rank] and [rank, columns].
    fileprivate func factors(rows: Int, columns: Int) -> Factors {
        let rank = rows == 0 ? 0 : coefficients.shape.count / rows
        func floats(_ tensor: StoredTensor, _ first: Int, _ second: Int) -> [Float] {
            guard areTransposed, first * second > 0 else { return tensor.floats() }
            let stored = tensor.floats()
            return (0..<first * second).map { stored[$0 % second * first + $0 / second] }
        }
        return Factors(
            coefficients: floats(coefficients, rows, rank), directions: floats(directions, rank, columns), rank: rank,
            scale: scale)
    }
}

/// The factors of a change, row by row, in float32.
private struct Factors {
    let coefficients: [Float]
    let directions: [Float]
    let rank: Int
    let scale: Float

    /// Adds one row of the change to `target`. `scratch` has as many elements.
    func add(row: Int, to target: UnsafeMutableBufferPointer<Float>, _ scratch: UnsafeMutableBufferPointer<Float>) {
        scratch.update(repeating: 0)
        directions.withUnsafeBufferPointer { directions in
            for index in 0..<rank {
                let factor = coefficients[row * rank + index]
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

    /// Returns the merged weight. Takes memory for one weight.
    /// - Parameter weight: F32, F16 or BF16, with as many elements as the changes.
    /// - Throws: `FormatError` for another type, and for a sum that is not finite in the weight's type.
    public func merged(_ weight: StoredTensor) throws -> StoredTensor {
        guard [.float32, .float16, .bfloat16].contains(weight.elementType) else {
            throw weight.error(
                "has elements of \(weight.elementType.rawValue): adapters are merged into F32, F16 and BF16")
        }
        // A vector is one row.
        let rows = weight.shape.rank < 2 ? 1 : weight.shape.dimensions[0]
        let columns = rows == 0 ? 0 : weight.shape.count / rows
        guard rows > 0, columns > 0 else { return weight }
        let factors = changes.map { $0.factors(rows: rows, columns: columns) }
        let stretch = stretches(weight, factors, rows, columns)
        let (type, width) = (weight.elementType, weight.elementType.byteCount)
        let buffer = try ByteBuffer(allocating: weight.bytes.count, for: weight.name)
        forEachBlock(of: weight, factors, rows, columns) { block, sums in
            if let stretch {
                for index in sums.indices {
                    sums[index] *= stretch[hasOutputColumns ? index % columns : block.lowerBound + index / columns]
                }
            }
            let bytes = block.lowerBound * columns * width..<block.upperBound * columns * width
            type.store(sums, in: .init(rebasing: buffer.bytes[bytes]))
        }
        let merged = StoredTensor(
            name: weight.name, elementType: type, shape: weight.shape, bytes: ByteView(buffer), file: weight.file)
        if let index = merged.firstNonFinite {
            throw weight.error("is not finite with the adapter merged", index: index)
        }
        return merged
    }

    /// Returns the factor of each output channel; nil if all are 1.
    private func stretches(_ weight: StoredTensor, _ factors: [Factors], _ rows: Int, _ columns: Int) -> [Float]? {
        guard let lengths else { return nil }
        var squares = [Double](repeating: 0, count: hasOutputColumns ? columns : rows)
        forEachBlock(of: weight, factors, rows, columns) { block, sums in
            for (index, value) in sums.enumerated() {
                squares[hasOutputColumns ? index % columns : block.lowerBound + index / columns] +=
                    Double(value) * Double(value)
            }
        }
        return zip(lengths.floats(), squares).map { $0 / Float($1.squareRoot()) }
    }

    /// Calls `body` with the sums of weight and changes, in blocks of rows.
    private func forEachBlock(
        of weight: StoredTensor, _ factors: [Factors], _ rows: Int, _ columns: Int,
        _ body: (_ rows: Range<Int>, _ sums: UnsafeMutableBufferPointer<Float>) -> Void
    ) {
        let rowsAtOnce = max(1, Self.blockElements / columns)
        let memory = UnsafeMutableBufferPointer<Float>.allocate(capacity: (min(rowsAtOnce, rows) + 1) * columns)
        defer { memory.deallocate() }
        let scratch = UnsafeMutableBufferPointer(rebasing: memory[..<columns])
        for first in stride(from: 0, to: rows, by: rowsAtOnce) {
            let block = first..<min(first + rowsAtOnce, rows)
            let sums = UnsafeMutableBufferPointer(rebasing: memory[columns..<columns + block.count * columns])
            weight.readFloats(first * columns..<block.upperBound * columns, into: sums)
            for row in block {
                let start = (row - first) * columns
                let target = UnsafeMutableBufferPointer(rebasing: sums[start..<start + columns])
                for factor in factors { factor.add(row: row, to: target, scratch) }
            }
            body(block, sums)
        }
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

    /// Returns the same elements in a file without a name, so that memory does not grow with the model. The file vanishes
    /// with its last reader. Small tensors, and those that no file can take, stay in memory.
    /// - Parameter folder: the folder of the file.
    public func spilled(to folder: String) -> StoredTensor {
        guard bytes.count >= 1 << 16, let view = try? AtomicFile.unnamed([bytes], in: folder) else { return self }
        return StoredTensor(name: name, elementType: elementType, shape: shape, bytes: view, file: file)
    }
}
