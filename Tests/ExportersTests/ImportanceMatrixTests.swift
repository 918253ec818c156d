import AccelByteIO
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Importance matrices of llama.cpp.
@Suite("importance matrices")
struct ImportanceMatrixTests {
    private static let weight = "model.layers.0.self_attn.q_proj.weight"
    private static let name = "blk.0.attn_q.weight"

    private func gguf(_ tensors: [(name: String, shape: Shape, values: [Float])], type: String = "imatrix") -> ByteView
    {
        let all = tensors.map {
            GGUFTensor(name: $0.name, type: .float32, shape: $0.shape, bytes: ByteView($0.values))
        }
        var bytes = GGUFWriter.header([("general.type", .string(type))], all)
        for tensor in all {
            bytes += tensor.bytes.withBytes { [UInt8]($0) }
            bytes += [UInt8](repeating: 0, count: (32 - bytes.count % 32) % 32)
        }
        return ByteView(bytes)
    }

    private func legacy(_ name: String, calls: Int32, _ values: [Float], rest: [UInt8] = []) -> ByteView {
        var writer = ByteWriter()
        writer.append(Int32(1))
        writer.append(Int32(name.utf8.count))
        writer.append(Array(name.utf8))
        writer.append(calls)
        writer.append(Int32(values.count))
        for value in values { writer.append(value.bitPattern) }
        writer.append(rest)
        return ByteView(writer.bytes)
    }

    @Test("sums of squares are divided by their counts, and the names of llama.cpp and of the model are known")
    func means() throws {
        for name in [Self.name, Self.weight] {
            let file = gguf([("\(name).in_sum2", [1, 3], [2, 4, 9]), ("\(name).counts", [1, 1], [4])])
            let found = try ImportanceMatrix(file, file: "m").statistics(of: [Self.weight: 3, "b": 5], family: "llama")
            #expect(found.keys.sorted() == [Self.weight])
            #expect(found[Self.weight]?.meanSquares == [0.5, 1, 2.25])
            #expect(found[Self.weight]?.count == 4)
        }
    }

    @Test("columns of an expert that no token reached count the same")
    func unreached() throws {
        let file = gguf([("\(Self.name).in_sum2", [1, 3], [0, 0, 0]), ("\(Self.name).counts", [1, 1], [0])])
        let found = try ImportanceMatrix(file, file: "m").statistics(of: [Self.weight: 3], family: "llama")
        #expect(found[Self.weight]?.meanSquares == [1, 1, 1])
    }

    @Test(
        "files of before GGUF hold means times the number of calls",
        arguments: [[UInt8](), [7, 0, 0, 0, 2, 0, 0, 0, 97, 98]])
    func old(rest: [UInt8]) throws {
        let file = legacy(Self.name, calls: 2, [1, 3], rest: rest)
        let found = try ImportanceMatrix(file, file: "m").statistics(of: [Self.weight: 2], family: "llama")
        #expect(found[Self.weight]?.meanSquares == [0.5, 1.5])
    }

    @Test("a written file reads back, with the names of llama.cpp")
    func written() throws {
        let known = ActivationStatistics(count: 3, meanSquares: [0.1, 7, 0, 1e-20])
        let path = NSTemporaryDirectory() + "importance-\(UUID().uuidString).gguf"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let count = try ImportanceMatrix.write(
            [Self.weight: known, "unknown.weight": known], family: "llama", samples: "s", to: path)
        #expect(count == 1)
        #expect(try GGUFFile(path).tensors.map(\.name) == ["\(Self.name).in_sum2", "\(Self.name).counts"])
        let found = try ImportanceMatrix(path).statistics(of: [Self.weight: 4], family: "llama")
        for (left, right) in zip(try #require(found[Self.weight]).meanSquares, known.meanSquares) {
            #expect(abs(left - right) <= right * 2e-7)
        }
        // An earlier one is replaced, something else is not.
        _ = try ImportanceMatrix.write([Self.weight: known], family: "llama", samples: "s", to: path)
        try Data("text".utf8).write(to: URL(filePath: path))
        #expect(throws: RequestError.self) {
            try ImportanceMatrix.write([Self.weight: known], family: "llama", samples: "s", to: path)
        }
    }

    @Test("hostile files are rejected with a place and a reason")
    func hostile() throws {
        let (sums, counts) = ("\(Self.name).in_sum2", "\(Self.name).counts")
        let cases: [(ByteView, String)] = [
            (ByteView([UInt8]()), "expected"), (ByteView([UInt8](repeating: 0, count: 4)), "no weight"),
            (ByteView([0xFF, 0xFF, 0xFF, 0x7F] + [UInt8](repeating: 1, count: 40)), "no importance matrix"),
            (
                ByteView([1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 40)),
                "the length of a name"
            ),
            (legacy("", calls: 1, [1, 1]), "empty"), (legacy("a", calls: -1, [1]), "the number of calls"),
            (legacy("a", calls: 1, []), "no importance matrix"), (legacy("a", calls: 1, [.nan]), "not a number"),
            (legacy("a", calls: 1, [-1]), "not a number"), (legacy("a", calls: 1, [1], rest: [1]), "4 bytes"),
            (legacy("a", calls: 1, [1], rest: [1, 0, 0, 0, 9, 0, 0, 0]), "the length of a name"),
            (legacy("a", calls: 1, [1], rest: [1, 0, 0, 0, 0, 0, 0, 0, 5]), "bytes follow"),
            (gguf([(sums, [1, 3], [1, 2, 3])]), "beside it"), (gguf([(counts, [1, 1], [1])]), "beside it"),
            (gguf([("x", [1], [1])]), "only"), (gguf([]), "no weight"),
            (gguf([(sums, [1, 3], [1, 2, 3]), (counts, [1, 2], [1, 1])]), "a row for each count"),
            (gguf([(sums, [1, 2], [1, .infinity]), (counts, [1, 1], [1])]), "at least 0"),
            (gguf([(sums, [1, 2], [1, 1]), (counts, [1, 1], [-1])]), "at least 0"),
            (gguf([(sums, [1, 2], [1, 1]), (counts, [1, 1], [1])], type: "model"), "something else"),
        ]
        for (bytes, reason) in cases {
            let error = #expect(throws: FormatError.self) { try ImportanceMatrix(bytes, file: "m") }
            #expect("\(try #require(error))".contains(reason))
        }
    }

    @Test("the importance of another model is rejected")
    func otherModel() throws {
        let file = gguf([
            ("\(Self.name).in_sum2", [2, 3], [1, 2, 3, 4, 5, 6]), ("\(Self.name).counts", [2, 1], [1, 1]),
        ])
        let matrix = try ImportanceMatrix(file, file: "m")
        #expect(throws: FormatError.self) { try matrix.statistics(of: [Self.weight: 3], family: "llama") }
        #expect(throws: FormatError.self) { try matrix.statistics(of: ["other": 3], family: "llama") }
    }
}
