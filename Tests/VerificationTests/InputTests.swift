import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

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

    @Test("An input without a role stays below what operators accept, moved or not")
    func moved() throws {
        var builder = ProgramBuilder(name: "moved")
        let ids = builder.input("ids", TensorType(.int64, [2, 3]))
        let table = builder.constant(
            StoredTensor(name: "t", floats: [Float](repeating: 1, count: 10), shape: [5, 2]), isWeight: true)
        let flat = try builder.apply(Reshape(to: [6]), [ids])
        builder.output("y", try builder.apply(Gather(), [table, flat]))
        let program = try builder.finish()
        #expect(program.indexBounds[ids] == 5)
    }

    @Test("Roles give integers the ranges that operators accept, in every family", arguments: Fixtures.families)
    func ranges(fixture: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let family = try Families.matching(checkpoint.configuration)
        for frozen in try family.model(for: checkpoint, parts: family.parts).programs.freezingToUsualShapes() {
            let (ranges, bounds) = (IntegerRanges(frozen), frozen.program.indexBounds)
            for input in frozen.program.inputs where frozen.program.type(of: input.value).elementType == .int64 {
                let kind = frozen.program.interface.role(of: input.name, .input).kind
                let isIndex = ![.attentionMask, .validLength].contains(kind)
                #expect(isIndex == (bounds[input.value] != nil), "\(input.name)")
                guard let bound = bounds[input.value] else { continue }
                #expect(ranges.range(of: input.name, input.value) == 0..<bound, "\(frozen.functionName) \(input.name)")
            }
        }
    }

    @Test("A valid length is from 1 to all of its axis")
    func lengths() throws {
        var builder = ProgramBuilder(name: "bucket")
        let x = builder.input("x", TensorType(.float32, [2, 3, 7]), .features)
        _ = builder.input("length", TensorType(.int64, [2]), .validLength(of: "x", axis: 2))
        builder.output("y", try builder.apply(Relu(), [x]))
        let frozen = try builder.finish().freezing(ShapeBindings())
        let drawn = (1...60 as ClosedRange<UInt64>).flatMap {
            SeededInputs(seed: $0).inputs(for: frozen)["length"]?.integers ?? []
        }
        #expect(Set(drawn) == [1, 2, 3, 4, 5, 6, 7])
    }

    @Test("The position of a block leaves room for the block, also where no role says that it is one")
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
