import AccelByteIO

/// The frame of a JPEG file: the size of the picture, and its components with their coefficients. (ITU-T T.81, B.2.2.)
struct JPEGFrame {
    /// The coefficients and samples of one of the colours.
    struct Component {
        let identifier: UInt8
        /// The horizontal and the vertical sampling factor, 1 to 4: the blocks of the component in a minimum coded unit.
        let across, down: Int
        /// The index of its quantization table.
        let tableIndex: Int
        /// The samples, without those that fill the last blocks.
        let width, height: Int
        /// The blocks of a row in memory, with those that fill the last unit, and the rows of blocks.
        let stride, rows: Int
        /// The coefficients of each block, row by row, 64 of Int16 in the order of the matrix.
        let coefficients: ByteBuffer
        /// The steps of the coefficients, in the order of the matrix; nil before the first scan.
        var steps: [UInt16]?

        /// The blocks of a row and of a column that have samples of the picture.
        var blocksWide: Int { (width + 7) / 8 }
        var blocksHigh: Int { (height + 7) / 8 }
    }

    let width, height: Int
    let isProgressive: Bool
    var components: [Component]
    /// The largest sampling factors.
    let across, down: Int
    /// The minimum coded units of a row and of a column: each has the blocks of all components for one part of the picture.
    let unitsWide, unitsHigh: Int

    /// Reads the content of a frame's header.
    /// - Parameter reader: at the content, and with its end.
    init(_ reader: inout ByteReader, isProgressive: Bool, fileBytes: Int) throws(FormatError) {
        let start = reader.position
        self.isProgressive = isProgressive
        let precision = try reader.integer(UInt8.self)
        guard precision == 8 else {
            throw reader.unsupported("samples of \(precision) bits are not supported; 8 are", at: start)
        }
        let (height, width) = (
            Int(try reader.integer(UInt16.self).byteSwapped), Int(try reader.integer(UInt16.self).byteSwapped)
        )
        // A block has at least one bit in a file.
        let most = min(fileBytes, PictureLimits.pixels) * 8 * 64
        try PictureLimits.check(width: width, height: height, mostPixels: most, reader, at: start + 1)
        let count = Int(try reader.integer(UInt8.self))
        guard [1, 3, 4].contains(count) else {
            throw reader.unsupported("a picture of \(count) components is not supported", at: start + 5)
        }
        var parts: [(identifier: UInt8, across: Int, down: Int, table: Int)] = []
        for _ in 0..<count {
            let identifier = try reader.integer(UInt8.self)
            let factors = Int(try reader.integer(UInt8.self))
            let (across, down, table) = (factors >> 4, factors & 15, Int(try reader.integer(UInt8.self)))
            guard (1...4).contains(across), (1...4).contains(down) else {
                throw reader.error(
                    "the sampling factors are \(across) and \(down), not 1 to 4", at: reader.position - 2)
            }
            guard table < 4 else {
                throw reader.error("the quantization table \(table) is not one of 0 to 3", at: reader.position - 1)
            }
            guard !parts.contains(where: { $0.identifier == identifier }) else {
                throw reader.error("two components have the number \(identifier)", at: reader.position - 3)
            }
            parts.append((identifier, across, down, table))
        }
        let (across, down) = (parts.map(\.across).max() ?? 1, parts.map(\.down).max() ?? 1)
        guard parts.allSatisfy({ across.isMultiple(of: $0.across) && down.isMultiple(of: $0.down) }) else {
            throw reader.unsupported(
                "sampling factors that do not divide the largest one are not supported", at: start + 6)
        }
        let (unitsWide, unitsHigh) = (Self.quotient(width, 8 * across), Self.quotient(height, 8 * down))
        components = parts.map { part in
            let (stride, rows) = (unitsWide * part.across, unitsHigh * part.down)
            return Component(
                identifier: part.identifier, across: part.across, down: part.down, tableIndex: part.table,
                width: Self.quotient(width * part.across, across), height: Self.quotient(height * part.down, down),
                stride: stride, rows: rows, coefficients: ByteBuffer(count: stride * rows * 128))
        }
        (self.width, self.height, self.across, self.down) = (width, height, across, down)
        (self.unitsWide, self.unitsHigh) = (unitsWide, unitsHigh)
    }

    /// Returns the quotient, rounded up.
    private static func quotient(_ number: Int, _ divisor: Int) -> Int { (number + divisor - 1) / divisor }

    /// The index of each coefficient in the matrix, in the order of the file. (T.81, figure A.6.)
    static let zigzag: [Int] = (0..<15).flatMap { diagonal in
        let rows = max(0, diagonal - 7)...min(diagonal, 7)
        let indices = rows.map { $0 * 8 + diagonal - $0 }
        return diagonal.isMultiple(of: 2) ? indices.reversed() : indices
    }
}
