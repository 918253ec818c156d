import AccelByteIO
import Foundation
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

/// The bytes of each codec, written out by hand.
@Suite("stored bytes")
struct PackingTests {
    private func bytes(_ specification: String, _ shape: Shape, _ floats: [Float]) throws -> [[UInt8]] {
        let source = StoredTensor(name: "w", floats: floats, shape: shape)
        let weight = try CompressedTensor.compressing(source, with: Codecs.codec(specification), threads: 1).tensor
        return weight.sections.map { section in section.withBytes { [UInt8]($0) } }
    }

    private func bytes(of floats: [Float]) -> [UInt8] { floats.withUnsafeBytes { [UInt8]($0) } }

    @Test("int8: codes of a channel, and a scale for each; ties go to even")
    func int8() throws {
        let stored = try bytes("int8", [2, 4], [127, -3, 2.5, 1.5, 0.25, -63.5, 0.5, 0.75])
        #expect(stored == [[127, 0xFD, 2, 2, 0, 0x81, 1, 2], bytes(of: [1, 0.5])])
    }

    @Test("int8: one scale for the tensor, as float16")
    func int8PerTensor() throws {
        let stored = try bytes("int8:axis=tensor,scales=float16", [2, 2], [254, -3, 100, -254])
        #expect(stored == [[127, 0xFE, 50, 0x81], [0x00, 0x40]])
    }

    @Test("int8: asymmetric codes use the whole byte")
    func int8Asymmetric() throws {
        let stored = try bytes("int8:mode=asymmetric", [1, 3], [-55, 0, 200])
        #expect(stored == [[0x80, 0xB7, 0x7F], bytes(of: [1]), [0xB7]])
    }

    @Test("int4: nibbles, the first in the lower half; each row starts a byte; float16 scales")
    func int4() throws {
        let stored = try bytes("int4:fit=absmax", [2, 5], [-8, 7, 3, -1, 0.4, 7, -14, 0, 0, 2])
        #expect(stored == [[0x78, 0xF3, 0x00, 0x84, 0x00, 0x01], [0x00, 0x3C, 0x00, 0x3F]])
    }

    @Test("int4: the scale is negative where the largest magnitude is positive")
    func int4Sign() throws {
        let stored = try bytes("int4", [1, 4], [8, -7, 3, -1])
        #expect(stored == [[0x78, 0x1D], [0x00, 0xBC]])
    }

    @Test("int4: codes of the range 7 stay within -7 and 7")
    func int4Range() throws {
        let stored = try bytes("int4:range=7,scales=float32", [1, 3], [-7, 6, 7])
        #expect(stored == [[0x69, 0x07], bytes(of: [1])])
    }

    @Test("int4: zero points are nibbles too, and a short last block has its own")
    func int4Asymmetric() throws {
        let row = [Float](repeating: 0, count: 14) + [-5, 10] + [30]
        let stored = try bytes("int4:block=16,mode=asymmetric", [1, 17], row)
        // The first block: scale 1, zero point -3. The second: scale 2, zero point -8.
        #expect(stored[0] == [UInt8](repeating: 0xDD, count: 7) + [0x78, 0x07])
        #expect(stored[1] == [0x00, 0x3C, 0x00, 0x40])
        #expect(stored[2] == [0x8D])
    }

    @Test("palette: codes from the lowest bits on, each row starting a byte; ascending entries")
    func palette() throws {
        let stored = try bytes("palette:bits=2", [2, 5], [-1, 0, 1, 2, -1, 2, 2, 1, 0, 0])
        #expect(stored == [[0xE4, 0x00, 0x6F, 0x01], bytes(of: [-1, 0, 1, 2])])
        let straddling = try bytes("palette:bits=3,group=1", [1, 8], [0, 1, 2, 3, 4, 5, 6, 7])
        #expect(straddling == [[0x88, 0xC6, 0xFA], bytes(of: [0, 1, 2, 3, 4, 5, 6, 7])])
    }

    @Test("palette: entries that are not needed repeat the last; a channel's scale is its largest magnitude")
    func paletteScales() throws {
        let stored = try bytes("palette:bits=1,scale=channel,entries=float16", [2, 2], [2, -2, 5, 5])
        #expect(stored == [[0x01, 0x03], [0x00, 0xBC, 0x00, 0x3C], bytes(of: [2, 5])])
        let few = try bytes("palette:bits=2", [1, 2], [3, 1])
        #expect(few == [[0x01], bytes(of: [1, 3, 3, 3])])
    }

    @Test("nf4: the table is that of QLoRA, quantiles of the normal distribution divided by the largest")
    func nf4() {
        /// The number below which a share of the normal distribution lies.
        func quantile(_ share: Double) -> Double {
            var (low, high) = (0.0, 8.0)
            while high - low > 1e-12 {
                let middle = (low + high) / 2
                if 1 - erfc(middle / 2.0.squareRoot()) / 2 < share { low = middle } else { high = middle }
            }
            return low
        }
        // Half of the last share of either side, 1/30 and 1/32, is left out at the ends: the mean of both.
        let last = 1 - (1.0 / 30 + 1.0 / 32) / 2
        func side(_ count: Int) -> [Double] {
            (1...count).map { quantile(0.5 + (last - 0.5) * Double($0) / Double(count)) / quantile(last) }
        }
        let expected = side(7).reversed().map { -$0 } + [0] + side(8)
        #expect(NF4Codec.table.count == 16)
        for (entry, quantile) in zip(NF4Codec.table, expected) { #expect(abs(Double(entry) - quantile) < 1e-6) }
    }

    @Test("float types: their own bytes; what is too large is rejected")
    func floats() throws {
        let float16 = try bytes("float16", [2], [1, -2])
        #expect(float16 == [[0, 0x3C, 0, 0xC0]])
        let bfloat16 = try bytes("bfloat16", [2], [1, -2])
        #expect(bfloat16 == [[0x80, 0x3F, 0, 0xC0]])
        let float32 = try bytes("float32", [1], [1])
        #expect(float32 == [bytes(of: [1])])
        let largest = try bytes("float16", [1], [65519])
        #expect(largest == [[0xFF, 0x7B]])
        #expect(throws: FormatError.self) { try bytes("float16", [1], [65520]) }
    }
}
