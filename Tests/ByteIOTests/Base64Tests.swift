import ByteIO
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
        "what is not the one way of writing some bytes is refused",
        arguments: ["A", "AA", "AAA", "AA=A", "A===", "====", "=AAA", "AB==", "AAB=", "AA A", "AAA\n", "AA-_", "ÄA=="])
    func refused(text: String) { #expect(Base64.bytes(of: text) == nil) }
}
