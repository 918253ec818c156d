import AccelByteIO

/// The first chunk of a PNG file: the size of the picture and the form of its samples. (W3C, Portable Network Graphics, third edition, 11.2.1.)
struct PNGHeader {
    /// The form of a pixel.
    enum Color: UInt8 {
        case gray = 0
        case rgb = 2
        case palette = 3
        case grayAlpha = 4
        case rgbAlpha = 6

        /// The samples of a pixel.
        var samples: Int {
            switch self {
            case .gray, .palette: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgbAlpha: 4
            }
        }

        /// The bits that a sample may have.
        var depths: [Int] {
            switch self {
            case .gray: [1, 2, 4, 8, 16]
            case .palette: [1, 2, 4, 8]
            case .rgb, .grayAlpha, .rgbAlpha: [8, 16]
            }
        }
    }

    let width, height: Int
    /// The bits of a sample.
    let depth: Int
    let color: Color
    let isInterlaced: Bool

    /// The bits of a pixel.
    var pixelBits: Int { color.samples * depth }

    /// Returns the bytes of a row of some pixels.
    func rowBytes(_ width: Int) -> Int { (width * pixelBits + 7) / 8 }

    /// A picture that holds some columns and rows of the whole one.
    struct Pass {
        /// The column of the first pixel, and the distance of two columns; the same of rows.
        let x, xStep, y, yStep: Int
        /// The columns and the rows.
        let width, height: Int
    }

    /// The parts of the picture in the order of the file, without empty ones: Adam7's seven, or the whole picture.
    var passes: [Pass] {
        let steps =
            isInterlaced
            ? [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
            : [(0, 1, 0, 1)]
        return steps.map { x, xStep, y, yStep in
            Pass(
                x: x, xStep: xStep, y: y, yStep: yStep, width: (width - x + xStep - 1) / xStep,
                height: (height - y + yStep - 1) / yStep)
        }.filter { $0.width > 0 && $0.height > 0 }
    }

    /// The bytes of all rows, each with the byte of its filter.
    var byteCount: Int { passes.reduce(0) { $0 + $1.height * (1 + rowBytes($1.width)) } }

    /// Reads the 13 bytes of the chunk.
    init(_ reader: inout ByteReader, fileBytes: Int) throws(FormatError) {
        let start = reader.position
        width = Int(try reader.integer(UInt32.self).byteSwapped)
        height = Int(try reader.integer(UInt32.self).byteSwapped)
        depth = Int(try reader.integer(UInt8.self))
        let (type, compression) = (try reader.integer(UInt8.self), try reader.integer(UInt8.self))
        let (filter, interlace) = (try reader.integer(UInt8.self), try reader.integer(UInt8.self))
        guard let color = Color(rawValue: type) else {
            throw reader.error("the colour type \(type) is not one of 0, 2, 3, 4 and 6", at: start + 9)
        }
        guard color.depths.contains(depth) else {
            throw reader.error("samples of \(depth) bits are not possible with colour type \(type)", at: start + 8)
        }
        guard compression == 0 else {
            throw reader.error("the compression method \(compression) is unknown", at: start + 10)
        }
        guard filter == 0 else { throw reader.error("the filter method \(filter) is unknown", at: start + 11) }
        guard interlace < 2 else { throw reader.error("the interlace method \(interlace) is unknown", at: start + 12) }
        (self.color, isInterlaced) = (color, interlace == 1)
        // Deflate makes at most 1032 bytes of one.
        let most = min(fileBytes, PictureLimits.pixels) * 1032 * 8 / (color.samples * depth)
        try PictureLimits.check(width: width, height: height, mostPixels: most, reader, at: start)
    }
}
