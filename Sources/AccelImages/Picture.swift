public import AccelByteIO

/// A picture of 8-bit red, green and blue.
public struct Picture: Equatable, Sendable {
    /// The columns and the rows; at least 1.
    public let width, height: Int
    /// Red, green and blue of each pixel, row by row from the top: `3 * width * height` bytes.
    public let pixels: [UInt8]

    /// Creates a picture of pixels.
    /// - Throws: `RequestError` unless width and height are positive and there are three bytes for each pixel.
    public init(pixels: [UInt8], width: Int, height: Int) throws(RequestError) {
        guard (1...PictureLimits.side).contains(width), (1...PictureLimits.side).contains(height),
            pixels.count == 3 * width * height
        else {
            throw RequestError(
                "picture: expected three bytes for each pixel of 1 to \(PictureLimits.side) columns and rows, found \(pixels.count) bytes for \(width) x \(height)"
            )
        }
        self.init(rows: pixels, width: width, height: height)
    }

    /// Creates a picture of as many pixels as it has.
    init(rows pixels: [UInt8], width: Int, height: Int) {
        (self.pixels, self.width, self.height) = (pixels, width, height)
    }

    /// Reads a PNG or JPEG file. A picture with the orientation of a camera, in EXIF or XMP, is made upright; inks become red, green and blue.
    /// Transparency is left out, and so are colour profiles and gamma. Corrupt metadata are left out, too.
    /// - Throws: `FormatError` with the byte offset, for another kind of file, for a corrupt one, and for one that is too large.
    public init(_ bytes: ByteView, file: String) throws(FormatError) {
        switch try PictureFormat(of: bytes, file: file) {
        case .png: self = try PNGReader(bytes, file: file).picture()
        case .jpeg: self = try JPEGReader(bytes, file: file).picture()
        }
    }

    /// Reads a PNG or JPEG file.
    /// - Throws: `FormatError` as `init(_:file:)`; `RequestError` if the file cannot be read.
    public init(contentsOf path: String) throws { try self.init(try MappedFile(path).bytes, file: path) }
}

/// The pictures that are read.
enum PictureLimits {
    /// The most columns, and the most rows.
    static let side = 65_535
    /// The most pixels.
    static let pixels = 1 << 27

    /// Checks the size of a picture in a file.
    /// - Parameters:
    ///   - mostPixels: the most that the bytes of the file can stand for.
    ///   - offset: that of the size in the file.
    static func check(
        width: Int, height: Int, mostPixels: Int, _ reader: ByteReader, at offset: Int
    ) throws(FormatError) {
        guard width > 0, height > 0 else {
            throw reader.error("a picture of \(width) x \(height) has no pixels", at: offset)
        }
        guard width <= side, height <= side, width * height <= pixels else {
            throw reader.error(
                "the picture has \(width) x \(height) pixels; at most \(side) columns and rows and \(pixels) pixels are supported",
                at: offset)
        }
        guard width * height <= mostPixels else {
            throw reader.error("the file is too short for \(width) x \(height) pixels", at: offset)
        }
    }
}
