import AccelByteIO

/// The pixels of a PNG file from its decompressed rows. (W3C, Portable Network Graphics, third edition, 7 to 9.)
struct PNGPixels {
    private let header: PNGHeader
    /// The colour of each value of a sample of at most 8 bits; black for those that a palette lacks.
    private let colors: [(red: UInt8, green: UInt8, blue: UInt8)]

    init(_ header: PNGHeader, palette: [UInt8]) {
        self.header = header
        let steps = (1 << min(header.depth, 8)) - 1
        colors = (0...255).map { value in
            guard header.color == .palette else {
                let gray = UInt8(min(value, steps) * 255 / steps)
                return (gray, gray, gray)
            }
            return 3 * value + 2 < palette.count
                ? (palette[3 * value], palette[3 * value + 1], palette[3 * value + 2]) : (0, 0, 0)
        }
    }

    /// Returns the picture.
    /// - Parameters:
    ///   - rows: `header.byteCount` bytes.
    ///   - offset: that of the compressed rows in the file, for errors.
    func picture(
        _ rows: UnsafeRawBufferPointer, _ reader: ByteReader, at offset: Int
    ) throws(FormatError) -> Picture {
        var pixels = [UInt8](repeating: 0, count: 3 * header.width * header.height)
        var start = 0
        for pass in header.passes {
            let rowBytes = header.rowBytes(pass.width)
            var (last, row) = ([UInt8](repeating: 0, count: rowBytes), [UInt8](repeating: 0, count: rowBytes))
            for index in 0..<pass.height {
                let source = UnsafeRawBufferPointer(rebasing: rows[start + 1..<start + 1 + rowBytes])
                guard let filter = PNGFilter(rawValue: rows[start]) else {
                    throw reader.error("row \(index) has the unknown filter \(rows[start])", at: offset)
                }
                filter.undo(source, after: last, into: &row, pixelBytes: max(header.pixelBits / 8, 1))
                let first = (pass.y + index * pass.yStep) * header.width + pass.x
                row.withUnsafeBufferPointer { row in
                    pixels.withUnsafeMutableBufferPointer { write(row, pass, to: $0, at: 3 * first) }
                }
                swap(&last, &row)
                start += 1 + rowBytes
            }
        }
        return Picture(rows: pixels, width: header.width, height: header.height)
    }

    /// Writes a row of a pass. Of samples of 16 bits the upper byte counts; but a gray one of more than 255 is white, as in Pillow.
    private func write(
        _ row: UnsafeBufferPointer<UInt8>, _ pass: PNGHeader.Pass, to pixels: UnsafeMutableBufferPointer<UInt8>,
        at first: Int
    ) {
        let (step, bytes) = (3 * pass.xStep, header.depth / 8)
        let (pixelBytes, mask) = (header.color.samples * bytes, (1 << min(header.depth, 8)) - 1)
        for column in 0..<pass.width {
            let (target, source) = (first + column * step, column * pixelBytes)
            switch header.color {
            case .rgb, .rgbAlpha:
                for sample in 0..<3 { pixels[target + sample] = row[source + sample * bytes] }
            case .gray where header.depth == 16:
                let gray = row[source] > 0 ? 255 : row[source + 1]
                for sample in 0..<3 { pixels[target + sample] = gray }
            case .gray, .palette, .grayAlpha:
                let value: Int
                if header.depth < 8 {
                    let bit = column * header.depth
                    value = Int(row[bit / 8]) >> (8 - header.depth - bit % 8) & mask
                } else {
                    value = Int(row[source])
                }
                let color = colors[value]
                (pixels[target], pixels[target + 1], pixels[target + 2]) = (color.red, color.green, color.blue)
            }
        }
    }
}

/// The prediction of a row's bytes from those to the left and above.
enum PNGFilter: UInt8 {
    case none, left, above, mean, paeth

    /// Adds the predictions to the differences of a row.
    /// - Parameters:
    ///   - last: the row above, zeros before the first one.
    ///   - row: as long as `source`.
    ///   - pixelBytes: the distance to the byte on the left.
    func undo(_ source: UnsafeRawBufferPointer, after last: [UInt8], into row: inout [UInt8], pixelBytes: Int) {
        last.withUnsafeBufferPointer { last in
            row.withUnsafeMutableBufferPointer { row in
                for index in 0..<source.count {
                    let isFirst = index < pixelBytes
                    let left = isFirst ? 0 : row[index - pixelBytes]
                    let prediction: UInt8 =
                        switch self {
                        case .none: 0
                        case .left: left
                        case .above: last[index]
                        case .mean: UInt8((Int(left) + Int(last[index])) / 2)
                        case .paeth: Self.paeth(left, last[index], isFirst ? 0 : last[index - pixelBytes])
                        }
                    row[index] = source[index] &+ prediction
                }
            }
        }
    }

    /// The one of the three neighbours that is nearest to left + above - corner; ties in this order.
    @inline(__always)
    private static func paeth(_ left: UInt8, _ above: UInt8, _ corner: UInt8) -> UInt8 {
        let (a, b, c) = (Int(left), Int(above), Int(corner))
        let (toLeft, toAbove, toCorner) = (abs(b - c), abs(a - c), abs(a + b - 2 * c))
        if toLeft <= toAbove, toLeft <= toCorner { return left }
        return toAbove <= toCorner ? above : corner
    }
}
