import AccelByteIO
import TestSupport
import Testing

@testable import AccelImages

@Suite("Orientation of pictures")
struct OrientationTests {
    /// Rows of pixels, each of one number.
    private func picture(_ width: Int, _ pixels: [UInt8]) throws -> Picture {
        try Picture(pixels: pixels.flatMap { [$0, $0, $0] }, width: width, height: pixels.count / width)
    }

    @Test("Each orientation exchanges the pixels as its number in EXIF states it")
    func orientations() throws {
        let stored = try picture(3, [1, 2, 3, 4, 5, 6])
        let expected: [Orientation: Picture] = try [
            .upright: stored, .mirrored: picture(3, [3, 2, 1, 6, 5, 4]), .rotated180: picture(3, [6, 5, 4, 3, 2, 1]),
            .flipped: picture(3, [4, 5, 6, 1, 2, 3]), .transposed: picture(2, [1, 4, 2, 5, 3, 6]),
            .rotated90: picture(2, [4, 1, 5, 2, 6, 3]), .transverse: picture(2, [6, 3, 5, 2, 4, 1]),
            .rotated270: picture(2, [3, 6, 2, 5, 1, 4]),
        ]
        for orientation in Orientation.allCases {
            #expect(stored.upright(from: orientation) == expected[orientation], "\(orientation)")
        }
        let pixel = try picture(1, [7])
        #expect(Orientation.allCases.allSatisfy { pixel.upright(from: $0) == pixel })
    }

    /// EXIF data of one entry.
    private let exif: [UInt8] =
        Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1] + [1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0] + [0, 0, 0, 0]

    private func orientation(_ exif: [UInt8]) -> Orientation {
        var metadata = PictureMetadata()
        metadata.add(exifChunk: ByteView(exif))
        return metadata.orientation
    }

    @Test("EXIF data that are cut have no orientation before their entry is complete")
    func truncated() {
        for count in 0...exif.count {
            #expect(orientation(Array(exif.prefix(count))) == (count < 22 ? .upright : .rotated90), "\(count)")
        }
    }

    @Test("EXIF data with any changed bytes have some orientation")
    func changed() {
        for first in exif.indices {
            for value in UInt8.min...UInt8.max {
                var bytes = exif
                bytes[first] = value
                _ = orientation(bytes)
                bytes[(first + Int(value)) % bytes.count] = 0xFF
                _ = orientation(bytes)
            }
        }
        #expect(orientation(exif) == .rotated90)
    }

    @Test("The largest directory of the largest values ends")
    func large() {
        let entry: [UInt8] = [1, 15, 0, 12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        let entries = (0..<65535).flatMap { _ in entry }
        #expect(orientation(Array("MM\0*".utf8) + [0, 0, 0, 8, 0xFF, 0xFF] + entries) == .upright)
    }

    @Test(
        "A JPEG with metadata that are corrupt or cut has the pixels of the same file without them",
        arguments: [
            "Exif\0\0", "Exif\0\0MM", "Exif\0\0MM\0*\0\0\0\u{8}", "Exif\0\0II*\0\0\0\0\0", "Exif",
            "http://ns.adobe.com/xap/1.0/\0", "http://ns.adobe.com/xap/1.0/\0tiff:Orientation=\"",
            "http://ns.adobe.com/xap/1.0/\0tiff:Orientation>9<",
        ])
    func segments(_ content: String) throws {
        let path = "images/jpeg/422.jpg"
        let bytes = try MappedFile(Fixtures.path(path)).bytes.withBytes { Array($0) }
        let segment = [0xFF, 0xE1, 0, UInt8(content.utf8.count + 2)] + Array(content.utf8)
        let changed = Array(bytes.prefix(2)) + segment + Array(bytes.dropFirst(2))
        #expect(try Picture(ByteView(changed), file: path) == Picture(ByteView(bytes), file: path))
    }

    @Test("A PNG with a wrong checksum of its EXIF chunk is read without an orientation")
    func checksum() throws {
        let path = "images/exif/6.png"
        var bytes = try MappedFile(Fixtures.path(path)).bytes.withBytes { Array($0) }
        let upright = try Picture(ByteView(bytes), file: path)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: "eXIf".utf8) })
        // The chunk has 26 bytes, and its checksum behind them.
        bytes[start + 4 + 26] ^= 1
        let stored = try Picture(ByteView(bytes), file: path)
        #expect((stored.width, stored.height) == (5, 3) && (upright.width, upright.height) == (3, 5))
        #expect(stored.upright(from: .rotated90) == upright)
    }
}
