import AccelByteIO
import TestSupport
import Testing

@testable import AccelImages

@Suite("Resizing of pictures")
struct ResizingTests {
    @Test("Bytes are those of Pillow with each filter, in either order of the directions")
    func pillow() throws {
        let rows = try PictureGoldens.rows("resized")
        var pictures: [String: Picture] = [:]
        for row in rows {
            let name = try row["picture"].string()
            let picture = try pictures[name] ?? PictureGoldens.picture(name)
            pictures[name] = picture
            let filter = try #require(ResizingFilter(rawValue: row["filter"].int()))
            let resized = try picture.resized(
                width: row["width"].int(), height: row["height"].int(), by: filter)
            #expect(try resized.equals(row), "\(name) \(resized.width) x \(resized.height) \(filter)")
        }
        #expect(rows.count == 90)
    }

    @Test("A picture of one colour keeps it", arguments: ResizingFilter.allCases)
    func constant(_ filter: ResizingFilter) throws {
        let picture = try Picture(pixels: [UInt8](repeating: 201, count: 3 * 7 * 5), width: 7, height: 5)
        for (width, height) in [(7, 5), (3, 2), (20, 1), (1, 30)] {
            let resized = try picture.resized(width: width, height: height, by: filter)
            #expect((resized.width, resized.height) == (width, height))
            #expect(resized.pixels == [UInt8](repeating: 201, count: 3 * width * height))
        }
    }

    @Test("Sizes without pixels, and with too many, are errors")
    func limits() throws {
        let picture = try Picture(pixels: [UInt8](repeating: 0, count: 3 * 65535), width: 1, height: 65535)
        for (width, height) in [(0, 1), (1, -1), (.min, 1), (65536, 1), (.max, .max), (60000, 60000), (3000, 65535)] {
            #expect(throws: RequestError.self) { try picture.resized(width: width, height: height, by: .bilinear) }
            #expect(throws: RequestError.self) { try picture.centre(width: width, height: height) }
        }
        #expect(try picture.resized(width: 3000, height: 1, by: .bilinear).pixels == [UInt8](repeating: 0, count: 9000))
    }

    @Test("The middle of a picture, and black around a smaller one")
    func centre() throws {
        func rows(_ width: Int, _ pixels: [UInt8]) throws -> Picture {
            try Picture(pixels: pixels.flatMap { [$0, $0, $0] }, width: width, height: pixels.count / width)
        }
        let picture = try rows(3, [1, 2, 3, 4, 5, 6])
        #expect(try picture.centre(width: 2, height: 1) == rows(2, [1, 2]))
        #expect(try picture.centre(width: 3, height: 2) == picture)
        #expect(try picture.centre(width: 4, height: 3) == rows(4, [0, 0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6]))
        #expect(try picture.centre(width: 1, height: 5) == rows(1, [0, 0, 2, 5, 0]))
    }
}
