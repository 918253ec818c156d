import AccelByteIO
import TestSupport

@testable import AccelImages

/// What Pillow and transformers have of the pictures in Tests/Fixtures/images (scripts/fixtures_images.py).
enum PictureGoldens {
    static func rows(_ name: String) throws -> [JSONField] {
        let path = Fixtures.path("images/goldens.json")
        return try JSONField(try JSON.read(path), file: path)[name].array()
    }

    static func picture(_ name: String) throws -> Picture { try Picture(contentsOf: Fixtures.path("images/\(name)")) }
}

extension Picture {
    /// Whether the size and the bytes are those of a golden.
    func equals(_ golden: JSONField) throws -> Bool {
        try (height, width) == (golden["height"].int(), golden["width"].int())
            && Int(Deflate.checksum(of: ByteView(pixels))) == golden["crc"].int()
    }
}
