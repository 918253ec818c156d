import AccelByteIO
import TestSupport
import Testing

@testable import AccelAudio

@Suite("WAVE files that arrive in pieces")
struct WaveStreamTests {
    /// Feeds bytes in pieces of some size.
    private func sound(_ bytes: [UInt8], by size: Int) throws -> Sound? {
        var stream = WaveStream(name: "stream")
        var found: Sound?
        for start in stride(from: 0, to: bytes.count, by: size) {
            guard let piece = try stream.append(bytes[start..<min(start + size, bytes.count)]) else { continue }
            found = Sound(
                frames: (found?.samples ?? []) + piece.samples, channelCount: piece.channelCount,
                sampleRate: piece.sampleRate)
        }
        try stream.finish()
        return found
    }

    private func bytes(of name: String) throws -> [UInt8] {
        try MappedFile(Fixtures.path("sound/\(name)")).bytes.withBytes { Array($0) }
    }

    @Test(
        "pieces of any size have the samples of the file",
        arguments: ["uint8.wav", "int16.wav", "int24.wav", "int32.wav", "float32.wav", "float64.wav"], [1, 3, 16, 4096])
    func pieces(_ name: String, _ size: Int) throws {
        let whole = try Sound(contentsOf: Fixtures.path("sound/\(name)"))
        #expect(try sound(try bytes(of: name), by: size) == whole)
    }

    @Test(
        "a size that the writer did not know stands for all that follows",
        arguments: [0, 0xFFFF_FFFF, 0x7FFF_F000, 0x8000_0000])
    func open(_ size: Int) throws {
        let whole = Sound(frames: [0, 0.5, -0.25, 0.125], channelCount: 2, sampleRate: 16_000)
        var bytes = try whole.wave().withBytes { Array($0) }
        for index in 0..<4 { bytes[40 + index] = UInt8(truncatingIfNeeded: size >> (8 * index)) }
        // The last frame is not whole.
        #expect(try sound(bytes + [1, 2, 3], by: 5) == whole)
        #expect(try Sound(ByteView(bytes + [1, 2, 3]), file: "saved.wav") == whole)
    }

    @Test("what follows the samples of a known size is no sound")
    func rest() throws {
        let whole = Sound(frames: [0.5, -0.25], sampleRate: 16_000)
        let bytes = try whole.wave().withBytes { Array($0) } + Array("LIST....and more".utf8)
        #expect(try sound(bytes, by: 7) == whole)
    }

    @Test("another kind of file, a corrupt one and one that ends early are errors with their place")
    func wrong() throws {
        let bytes = try bytes(of: "int16.wav")
        func reason(_ bytes: [UInt8]) -> String {
            do {
                _ = try sound(bytes, by: 10)
                return ""
            } catch { return "\(error)" }
        }
        #expect(reason(Array("OggS and twelve bytes".utf8)).contains("is not a WAVE file"))
        #expect(reason([]).contains("ends before its samples"))
        #expect(reason(Array(bytes[..<30])).contains("ends before its samples"))
        #expect(reason(Array(bytes.dropLast(2))).contains("ends 2 bytes too early"))
        var other = bytes
        other[20] = 7
        #expect(reason(other).contains("format 7 is not supported"))
        var long = bytes
        for index in 4..<8 { long[12 + index] = 0x7F }
        #expect(reason(long + [UInt8](repeating: 0, count: 1 << 21)).contains("there are no samples so far"))
    }
}
