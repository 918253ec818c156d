import Programs
import Tensors
import Testing

@testable import Verification

@Suite("Seeded inputs")
struct InputTests {
    @Test("Indices stay below the rows of the table that they index, and reach most of them")
    func indices() throws {
        let frozen = try TinyModel().frozen("batch=8,sequence=64")
        let ids = try #require(SeededInputs(seed: 1).inputs(for: frozen)["input_ids"]).integers
        #expect(ids.allSatisfy { (0..<48).contains($0) })
        #expect(Set(ids).count > 40)
    }

    @Test("Masks hold 0 and 1 with a 1 in every row, full, padded at the end and at the start")
    func masks() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let frozen = try TinyModel().frozen("batch=4,sequence=9")
            let mask = try #require(SeededInputs(seed: seed).inputs(for: frozen)["attention_mask"]).integers
            #expect(mask.allSatisfy { $0 == 0 || $0 == 1 })
            let rows = (0..<4).map { Array(mask[$0 * 9..<($0 + 1) * 9]) }
            #expect(rows.allSatisfy { $0.contains(1) })
            #expect(rows[0] == [Int64](repeating: 1, count: 9))
            #expect(rows[1].first == 1 && rows[2].last == 1)
        }
    }

    @Test("A single row keeps at least half of its positions")
    func singleRow() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let inputs = SeededInputs(seed: seed).inputs(for: try TinyModel().frozen("batch=1,sequence=9"))
            let mask = try #require(inputs["attention_mask"]).integers
            #expect(mask.reduce(0, +) >= 5 && mask.first == 1)
        }
    }

    @Test("Indices that are moved before they are read keep their limit")
    func moved() throws {
        var builder = ProgramBuilder(name: "moved")
        let ids = builder.input("ids", TensorType(.int64, [2, 3]))
        let table = builder.constant(
            StoredTensor(name: "t", floats: [Float](repeating: 1, count: 10), shape: [5, 2]), isWeight: true)
        let flat = try builder.apply(Reshape(to: [6]), [ids])
        builder.output("y", try builder.apply(Gather(), [table, flat]))
        let program = try builder.finish()
        #expect(SeededInputs(seed: 1).indexLimits(of: program)[ids] == 5)
    }

    @Test("The place of a block in a cache leaves room for the block")
    func places() throws {
        var builder = ProgramBuilder(name: "cache")
        let block = builder.input("block", TensorType(.float32, [1, 6]))
        let place = builder.input("place", TensorType(.int64, [1]))
        let cache = builder.input("cache", TensorType(.float32, [1, 9]))
        builder.output("y", try builder.apply(UpdateSlice(axis: 1), [cache, block, place]))
        let frozen = try builder.finish().freezing(ShapeBindings())
        let drawn = (1...40 as ClosedRange<UInt64>).compactMap {
            SeededInputs(seed: $0).inputs(for: frozen)["place"]?.integers.first
        }
        #expect(Set(drawn) == [0, 1, 2, 3])
    }

    @Test("Numbers are close to standard normal, and equal for equal seeds")
    func normal() throws {
        var builder = ProgramBuilder(name: "noise")
        let x = builder.input("x", TensorType(.float32, [10_000]))
        builder.output("y", try builder.apply(Relu(), [x]))
        let frozen = try builder.finish().freezing(ShapeBindings())
        let values = try #require(SeededInputs(seed: 1).inputs(for: frozen)["x"]).floats
        let mean = values.reduce(0, +) / 10_000
        let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / 10_000
        #expect(abs(mean) < 0.05 && abs(variance - 1) < 0.05)
        #expect(SeededInputs(seed: 1).inputs(for: frozen)["x"]?.floats == values)
        #expect(SeededInputs(seed: 2).inputs(for: frozen)["x"]?.floats != values)
    }
}
