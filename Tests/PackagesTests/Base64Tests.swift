import AccelPackages
import Foundation
import TestSupport
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test("bytes of every length come back, written as Foundation writes them")
    func roundTrip() {
        var generator = SeededGenerator(seed: 3)
        for count in 0..<70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let text = Base64.text(of: bytes)
            #expect(text == Data(bytes).base64EncodedString())
            #expect(Base64.bytes(of: text) == bytes)
        }
    }

    @Test(
        "bytes are written as RFC 4648 has them",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(bytes: String, text: String) {
        #expect(Base64.text(of: Array(bytes.utf8)) == text)
        #expect(Base64.bytes(of: text) == Array(bytes.utf8))
    }

    @Test(
        "what is not the one way of writing some bytes is rejected",
        arguments: ["A", "AA", "AAA", "AA=A", "A===", "====", "=AAA", "AB==", "AAB=", "AA A", "AAA\n", "AA-_", "ÄA=="])
    func rejected(text: String) { #expect(Base64.bytes(of: text) == nil) }
}
