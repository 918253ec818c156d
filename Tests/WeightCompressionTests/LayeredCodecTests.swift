import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

@Suite("codecs around codecs")
struct LayeredCodecTests {
    private static let source = OddTensor("w", [24, 50], OddTensor.normal(1200, seed: 40, scale: 0.1)).tensor

    private func stored(_ specification: String, _ source: StoredTensor = Self.source) throws -> CompressedTensor {
        try CompressedTensor.compressing(source, with: try Codecs.codec(specification), threads: 1).tensor
    }

    @Test("a target prunes that share of the smallest, exactly")
    func target() throws {
        let decoded = try stored("sparse:target=0.75+float32").floats()
        let original = Self.source.floats()
        #expect(decoded.count { $0 == 0 } == 900)
        let least = decoded.filter { $0 != 0 }.map { abs($0) }.min() ?? 0
        for (value, stored) in zip(original, decoded) { #expect(stored == (abs(value) >= least ? value : 0)) }
    }

    @Test("what would be stored as equal is pruned alike, unless that would be much of the tensor")
    func ties() throws {
        // Four neighbours have one float16.
        let floats = (0..<2560).map { index -> Float in
            let magnitude = 1 + Float(index) / 4096
            return index % 2 == 0 ? magnitude : -magnitude
        }
        let source = StoredTensor(name: "w", floats: floats, shape: [64, 40])
        for scheme in ["float16", "float32"] {
            let weight = try stored("sparse:target=0.5+\(scheme)", source)
            let kept = weight.floats().count { $0 != 0 }
            #expect(scheme == "float32" ? kept == 1280 : (1276..<1280).contains(kept))
            let smallest = weight.floats().filter { $0 != 0 }.map { abs($0) }.min() ?? 0
            for (value, stored) in zip(floats, weight.floats()) where stored == 0 {
                #expect(scheme == "float32" || Half.rounded(abs(value)) < smallest)
            }
            #expect(weight.codec.violation(0..<64, of: weight, source: source) == nil)
        }
        let signs = StoredTensor(name: "w", floats: floats.map { $0 > 0 ? 1 : -1 }, shape: [64, 40])
        #expect(try stored("sparse:target=0.5+float16", signs).floats().count { $0 != 0 } == 1280)
        let holes = StoredTensor(name: "w", floats: floats.map { abs($0) < 1.5 ? 0 : $0 }, shape: [64, 40])
        let short = try stored("sparse:target=0.5+float16", holes)
        #expect(
            short.codec.violation(0..<64, of: short, source: source)?.reason.contains("more are to be kept") == true)
    }

    @Test("a threshold prunes what is below it, and the specification says how many are left")
    func threshold() throws {
        let weight = try stored("sparse:threshold=0.15+float32")
        for (value, stored) in zip(Self.source.floats(), weight.floats()) {
            #expect(stored == (Double(abs(value)) >= 0.15 ? value : 0))
        }
        let count = weight.floats().count { $0 != 0 }
        #expect(weight.codec.specification == "sparse:threshold=0.15,kept=\(count)+float32")
        #expect(weight.codec.values.request == "sparse:threshold=0.15+float32")
        #expect(try stored("sparse:threshold=99+palette").floats().allSatisfy { $0 == 0 })
    }

    @Test("a pattern keeps the largest of every group of a row")
    func pattern() throws {
        let decoded = try stored("sparse:pattern=2:4+float32").floats()
        let original = Self.source.floats()
        for row in 0..<24 {
            for start in stride(from: 0, to: 50, by: 4) {
                let group = (start..<min(start + 4, 50)).map { row * 50 + $0 }
                let kept = group.filter { decoded[$0] != 0 }
                #expect(kept.count == 2)
                let least = kept.map { abs(original[$0]) }.min() ?? 0
                #expect(group.allSatisfy { kept.contains($0) || abs(original[$0]) <= least })
            }
        }
    }

    @Test("a zero never takes an entry of a palette, even where more are zero than the rule prunes")
    func zeros() throws {
        var floats = [Float](repeating: 0, count: 400)
        for index in 0..<20 { floats[index * 19] = Float(index % 4) - 5 }
        let source = StoredTensor(name: "w", floats: floats, shape: [20, 20])
        let weight = try stored("sparse:target=0.5+palette:bits=2", source)
        #expect(weight.floats() == floats)
        #expect(weight.codec.specification == "sparse:target=0.5,kept=20+palette:bits=2")
        let entries = weight.sections[1].withBytes { bytes in
            (0..<4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
        #expect(entries == [-5, -4, -3, -2])
    }

    @Test("sizes: a bit for each weight, and the codes of those kept")
    func sizes() throws {
        let weight = try stored(
            "sparse:target=0.5+palette:bits=4", OddTensor("w", [64, 512], OddTensor.normal(64 * 512, seed: 41)).tensor)
        // 2 bits of codes, 1 of the mask, and 64 + 260 bytes of table and starts.
        #expect(weight.byteCount == 64 * 512 * 3 / 8 + 64 + 65 * 4)
    }

    @Test("outliers are exact to their type, and the grid of the others does not see them")
    func outliers() throws {
        var floats = OddTensor.normal(2048, seed: 42, scale: 0.01)
        for index in [3, 700, 1999] { floats[index] = 50 + Float(index) / 7 }
        let source = StoredTensor(name: "w", floats: floats, shape: [32, 64])
        let plain = try CompressedTensor.compressing(source, with: Codecs.codec("int4"), threads: 1).distortion
        let (weight, distortion) = try CompressedTensor.compressing(
            source, with: Codecs.codec("outliers:share=0.0015,values=float32+int4"), threads: 1)
        for index in [3, 700, 1999] { #expect(weight.floats()[index] == floats[index]) }
        #expect(distortion.squaredError < plain.squaredError / 5)
        let halves = try stored("outliers:share=0.0015+int4", source).floats()
        for index in [3, 700, 1999] { #expect(halves[index] == Half.rounded(floats[index])) }
    }

    @Test("columns of like magnitude share scales in the order of their magnitudes")
    func permuted() throws {
        // A quarter of the columns, spread over all blocks, is large.
        let floats = OddTensor.normal(32 * 64, seed: 43).enumerated().map { $1 * ($0 % 4 == 3 ? 4 : 1) }
        let source = StoredTensor(name: "w", floats: floats, shape: [32, 64])
        func error(_ scheme: String) throws -> Double {
            try CompressedTensor.compressing(source, with: Codecs.codec(scheme), threads: 1).distortion.squaredError
        }
        #expect(try error("permuted+int4:block=16") < error("int4:block=16") / 2)
        #expect(try stored("permuted+float32", source).floats() == floats)
        let swapped = try stored("permuted+float32", source).changing(section: 0, byte: 3, by: 0x40)
        #expect(swapped.codec.violation(0..<32, of: swapped, source: source) != nil)
    }

    @Test("slots beyond the columns are padding, and fewer than the columns are rejected")
    func slots() throws {
        let source = StoredTensor(name: "w", floats: [1, 2, 3, 4, 5, 6], shape: [2, 3])
        let codec = try Codecs.codec("permuted:slots=5+float32")
        let weight = try CompressedTensor(
            name: "w", elementType: .float32, shape: [2, 3], codec: codec,
            sections: [ByteView([9, 3, 9, 1, 2, 9, 6, 9, 4, 5] as [Float]), ByteView([3, 4, 1] as [UInt16])])
        #expect(weight.floats() == source.floats())
        #expect(codec.violation(0..<2, of: weight, source: source) == nil)
        for slots in ["2", "9223372036854775807", "5000000000"] {
            let reason = try Codecs.codec("permuted:slots=\(slots)+float32")
                .unsupportedReason(elementType: .float32, shape: [2, 3])
            #expect(reason != nil)
        }
    }

    @Test("blocks run across the ends of rows as in the flat weight")
    func flat() throws {
        let flat = StoredTensor(name: "w", floats: Self.source.floats(), shape: [20, 60])
        #expect(try stored("flat:row=60+nf4:block=16").floats() == stored("nf4:block=16", flat).floats())
        #expect(try stored("flat:row=1201+int8").floats() == stored("flat:row=1200+int8").floats())
    }

    @Test(
        "indices out of range are rejected when a weight is opened",
        arguments: [
            ("sparse+int8", "starts", 4, UInt8(0xFF)), ("sparse+int8", "starts", 0, 1),
            ("sparse+int8", "mask", 5, 0x10),
            ("sparse+int8", "mask", 6, 0x80), ("sparse:pattern=2:4+palette", "starts", 96, 1),
            ("outliers+int4", "starts", 0, 1), ("outliers+int4", "starts", 8, 0xFF), ("outliers+int4", "starts", 96, 2),
            ("outliers+int4", "columns", 1, 0xFF), ("outliers:share=0.1+int4", "columns", 0, 0x7F),
            ("permuted+int8", "order", 1, 0x80), ("permuted+int8", "order", 0, 1),
            ("flat:row=90+sparse+int8", "mask", 0, 3),
            ("sparse+outliers+int8", "columns", 1, 0x80), ("outliers+sparse+int8", "mask", 0, 3),
        ])
    func hostile(specification: String, section: String, byte: Int, bits: UInt8) throws {
        let weight = try stored(specification)
        let layout = weight.codec.sections(elementType: .float32, shape: weight.shape)
        let index = try #require(layout.firstIndex { $0.name == section })
        let error = #expect(throws: FormatError.self) { try weight.changing(section: index, byte: byte, by: bits) }
        #expect(error?.location == .tensor("w", index: nil))
    }

    @Test("what is pruned or kept against the rule is found")
    func violations() throws {
        for specification in ["sparse+float32", "sparse:pattern=2:4+float32", "sparse:threshold=0.1+float32"] {
            let weight = try stored(specification)
            // Of other weights: the same values, in an order in which others are the smallest.
            let other = StoredTensor(name: "w", floats: Self.source.floats().reversed(), shape: [24, 50])
            #expect(weight.codec.violation(0..<24, of: weight, source: other) != nil, "\(specification)")
        }
        let weight = try stored("outliers+float32")
        let other = StoredTensor(name: "w", floats: Self.source.floats().map { -$0 }, shape: [24, 50])
        #expect(weight.codec.violation(0..<24, of: weight, source: other) != nil)
    }

    @Test(
        "specifications around each other that make no sense are rejected",
        arguments: [
            ("int8+sparse", "takes no inner scheme"), ("sparse:target=0.5,threshold=0.1+int8", "one pruning rule"),
            ("sparse:target=1.5+int8", "a number between 0 and 1"), ("sparse:pattern=4:2+int8", "N:M"),
            ("sparse+", "unknown scheme"), ("+int8", "unknown scheme"),
            ("sparse+sparse+sparse+int8", "at most 3"), ("sparse+imt8", "int8"),
            ("outliers:share=0+int4", "a number between 0 and 1"),
        ])
    func rejections(specification: String, part: String) {
        let error = #expect(throws: RequestError.self) { try Codecs.codec(specification) }
        #expect(error?.description.contains(part) == true, "\(String(describing: error))")
    }

    @Test("numbers have one spelling")
    func spelling() throws {
        #expect(try Codecs.codec("sparse:target=0.50+int8").specification == "sparse:target=0.5+int8")
        #expect(try Codecs.codec("outliers:share=1e-2+int4").specification == "outliers:share=0.01+int4")
    }
}
