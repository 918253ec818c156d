public import AccelByteIO
public import AccelTensors

/// Rows of another length: the inner codec encodes the weights, row-major, in rows of `row` weights, so that its blocks run
/// across the ends of the tensor's rows, as those of bitsandbytes do.
///
/// Sections: those of the inner codec, of the matrix with rows of `row` weights. The end of its last row is padded with the
/// last weight. A tensor with fewer weights is one row.
public struct FlatCodec: LayeredCodec {
    public static let name = "flat"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "row", allowed: [], free: .integer, default: "4096",
            help: "weights of a row for the inner scheme; its blocks run across the ends of the weight's own rows")
    ]

    public let values: CodecOptionValues
    let inner: any WeightCodec
    private let length: Int

    /// Creates the codec around the inner codec of `values`.
    /// - Throws: `RequestError` if there is no valid inner codec.
    public init(_ values: CodecOptionValues) throws {
        (inner, self.values) = try Self.inner(of: values)
        length = values.integer("row") ?? 4096
    }

    func innerShape(_ shape: Shape) -> Shape {
        let count = shape.rows * shape.columns
        let columns = min(length, max(count, 1))
        return [count / columns + (count % columns == 0 ? 0 : 1), columns]
    }

    public func unsupportedReason(elementType: ElementType, shape: Shape) -> String? {
        quantizationUnsupportedReason(elementType, shape)
            ?? inner.unsupportedReason(elementType: .float32, shape: innerShape(shape))
    }

    func ownSections(_ shape: Shape) -> [SectionLayout] { [] }
    public func units(shape: Shape) -> [Range<Int>] { [0..<shape.rows] }

    /// Returns the elements in the inner codec's rows.
    private func innerSource(_ source: StoredTensor, _ floats: [Float]) -> StoredTensor {
        let shape = innerShape(source.shape)
        let padding = repeatElement(floats.last ?? 0, count: shape.count - floats.count)
        return StoredTensor(name: source.name, floats: floats + padding, shape: shape)
    }

    public func resolved(for source: StoredTensor) throws -> any WeightCodec {
        let inner = try inner.resolved(for: innerSource(source, source.finiteFloats()))
        return try FlatCodec(values.replacing(inner: inner.values))
    }

    public func encode(
        _ unit: Range<Int>, of source: StoredTensor, given statistics: ActivationStatistics?, threads: Int,
        into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion {
        var floats = try source.finiteFloats()
        var stored = try encodeInner(
            innerSource(source, floats).floats(), of: source, given: nil, threads: threads, into: sections)
        var distortion = Distortion()
        floats.withUnsafeMutableBufferPointer { floats in
            stored.withUnsafeMutableBufferPointer {
                distortion.add(floats, storedAs: UnsafeMutableBufferPointer(rebasing: $0[..<floats.count]))
            }
        }
        return distortion
    }

    public func corruption(in sections: [ByteView], shape: Shape) -> String? {
        inner.corruption(in: sections, shape: innerShape(shape))
    }

    /// One of the inner codec's rows, and the scratch memory of as many of its rows as the rows can span.
    public func decodingScratchBytes(_ shape: Shape, rows: Int) -> Int {
        let within = innerShape(shape)
        return floatRowBytes(within.columns)
            + inner.decodingScratchBytes(within, rows: rows * shape.columns / within.columns + 2)
    }

    public func decode(
        _ rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutableBufferPointer<Float>,
        scratch: UnsafeMutableRawPointer
    ) {
        let (columns, within) = (weight.shape.columns, innerWeight(of: weight))
        let length = within.shape.columns
        guard let target = target.baseAddress, length > 0, rows.count * columns > 0 else { return }
        let memory = scratch + floatRowBytes(length)
        let (first, end) = (rows.lowerBound * columns, rows.upperBound * columns)
        var position = first
        while position < end {
            let row = position / length
            let count = min(end, (row + 1) * length) - position
            if count == length {
                // Whole rows need no copy.
                let whole = row..<end / length
                inner.decode(
                    whole, of: within,
                    into: UnsafeMutableBufferPointer(start: target + (position - first), count: whole.count * length),
                    scratch: memory)
                position = whole.upperBound * length
                continue
            }
            let values = scratch.assumingMemoryBound(to: Float.self)
            inner.decode(
                row..<row + 1, of: within, into: UnsafeMutableBufferPointer(start: values, count: length),
                scratch: memory)
            (target + (position - first)).update(from: values + (position - row * length), count: count)
            position += count
        }
    }

    public func violation(
        _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (shape, within) = (weight.shape, innerWeight(of: weight))
        let (length, columns) = (within.shape.columns, shape.columns)
        guard length > 0, rows.count * columns > 0 else { return nil }
        let found = inner.violation(
            rows.lowerBound * columns / length..<(rows.upperBound * columns + length - 1) / length, of: within,
            source: innerSource(source, source.floats()))
        // The padding after the last weight is of no row.
        return found.flatMap { $0.index < shape.rows * columns ? $0 : nil }
    }
}
