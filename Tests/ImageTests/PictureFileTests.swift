import AccelByteIO
import TestSupport
import Testing

@testable import AccelImages

@Suite("Picture files")
struct PictureFileTests {
    @Test("Each hostile file has its verdict", arguments: Attack.pictures)
    func hostile(_ attack: Attack) {
        #expect(attack.flaw { _ = try Picture($0, file: $1) } == nil)
    }

    @Test("Files of every kind have the pixels that Pillow reads")
    func pillow() throws {
        let rows = try PictureGoldens.rows("files")
        #expect(rows.count == 136)
        for row in rows {
            let name = try row["file"].string()
            #expect(try PictureGoldens.picture(name).equals(row), "\(name)")
        }
    }

    @Test(
        "A file that is cut anywhere is an error, or the whole picture",
        arguments: [
            "png/palette4i.png", "png/gray16.png", "jpeg/420r.jpg", "jpeg/444p.jpg", "jpeg/gray.jpg",
            "jpeg/cmyk420.jpg",
        ])
    func truncated(_ name: String) throws {
        let bytes = try MappedFile(Fixtures.path("images/\(name)")).bytes
        let whole = try Picture(bytes, file: name)
        var complete = 0
        for count in 0..<bytes.count {
            do {
                let picture = try Picture(bytes[0..<count], file: name)
                #expect(picture == whole, "\(count)")
                complete += 1
            } catch {
                #expect(error.file == name)
            }
        }
        // The end of a sequential JPEG may be missing.
        #expect(complete == (name.hasSuffix("p.jpg") || name.hasSuffix(".png") ? 0 : 2))
    }

    @Test("A file with a changed byte is an error, or a picture of its size")
    func changed() throws {
        for name in ["png/rgb8.png", "jpeg/420p.jpg", "jpeg/422.jpg", "jpeg/ycckp.jpg"] {
            let bytes = try MappedFile(Fixtures.path("images/\(name)")).bytes.withBytes { Array($0) }
            var readable = 0
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 0x55
                guard let picture = try? Picture(ByteView(changed), file: name) else { continue }
                #expect(picture.pixels.count == 3 * picture.width * picture.height)
                readable += 1
            }
            // A JPEG has no checksum; of a PNG the chunks that are not read may change.
            #expect(name.hasSuffix(".jpg") ? readable > 100 : readable < 20, "\(name): \(readable)")
        }
    }

    @Test("A picture of pixels has three bytes for each")
    func pixels() throws {
        #expect(try Picture(pixels: [1, 2, 3, 4, 5, 6], width: 2, height: 1).pixels == [1, 2, 3, 4, 5, 6])
        for (width, height) in [(1, 1), (0, 1), (-1, -2), (1, 3), (1 << 40, 1 << 40)] {
            #expect(throws: RequestError.self) {
                try Picture(pixels: [1, 2, 3, 4, 5, 6], width: width, height: height)
            }
        }
    }
}
