import AccelByteIO
import CAccelKernels

extension StoredTensor {
    /// The number of elements that are widened at a time.
    private static var blockElements: Int { 1 << 16 }

    /// Returns the tensor with its rows (along the first axis) and columns multiplied. A tensor of rank 0 or 1 is one
    /// row.
    /// - Returns: Nil if the scaling is not exact: the type is not F32, F16 or BF16, an element would leave its range,
    ///   or the number of exponents differs from that of the rows or columns.
    public func scaled(by scaling: ChannelScaling) -> StoredTensor? {
        let rows = shape.rank < 2 ? 1 : shape.dimensions[0]
        let columns = rows == 0 ? 0 : shape.count / rows
        guard [.float32, .float16, .bfloat16].contains(elementType), columns > 0,
            scaling.rows.isEmpty || scaling.rows.count == rows,
            scaling.columns.isEmpty || scaling.columns.count == columns
        else { return nil }
        let buffer = ByteBuffer(count: bytes.count)
        let made = StoredTensor(name: name, elementType: elementType, shape: shape, bytes: ByteView(buffer), file: file)
        let back = scaling.inverse
        let rowsAtOnce = max(1, Self.blockElements / columns)
        let memory = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2 * rowsAtOnce * columns)
        defer { memory.deallocate() }
        for first in stride(from: 0, to: rows, by: rowsAtOnce) {
            let block = first..<min(first + rowsAtOnce, rows)
            let elements = block.lowerBound * columns..<block.upperBound * columns
            let original = UnsafeMutableBufferPointer(rebasing: memory[..<elements.count])
            let scaled = UnsafeMutableBufferPointer(rebasing: memory[elements.count..<2 * elements.count])
            readFloats(elements, into: original)
            _ = scaled.update(from: original)
            scaling.apply(to: scaled, rows: block)
            let width = elementType.byteCount
            elementType.store(
                scaled, in: .init(rebasing: buffer.bytes[elements.lowerBound * width..<elements.upperBound * width]))
            made.readFloats(elements, into: scaled)
            back.apply(to: scaled, rows: block)
            guard zip(original, scaled).allSatisfy({ $0.bitPattern == $1.bitPattern }) else { return nil }
        }
        return made
    }
}

extension ElementType {
    /// Stores numbers in the type, which has to be F32, F16 or BF16; rounds to nearest, ties to even.
    func store(_ values: UnsafeMutableBufferPointer<Float>, in target: UnsafeMutableRawBufferPointer) {
        switch self {
        case .float16:
            ck_f32_to_f16(values.baseAddress, target.assumingMemoryBound(to: UInt16.self).baseAddress, values.count)
        case .bfloat16:
            ck_f32_to_bf16(values.baseAddress, target.assumingMemoryBound(to: UInt16.self).baseAddress, values.count)
        default:
            target.copyMemory(from: UnsafeRawBufferPointer(values))
        }
    }
}
