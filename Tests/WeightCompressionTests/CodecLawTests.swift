import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

/// What holds for every codec, with every option, on every odd tensor.
@Suite("codec laws")
struct CodecLawTests {
    static let names = Codecs.all.map { $0.name }

    @Test("stored weights decode to what was measured, whole and in parts, and prove themselves", arguments: names)
    func roundTrip(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            for odd in OddTensor.matrices {
                let source = odd.tensor
                let comment = Comment(rawValue: "\(codec.specification) of \(source.name)")
                if EveryCodec.overflows(codec, source) { continue }
                let (weight, distortion) = try CompressedTensor.compressing(source, with: codec, threads: 1)
                let (original, decoded) = (source.floats(), weight.floats())
                var expected = Distortion()
                expected.count = original.count
                for (value, stored) in zip(original, decoded) {
                    let error = Double(value) - Double(stored)
                    expected.energy += Double(value) * Double(value)
                    expected.squaredError += error * error
                    expected.maximumError = max(expected.maximumError, abs(error))
                }
                #expect(!decoded.contains { !$0.isFinite }, comment)
                #expect(distortion.count == expected.count, comment)
                #expect(isClose(distortion.energy, expected.energy), comment)
                #expect(isClose(distortion.squaredError, expected.squaredError), comment)
                #expect(distortion.maximumError == expected.maximumError, comment)
                if EveryCodec.isLossless(codec) { #expect(decoded == original, comment) }
                for row in 0..<source.shape.rows {
                    let columns = source.shape.columns
                    let part = [Float](unsafeUninitializedCapacity: columns) { target, count in
                        weight.codec.decode(row..<row + 1, of: weight, into: target)
                        count = columns
                    }
                    #expect(part == Array(decoded[row * columns..<(row + 1) * columns]), comment)
                }
                let violation = weight.codec.violation(0..<source.shape.rows, of: weight, source: source)
                #expect(violation == nil, "\(codec.specification) of \(source.name): \(String(describing: violation))")
            }
        }
    }

    @Test("sections are those of the layout, and units cover the rows in order", arguments: names)
    func layout(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            for source in (OddTensor.matrices + OddTensor.objectionable).map(\.tensor) {
                guard codec.unsupportedReason(elementType: source.elementType, shape: source.shape) == nil else {
                    continue
                }
                #expect(codec.units(shape: source.shape).flatMap { Array($0) } == Array(0..<source.shape.rows))
                if EveryCodec.overflows(codec, source) { continue }
                let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
                let layout = weight.codec.sections(elementType: source.elementType, shape: source.shape)
                #expect(weight.sections.map(\.count) == layout.map(\.byteCount))
                #expect(weight.byteCount == layout.reduce(0) { $0 + $1.byteCount })
            }
        }
    }

    @Test("the layout of any shape that a package may claim is told at once", arguments: names)
    func claimedShapes(name: String) throws {
        let codec = try Codecs.codec(name)
        for shape in [[1 << 40, 256], [1 << 47, 2], [1 << 48, 0], [0, 1 << 40]] as [Shape] {
            let layout = codec.sections(elementType: .float32, shape: shape)
            #expect(layout.allSatisfy { $0.byteCount >= 0 && $0.byteCount < 1 << 60 }, "\(shape)")
        }
    }

    @Test("a tensor without elements is stored, or rejected, at once, whatever its other sizes are", arguments: names)
    func empty(name: String) throws {
        for shape in [[1 << 48, 0], [0, 1 << 48], [3, 1 << 40, 0]] as [Shape] {
            let source = StoredTensor(name: "w", floats: [], shape: shape)
            for codec in EveryCodec.options(of: name)
            where codec.unsupportedReason(elementType: .float32, shape: shape) == nil {
                let weight = try CompressedTensor.compressing(source, with: codec, threads: 2).tensor
                #expect(weight.floats().isEmpty, "\(codec.specification) of \(shape)")
            }
        }
    }

    @Test("huge weights are stored finitely; what float16 cannot scale is rejected by name", arguments: names)
    func huge(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            for source in OddTensor.huge.map(\.tensor) {
                let comment = Comment(rawValue: "\(codec.specification) of \(source.name)")
                do {
                    let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
                    #expect(!weight.floats().contains { !$0.isFinite }, comment)
                    let violation = weight.codec.violation(0..<source.shape.rows, of: weight, source: source)
                    #expect(violation == nil, comment)
                } catch let error as FormatError {
                    #expect(EveryCodec.hasHalves(codec) || codec is BFloat16Codec, comment)
                    #expect(error.reason.contains("float32"), comment)
                    guard case .tensor(source.name, _) = error.location else {
                        Issue.record("\(error) names no tensor")
                        continue
                    }
                }
            }
        }
    }

    @Test("a weight that is not finite is rejected, with tensor and index", arguments: names)
    func notFinite(name: String) {
        for codec in EveryCodec.options(of: name) {
            for (odd, index) in OddTensor.notFinite {
                // The checkpoint's own bytes keep every float64; only float32 has to hold the others.
                let error = #expect(throws: FormatError.self, "\(codec.specification) of \(odd.tensor.name)") {
                    try CompressedTensor.compressing(odd.tensor, with: codec, threads: 1)
                }
                #expect(error?.location == .tensor(odd.tensor.name, index: index), "\(codec.specification)")
            }
        }
    }

    @Test("a changed code is found", arguments: names)
    func changedCodes(name: String) throws {
        var generator = SeededGenerator(seed: 7)
        var changes = 0
        for codec in EveryCodec.options(of: name) {
            for source in OddTensor.matrices.map(\.tensor) {
                if EveryCodec.overflows(codec, source) { continue }
                let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
                let (original, decoded) = (source.floats(), weight.floats())
                // Of large blocks most codes are padding in these small tensors.
                for _ in 0..<3 * max(1, codec.blockSize / 32) {
                    let place = Int.random(in: 0..<weight.sections[0].count, using: &generator)
                    let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
                    let changed: CompressedTensor
                    do {
                        changed = try weight.changing(section: 0, byte: place, by: bit)
                    } catch is FormatError {
                        // Found at once: no weight has such a code.
                        changes += 1
                        continue
                    }
                    let after = changed.floats()
                    // Weights that share a code are changed and judged together.
                    let worse = codec.sharing(source.shape).first { weights in
                        func error(_ stored: [Float]) -> Double {
                            weights.reduce(0) { $0 + (Double(original[$1]) - Double(stored[$1])).magnitudeSquared }
                        }
                        return decoded[weights] != after[weights] && !(error(after) <= error(decoded) * 1.02)
                    }
                    guard let worse else { continue }
                    changes += 1
                    let violation = changed.codec.violation(0..<source.shape.rows, of: changed, source: source)
                    #expect(
                        violation.map { worse.contains($0.index) } ?? false, "\(codec.specification) of \(source.name)")
                }
            }
        }
        #expect(changes > 20)
    }

    @Test("any bytes of the right sizes are rejected or decode to something", arguments: names)
    func anyBytes(name: String) throws {
        var generator = SeededGenerator(seed: 8)
        for codec in EveryCodec.options(of: name) {
            for source in OddTensor.matrices.prefix(12).map(\.tensor) {
                let layout = codec.sections(elementType: source.elementType, shape: source.shape)
                for isSmall in [false, true] {
                    let sections = layout.map { section in
                        ByteView(
                            (0..<section.byteCount).map { _ in
                                UInt8.random(in: 0...(isSmall ? 1 : 255), using: &generator)
                            })
                    }
                    let weight: CompressedTensor
                    do {
                        weight = try CompressedTensor(
                            name: "any", elementType: source.elementType, shape: source.shape, codec: codec,
                            sections: sections)
                    } catch is FormatError {
                        continue
                    }
                    #expect(weight.floats().count == source.shape.count)
                    _ = codec.violation(0..<source.shape.rows, of: weight, source: source)
                }
            }
        }
    }

    @Test("the bytes do not depend on the number of threads", arguments: names)
    func threads(name: String) throws {
        let source = OddTensor("two units", [1100, 257], OddTensor.normal(1100 * 257, seed: 20)).tensor
        for codec in [try Codecs.codec(name)] {
            let one = try CompressedTensor.compressing(source, with: codec, threads: 1)
            let two = try CompressedTensor.compressing(source, with: codec, threads: 2)
            #expect(one.tensor.sections == two.tensor.sections)
            #expect(one.distortion == two.distortion)
        }
    }

    @Test(
        "many 16-bit weights are stored as the same weights in float32 are",
        arguments: ["palette", "palette:bits=2", "palette:bits=3,entries=float16"])
    func manyHalves(specification: String) throws {
        let codec = try Codecs.codec(specification)
        let halves = OddTensor.normal(271 * 251, seed: 30).map { Half.bits($0) }
        let source = OddTensor("halves", .float16, [271, 251], halves).tensor
        let same = StoredTensor(name: "floats", floats: source.floats(), shape: source.shape)
        let (stored, distortion) = try CompressedTensor.compressing(source, with: codec, threads: 1)
        let (other, otherDistortion) = try CompressedTensor.compressing(same, with: codec, threads: 1)
        #expect(isClose(distortion.squaredError, otherDistortion.squaredError, within: 1e-9))
        #expect(isClose(distortion.energy, otherDistortion.energy))
        #expect(distortion.count == otherDistortion.count)
        #expect(abs(distortion.maximumError - otherDistortion.maximumError) < 1e-6)
        #expect(codec.violation(0..<271, of: stored, source: source) == nil)
        #expect(stored.sections[0] == other.sections[0])
        var odd = halves
        odd[70] = 0x7C00
        let error = #expect(throws: FormatError.self) {
            try CompressedTensor.compressing(
                OddTensor("odd", .float16, [271, 251], odd).tensor, with: codec, threads: 1)
        }
        #expect(error?.location == .tensor("odd", index: 70))
    }

    @Test("objections are sentences, and they are kept", arguments: names)
    func objections(name: String) {
        for codec in EveryCodec.options(of: name) where EveryCodec.quantizes(codec) {
            for source in OddTensor.objectionable.map(\.tensor) {
                let reason = codec.unsupportedReason(elementType: source.elementType, shape: source.shape)
                #expect((reason?.count ?? 0) > 10)
                #expect(throws: FormatError.self) { try CompressedTensor.compressing(source, with: codec, threads: 1) }
            }
            for source in (OddTensor.matrices + OddTensor.huge).map(\.tensor) {
                #expect(codec.unsupportedReason(elementType: source.elementType, shape: source.shape) == nil)
            }
        }
    }

    @Test("specifications read back as the same codec", arguments: names)
    func specifications(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            #expect(try Codecs.codec(codec.specification).values == codec.values)
            #expect(try Codecs.codec(codec.values.fullSpecification).values == codec.values)
            #expect(try Codecs.codec(codec.values.fullSpecification).specification == codec.specification)
        }
    }

    /// Sums of the same terms in another order, short runs of them in float32.
    private func isClose(_ left: Double, _ right: Double, within tolerance: Double = 1e-6) -> Bool {
        abs(left - right) <= tolerance * max(left, right)
    }
}

extension WeightCodec {
    /// The weights that one byte may change: a block of ggml, whose scales are between its codes, or one.
    fileprivate var blockSize: Int { (self as? GGMLCodec)?.format.elements ?? 1 }

    /// The elements of each code.
    fileprivate func sharing(_ shape: Shape) -> [Range<Int>] {
        let size = name == "vector" ? values.integer("size") ?? 1 : blockSize
        return (0..<shape.rows).flatMap { row in
            stride(from: row * shape.columns, to: (row + 1) * shape.columns, by: size).map {
                $0..<min($0 + size, (row + 1) * shape.columns)
            }
        }
    }
}

extension Double {
    fileprivate var magnitudeSquared: Double { self * self }
}

extension CompressedTensor {
    /// With the bits `bits` of one byte turned over.
    func changing(section: Int, byte: Int, by bits: UInt8) throws -> CompressedTensor {
        var bytes = sections[section].withBytes { [UInt8]($0) }
        bytes[byte] ^= bits
        var sections = sections
        sections[section] = ByteView(bytes)
        return try CompressedTensor(
            name: name, elementType: elementType, shape: shape, codec: codec, sections: sections)
    }
}
