import AccelByteIO

extension Shape {
    /// The shape with its dimensions reversed.
    public var transposed: Shape { Shape(dimensions.reversed()) }
}

extension StoredTensor {
    /// Returns the transposed matrix in the same element type, whose rows are gathered when they are read.
    /// - Precondition: the rank is 2.
    public func transposed() -> StoredTensor {
        precondition(shape.rank == 2, "only a matrix can be transposed")
        let (rows, columns, width) = (shape.dimensions[0], shape.dimensions[1], elementType.byteCount)
        let source = bytes
        // A column of bytes that are computed costs as much as all of them; of a map it costs a cache line for each element.
        let part = bytes.isDerived ? bytes.count : rows * width * Self.blockRows
        let derived = DerivedBytes(count: bytes.count, partBytes: max(part, 1)) { range, target in
            source.withBytes { source in
                switch width {
                case 1: Self.transpose(source, range, target, rows, columns, UInt8.self)
                case 2: Self.transpose(source, range, target, rows, columns, UInt16.self)
                case 4: Self.transpose(source, range, target, rows, columns, UInt32.self)
                default: Self.transpose(source, range, target, rows, columns, UInt64.self)
                }
            }
        }
        return StoredTensor(
            name: name, elementType: elementType, shape: shape.transposed, bytes: ByteView(derived), file: file)
    }

    /// The rows per block, chosen so that the cache lines that are read stay in the L1 cache.
    private static let blockRows = 64

    /// Writes the bytes `range` of the transposed matrix, which begin and end at any byte.
    private static func transpose<Element: FixedWidthInteger>(
        _ source: UnsafeRawBufferPointer, _ range: Range<Int>, _ target: UnsafeMutableRawBufferPointer, _ rows: Int,
        _ columns: Int, _: Element.Type
    ) {
        let width = MemoryLayout<Element>.size
        guard range.lowerBound % width == 0, range.upperBound % width == 0 else {
            // Parts of elements: through whole ones.
            let whole = range.lowerBound / width * width..<(range.upperBound + width - 1) / width * width
            let buffer = ByteBuffer(count: whole.count)
            transpose(source, whole, buffer.bytes, rows, columns, Element.self)
            let start = range.lowerBound - whole.lowerBound
            return target.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<start + range.count]))
        }
        let elements = range.lowerBound / width..<range.upperBound / width
        let wanted = elements.lowerBound / rows..<(elements.upperBound + rows - 1) / rows
        for first in stride(from: 0, to: rows, by: blockRows) {
            let block = first..<min(first + blockRows, rows)
            for column in wanted {
                let place = column * rows - elements.lowerBound
                for row in block.clamped(to: -place..<elements.count - place) {
                    let element = source.loadUnaligned(
                        fromByteOffset: (row * columns + column) * width, as: Element.self)
                    target.storeBytes(of: element, toByteOffset: (place + row) * width, as: Element.self)
                }
            }
        }
    }
}
