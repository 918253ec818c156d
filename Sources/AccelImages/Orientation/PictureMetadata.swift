import AccelByteIO

/// The metadata of a picture file that state its orientation: EXIF, else XMP.
struct PictureMetadata {
    /// EXIF data, with at most two marks in front; nil without them.
    private var exif: [UInt8]?
    /// The XML text of XMP.
    private var xmp: [UInt8] = []

    private static let exifMark = Array("Exif\0\0".utf8)
    private static let xmpMark = Array("http://ns.adobe.com/xap/1.0/\0".utf8)

    /// Adds the content of an APP1 segment of a JPEG file. Long EXIF data continue in the next segments.
    mutating func add(segment: ByteView) {
        let content = segment.withBytes { Array($0) }
        if content.starts(with: Self.exifMark) {
            exif = exif.map { $0 + content.dropFirst(Self.exifMark.count) } ?? content
        } else if content.starts(with: Self.xmpMark) {
            xmp = Array(content.dropFirst(Self.xmpMark.count))
        }
    }

    /// Adds the content of an eXIf chunk of a PNG file.
    mutating func add(exifChunk content: ByteView) { exif = Self.exifMark + content.withBytes { Array($0) } }

    /// Adds the content of an iTXt chunk of a PNG file, if it is XMP that is not compressed. (PNG, third edition, 11.3.3.4.)
    mutating func add(textChunk content: ByteView) {
        let bytes = content.withBytes { Array($0) }
        let name = Array("XML:com.adobe.xmp\0\0".utf8)
        guard bytes.starts(with: name) else { return }
        // The method of compression, a language and a translated name, both with a zero at their end.
        let parts = bytes.dropFirst(name.count + 1).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        if parts.count == 3 { xmp = Array(parts[2]) }
    }

    /// The orientation; `upright` without one, and for corrupt metadata.
    var orientation: Orientation {
        var rest = (exif ?? [])[...]
        for _ in 0..<2 where rest.starts(with: Self.exifMark) { rest = rest.dropFirst(Self.exifMark.count) }
        if !rest.isEmpty {
            guard let directory = TIFFDirectory(rest) else { return .upright }
            if let entry = directory.orientation() {
                return entry.value.flatMap { Int(exactly: $0) }.flatMap(Orientation.init(rawValue:)) ?? .upright
            }
        }
        return xmpOrientation ?? .upright
    }

    /// The digit of the first attribute or element of XMP that states the orientation.
    private var xmpOrientation: Orientation? {
        let name = Array("tiff:Orientation".utf8)
        guard xmp.count > name.count else { return nil }
        for start in 0..<xmp.count - name.count where xmp[start] == name[0] && xmp[start...].starts(with: name) {
            var rest = xmp[(start + name.count)...]
            if rest.starts(with: "=\"".utf8) {
                rest = rest.dropFirst(2)
            } else if rest.first == UInt8(ascii: ">") {
                rest = rest.dropFirst()
            } else {
                continue
            }
            guard let digit = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { continue }
            return Orientation(rawValue: Int(digit - UInt8(ascii: "0")))
        }
        return nil
    }
}
