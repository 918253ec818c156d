import AccelByteIO

extension Shape {
    /// The shape with its dimensions reversed.
    public var transposed: Shape { Shape(dimensions.reversed()) }
}

extension StoredTensor {
    /// Returns the transposed matrix, copied, in the same element type.
    /// - Precondition: the rank is 2.
    public func transposed() -> StoredTensor {
        precondition(shape.rank == 2, "only a matrix can be transposed")
        let (rows, columns) = (shape.dimensions[0], shape.dimensions[1])
        let target = ByteBuffer(count: bytes.count)
        bytes.withBytes { source in
            switch elementType.byteCount {
            case 1: Self.transpose(source, target.bytes, rows, columns, UInt8.self)
            case 2: Self.transpose(source, target.bytes, rows, columns, UInt16.self)
            case 4: Self.transpose(source, target.bytes, rows, columns, UInt32.self)
            default: Self.transpose(source, target.bytes, rows, columns, UInt64.self)
            }
        }
        return StoredTensor(
            name: name, elementType: elementType, shape: shape.transposed, bytes: ByteView(target), file: file)
    }

    /// The rows per block, chosen so that the cache lines that are read stay in the L1 cache.
    private static let blockRows = 64

    private static func transpose<Element: FixedWidthInteger>(
        _ source: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer, _ rows: Int, _ columns: Int,
        _: Element.Type
    ) {
        let width = MemoryLayout<Element>.size
        for first in stride(from: 0, to: rows, by: blockRows) {
            let block = first..<min(first + blockRows, rows)
            for column in 0..<columns {
                for row in block {
                    let element = source.loadUnaligned(
                        fromByteOffset: (row * columns + column) * width, as: Element.self)
                    target.storeBytes(of: element, toByteOffset: (column * rows + row) * width, as: Element.self)
                }
            }
        }
    }
}
