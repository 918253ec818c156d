import TestSupport
import Testing

@testable import AccelByteIO

@Suite("hostile zip archives")
struct ZipAttackTests {
    private func readAll(_ bytes: ByteView, file: String) throws {
        let archive = try ZipArchive(bytes, file: file)
        for entry in archive.entries { _ = try archive.content(of: entry.name) }
    }

    @Test("each is judged, with the place and the reason", arguments: Attack.zip)
    func verdict(attack: Attack) {
        #expect(attack.flaw(readAll) == nil)
    }

    @Test("an archive cut at any byte is rejected")
    func truncation() {
        let whole = ZipSample([.init("a", "hello"), .init("b", "world") { $0.deflate() }]).bytes
        for count in 0..<whole.count {
            #expect(throws: FormatError.self) { try readAll(ByteView(Array(whole[..<count])), file: "cut") }
        }
    }

    @Test("an archive with any bit turned gives its content or is rejected")
    func bitFlips() throws {
        let whole = ZipSample([
            .init("a", "hello"),
            .init("b", "world") {
                $0.deflate(); $0.moveSizesBehind()
            },
        ]).bytes
        for bit in 0..<8 * whole.count {
            var turned = whole
            turned[bit / 8] ^= 1 << (bit % 8)
            do {
                let archive = try ZipArchive(ByteView(turned), file: "turned")
                let contents = try archive.entries.map { try archive.content(of: $0.name) }
                #expect(contents == [ByteView(Array("hello".utf8)), ByteView(Array("world".utf8))])
            } catch {
                #expect(error is FormatError)
            }
        }
    }
}
