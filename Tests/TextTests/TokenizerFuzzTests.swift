import AccelByteIO
import AccelText
import Foundation
import Testing

/// Damaged documents and random texts: a result or an error.
@Suite("Tokenizers under attack")
struct TokenizerFuzzTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/tokenizers").path
    private static let names = ((try? Files.list(folder)) ?? []).filter { $0.hasSuffix(".json") }

    /// The same numbers for the same seed.
    private struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    @Test("random bytes encode and decode", arguments: names)
    func bytes(name: String) throws {
        let tokenizer = try Tokenizer(json: MappedFile("\(Self.folder)/\(name)").bytes, file: name)
        var random = Random(state: 1)
        for _ in 0..<60 {
            let high = random.next() % 2 == 0
            let bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                high ? UInt8.random(in: 0...255, using: &random) : UInt8.random(in: 0...0x7F, using: &random)
            }
            let encoding = try? bytes.withUnsafeBufferPointer { try tokenizer.encoding(ofUTF8: $0) }
            guard let encoding else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(encoding.ids == (try tokenizer.encode(text)))
            #expect(encoding.offsets.allSatisfy { $0.upperBound <= text.utf8.count })
            let ids = encoding.ids + [-1, .max, Int32.random(in: 0...2000, using: &random)]
            var stream = tokenizer.streamDecoder()
            let parts = ids.map { stream.append($0) } + [stream.finish()]
            #expect(parts.joined() == tokenizer.decode(ids))
        }
    }

    @Test("damaged documents are read or rejected", arguments: names)
    func documents(name: String) throws {
        let original = try MappedFile("\(Self.folder)/\(name)").bytes.withBytes { Array($0) }
        var random = Random(state: UInt64(name.utf8.count))
        for round in 0..<40 {
            var bytes = original
            if round % 4 == 0 {
                bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            } else {
                // Most of the structure is near the start, before the words.
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let near = Bool.random(using: &random) ? min(bytes.count, 3000) : bytes.count
                    let at = Int.random(in: 0..<near, using: &random)
                    switch random.next() % 4 {
                    case 0: bytes.remove(at: at)
                    case 1: bytes[at] = UInt8.random(in: 0x20...0x7E, using: &random)
                    case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
                    default: bytes[at] ^= 1 << UInt8(random.next() % 8)
                    }
                }
            }
            do {
                let tokenizer = try Tokenizer(json: ByteView(bytes), file: name)
                let ids = (try? tokenizer.encode("the words 12 漢字 é\n<s>")) ?? []
                _ = tokenizer.decode(ids + [0, 5, 900])
            } catch {
                #expect(error is any ReportedError)
            }
        }
    }
}
