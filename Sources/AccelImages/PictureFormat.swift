package import AccelByteIO

/// The formats of picture files that are read. Others are recognised by their first bytes, to be named in the error.
package enum PictureFormat: Sendable {
    /// Portable Network Graphics.
    case png
    /// A file of the Joint Photographic Experts Group.
    case jpeg

    /// Recognises a file by its first bytes.
    /// - Throws: `FormatError` (`unsupported-picture`) for another kind of file.
    package init(of bytes: ByteView, file: String) throws(FormatError) {
        let start = bytes[0..<min(bytes.count, 16)].withBytes { Array($0) }
        if start.starts(with: PNGReader.signature) {
            self = .png
        } else if start.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else {
            let name = Self.others.first { _, marks in
                marks.allSatisfy { offset, mark in start.dropFirst(offset).starts(with: mark.utf8) }
            }?.name
            throw FormatError(
                file: file, location: .offset(0),
                reason: name.map { "is a \($0) file; PNG and JPEG are read" } ?? "is not a PNG or JPEG file",
                code: .unsupportedPicture)
        }
    }

    /// Recognises a file by its first bytes, without reading the rest.
    /// - Throws: as `init(of:file:)`; `RequestError` if the file cannot be read.
    package init(ofFile path: String) throws { try self.init(of: try MappedFile(path).bytes, file: path) }

    /// Other formats, with texts at offsets near the beginning.
    private static let others: [(name: String, marks: [(Int, String)])] = [
        ("GIF", [(0, "GIF8")]), ("WebP", [(0, "RIFF"), (8, "WEBP")]), ("BMP", [(0, "BM")]),
        ("TIFF", [(0, "II*\0")]), ("TIFF", [(0, "MM\0*")]), ("HEIC", [(4, "ftyphei")]), ("HEIC", [(4, "ftyphev")]),
        ("HEIF", [(4, "ftypmif1")]), ("AVIF", [(4, "ftypavi")]), ("JPEG 2000", [(4, "jP  \r\n")]),
        ("JPEG XL", [(4, "JXL \r\n")]), ("PDF", [(0, "%PDF-")]), ("Photoshop", [(0, "8BPS")]), ("SVG", [(0, "<svg")]),
    ]
}

extension Diagnostic.Code {
    /// A picture file of a kind that is not read; another program can convert it.
    package static let unsupportedPicture: Self = "unsupported-picture"
}

extension ByteReader {
    /// Returns the error of a file that is intact, but of a kind that is not read.
    func unsupported(_ reason: String, at position: Int) -> FormatError {
        var error = error(reason, at: position)
        error.code = .unsupportedPicture
        return error
    }
}
