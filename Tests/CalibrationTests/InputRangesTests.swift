import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

@Suite("Ranges of inputs over samples")
struct InputRangesTests {
    /// Two weights over the input, and one over the product with the first. The mask hides the last position.
    private func samples(_ x: [Float], mask: [Int64]) throws -> CalibrationSamples {
        var builder = ProgramBuilder(
            name: "model", dimensions: [.init("batch", usual: [1]), .init("tokens", usual: [3])])
        let input = builder.input("x", TensorType(.float32, ["batch", "tokens", 2]))
        func linear(_ name: String, _ value: Value, _ weight: [Float]) throws -> Value {
            let weight = builder.constant(StoredTensor(name: name, floats: weight, shape: [2, 2]), isWeight: true)
            return try builder.apply(Linear(), [value, weight])
        }
        let first = try linear("first", input, [2, 0, 0, -4])
        builder.output("a", try linear("second", input, [1, 0, 0, 1]))
        builder.output("b", try linear("third", first, [1, 0, 0, 1]))
        let part = try builder.finish()
        let tensors = [
            StoredTensor(name: "x", floats: x, shape: [mask.count / 3, 3, 2]),
            HostTensor(mask, [mask.count / 3, 3]).stored(name: "attention_mask"),
        ]
        return try #require(try CalibrationSamples(tensors, for: part, file: "x"))
    }

    @Test("the least and the greatest element of all samples make the range; hidden positions do not count")
    func ranges() throws {
        let x: [Float] = [1, -2, 3, 0.5, 900, -900, 4, 1, 0, 0, 7, 7]
        let samples = [try samples(x, mask: [1, 1, 0, 1, 1, 1])]
        let found = try samples.inputRanges(of: ["first", "second", "third"], threads: 2)
        let input = RowRounding(of: [-2, 7])
        #expect(found.mapValues(\.rounding) == ["first": input, "second": input, "third": RowRounding(of: [-28, 14])])
        #expect(try samples.inputRanges(of: ["third", "other"], threads: 1).keys.sorted() == ["third"])
        #expect(try samples.inputRanges(of: [], threads: 1).isEmpty)
    }

    @Test("mean squares are of all vectors that a weight meets, each counted once, in all parts that read it")
    func meanSquares() throws {
        let one = try samples([1, 2, 3, 4, 900, 900], mask: [1, 1, 0])
        let two = try samples([5, 0, 0, 0, 1, 6], mask: [1, 1, 1])
        let found = try [one, two].meanSquares(threads: 2)
        #expect(found.mapValues(\.count) == ["first": 5, "second": 5, "third": 5])
        // Sums of 36 and 56; the third sees the products with 2 and -4.
        let expected: [String: [Float]] = ["first": [7.2, 11.2], "second": [7.2, 11.2], "third": [28.8, 179.2]]
        #expect(found.mapValues(\.meanSquares) == expected)
        #expect(try [one].meanSquares(threads: 1).mapValues(\.count) == ["first": 2, "second": 2, "third": 2])
    }

    @Test("samples that are not finite have no range")
    func notFinite() throws {
        for odd in [Float.nan, .infinity, -.infinity] {
            let samples = [try samples([1, 2, odd, 4, 5, 6], mask: [1, 1, 1])]
            #expect(try samples.inputRanges(of: ["second"], threads: 1).mapValues(\.rounding) == ["second": nil])
        }
    }
}
