import AccelByteIO
import CAccelKernels
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

/// The types of ggml. scripts/peers/gguf.py compares many more weights with ggml itself.
@Suite("types of ggml", .serialized)
struct GGMLCodecTests {
    private static let names = GGMLFormat.all.map { $0.name }

    private func blocks() throws -> SafetensorsFile { try SafetensorsFile(Fixtures.path("ggml_blocks.safetensors")) }

    private static let weighted = GGMLFormat.all.filter { $0.takesImportance }.map { $0.name }

    /// Statistics with some mean squares of inputs.
    private func statistics(_ squares: [Float]) -> ActivationStatistics {
        var moments = [Float](repeating: 0, count: squares.count * squares.count)
        for (column, square) in squares.enumerated() { moments[column * squares.count + column] = square }
        return ActivationStatistics(columns: squares.count, count: 1, moments: moments)
    }

    @Test(
        "blocks have the bytes of ggml on every instruction set, with and without an importance matrix",
        arguments: names + weighted.map { "\($0) weighted" })
    func bytes(name: String) throws {
        let file = try blocks()
        let (values, expected) = (try #require(file["values"]), try #require(file[name]))
        let type = String(name.prefix { $0 != " " })
        let codec = try Codecs.codec(name == type ? type : "\(type):method=weighted")
        let statistics = name == type ? nil : statistics(try #require(file["importance"]).floats())
        let best = ck_current_isa()
        defer { ck_limit_isa(best) }
        for set in [CK_SCALAR, CK_AVX2, CK_AVX512] {
            ck_limit_isa(set)
            let weight = try CompressedTensor.compressing(values, with: codec, given: statistics, threads: 2).tensor
            let rowBytes = expected.shape.columns
            for row in 0..<values.shape.rows {
                let range = row * rowBytes..<(row + 1) * rowBytes
                #expect(weight.sections[0][range] == expected.bytes[range], "\(name), row \(row), set \(set)")
            }
            #expect(codec.violation(0..<values.shape.rows, of: weight, source: values) == nil)
        }
    }

    @Test(
        "without statistics, or where all are zeros, weighted blocks are those of the plain type", arguments: weighted)
    func unknownImportance(name: String) throws {
        let values = try #require(try blocks()["values"])
        let plain = try CompressedTensor.compressing(values, with: try Codecs.codec(name), threads: 1).tensor
        let codec = try Codecs.codec("\(name):method=weighted")
        for known in [nil, statistics([Float](repeating: 0, count: 256))] {
            let weight = try CompressedTensor.compressing(values, with: codec, given: known, threads: 1).tensor
            #expect(weight.sections[0] == plain.sections[0])
            #expect(weight.sections[1].withBytes { [UInt8]($0) } == [UInt8](repeating: 0, count: 1024))
            #expect(codec.violation(0..<values.shape.rows, of: weight, source: values) == nil)
        }
    }

    @Test("an importance that no activations have is corruption", arguments: [Float.nan, -1, .infinity])
    func corruption(value: Float) throws {
        let values = try #require(try blocks()["values"])
        let codec = try Codecs.codec("q4_k:method=weighted")
        let weight = try CompressedTensor.compressing(values, with: codec, threads: 1).tensor
        var importance = [Float](repeating: 1, count: 256)
        importance[77] = value
        let error = #expect(throws: FormatError.self) {
            try CompressedTensor(
                name: "w", elementType: .float32, shape: values.shape, codec: codec,
                sections: [weight.sections[0], ByteView(importance)])
        }
        #expect("\(try #require(error))".contains("the importance of column 77 is not a number of at least 0"))
    }

    @Test(
        "fit=mse has a smaller squared error than ggml, no larger one in any row, and one set of bytes on all instruction sets",
        arguments: GGMLFormat.all.filter { $0.isSearched }.map { $0.name })
    func leastError(name: String) throws {
        let file = try blocks()
        let values = try #require(file["values"])
        let squares = try #require(file["importance"]).floats()
        let original = values.floats()
        func errors(_ codec: String, _ known: ActivationStatistics?) throws -> (bytes: ByteView, rows: [Double]) {
            let weight = try CompressedTensor.compressing(
                values, with: try Codecs.codec(codec), given: known, threads: 2)
            #expect(weight.tensor.codec.violation(0..<values.shape.rows, of: weight.tensor, source: values) == nil)
            let stored = weight.tensor.floats()
            let rows = (0..<values.shape.rows).map { row in
                (0..<256).reduce(0.0) { sum, column in
                    let error = Double(stored[256 * row + column]) - Double(original[256 * row + column])
                    return sum + error * error * (known == nil ? 1 : Double(squares[column]))
                }
            }
            return (weight.tensor.sections[0], rows)
        }
        let isWeighted = Self.weighted.contains(name)
        for (method, known) in [("", nil)] + (isWeighted ? [(",method=weighted", statistics(squares))] : []) {
            let plain = try errors("\(name):fit=ggml\(method)", known)
            let best = ck_current_isa()
            defer { ck_limit_isa(best) }
            let fitted = try errors("\(name):fit=mse\(method)", known)
            for (row, (own, other)) in zip(fitted.rows, plain.rows).enumerated() {
                #expect(own <= other * (1 + 1e-9), "\(name)\(method), row \(row)")
            }
            // The first row is of normal numbers. With an importance a few columns make most of the error, and a row may have the best
            // scales already.
            if known == nil { #expect(fitted.rows[0] < plain.rows[0] * 0.99, "\(name)") }
            #expect(zip(fitted.rows, plain.rows).contains { $0 < $1 * 0.999 }, "\(name)\(method)")
            for set in [CK_SCALAR, CK_AVX2, CK_AVX512] {
                ck_limit_isa(set)
                #expect(
                    try errors("\(name):fit=mse\(method)", known).bytes == fitted.bytes, "\(name)\(method), set \(set)")
            }
        }
    }

    @Test(
        "codes are where the decoder reads them, and steps have its bits",
        arguments: GGMLFormat.all.filter { $0.layout != nil }.map { $0.name })
    func layouts(name: String) throws {
        let format = try #require(GGMLFormat.all.first { $0.name == name })
        let layout = try #require(format.layout)
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<20 {
            var block = (0..<format.bytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
            // Units of scales and minima that are numbers.
            for offset in [format.scaleOffset, layout.minimumOffset].compactMap(\.self) { block[offset + 1] &= 0xBB }
            func decoded() -> [Float] {
                [Float](unsafeUninitializedCapacity: format.elements) { target, count in
                    ck_ggml_decode(format.type, block, 1, target.baseAddress)
                    count = format.elements
                }
            }
            let steps = format.steps(of: block, layout)
            #expect(steps.count == format.elements / format.part)
            let codes = (0..<format.elements).map { layout.code(of: $0, in: block) }
            let values = codes.enumerated().map { index, code in
                steps[index / format.part].scale * Float(code) + steps[index / format.part].offset
            }
            #expect(values == decoded() && codes.allSatisfy(layout.codes.contains))
            // Other codes leave the steps as they are, and all codes but one.
            let (weight, code) = (
                Int.random(in: 0..<format.elements, using: &generator), Int.random(in: layout.codes, using: &generator)
            )
            block.withUnsafeMutableBufferPointer { bytes in
                if let start = bytes.baseAddress { layout.store(code, of: weight, in: start) }
            }
            #expect(format.steps(of: block, layout) == steps)
            for index in codes.indices {
                #expect(layout.code(of: index, in: block) == (index == weight ? code : codes[index]))
            }
        }
    }

    @Test("methods that the types do not have are rejected")
    func methods() {
        for specification in [
            "q4_k:method=awq", "q8_0:method=gptq", "iq4_xs:method=gptq", "iq4_nl:method=awq", "tq1_0:fit=mse",
        ] {
            #expect(throws: RequestError.self) { try Codecs.codec(specification) }
        }
    }

    @Test(
        "rows that end within a block have the codes of rows that zeros fill", arguments: GGMLFormat.all.map { $0.name }
    )
    func padding(name: String) throws {
        let codec = try Codecs.codec(name)
        let block = try #require(codec as? GGMLCodec)
        let elements = block.format.elements
        let columns = elements + 5
        let floats = OddTensor.normal(2 * columns, seed: 41)
        let zeros = [Float](repeating: 0, count: elements - 5)
        let filled: [Float] = Array(floats[..<columns]) + zeros + Array(floats[columns...]) + zeros
        let ragged = StoredTensor(name: "ragged", floats: floats, shape: [2, columns])
        let whole = StoredTensor(name: "whole", floats: filled, shape: [2, 2 * elements])
        let left = try CompressedTensor.compressing(ragged, with: codec, threads: 1).tensor
        let right = try CompressedTensor.compressing(whole, with: codec, threads: 1).tensor
        #expect(left.sections[0] == right.sections[0])
        #expect(Array(left.floats()[..<columns]) == Array(right.floats()[..<columns]))
    }

    @Test("every changed bit is found, in codes, scales and padding", arguments: GGMLFormat.all.map { $0.name })
    func everyBit(name: String) throws {
        let codec = try Codecs.codec(name)
        let source = OddTensor("ragged", [1, 270], OddTensor.normal(270, seed: 42)).tensor
        let weight = try CompressedTensor.compressing(source, with: codec, threads: 1).tensor
        let block = try #require(codec as? GGMLCodec)
        let format = block.format
        for byte in 0..<weight.sections[0].count {
            for bit in 0..<8 {
                let changed = try weight.changing(section: 0, byte: byte, by: 1 << UInt8(bit))
                let found = try #require(codec.violation(0..<1, of: changed, source: source))
                #expect(found.index / format.elements == byte / format.bytes)
            }
        }
    }
}
