import Accel
import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

/// A model with one part's functions frozen for blocks of several lengths over one cache.
struct BlockModel {
    let program: ModelPlan
    let frozen: [FrozenProgram]

    init(_ programs: [Program], _ numbers: [String: Int], blocks: [Int], cache: Int) throws {
        frozen = try programs.freezing(
            blocks.map { ShapeBindings(numbers.merging(["tokens": $0, "cache": cache]) { own, _ in own }) })
        program = try CompressedProgram(functions: frozen, weights: []).planned()
    }

    /// The name of the decoder's function for blocks of a length.
    func function(_ block: Int) -> String? {
        program.functions.first { $0.bindings.numbers["tokens"] == block }?.name
    }

    /// All logits that a plan for the tensors of a file makes, which has these blocks.
    func logits(_ tensors: [StoredTensor], blocks: [Int]) throws -> HostTensor {
        let plan = try RunPlan(
            program, FunctionInputs(tensors, file: "tokens"), function: blocks.first.flatMap(function))
        #expect(plan.steps.compactMap { $0.positions?.count } == blocks)
        let outputs = try plan.run(in: Session(program, threads: 2)).outputs
        return HostTensor(try #require(outputs.first { $0.name == "logits" }))
    }
}

func largestDifference(_ left: HostTensor, _ right: HostTensor) -> Double {
    guard left.shape == right.shape else { return .infinity }
    return zip(left.floats, right.floats).reduce(0) {
        let difference = abs(Double($1.0) - Double($1.1))
        return difference.isFinite ? max($0, difference) : .infinity
    }
}

func tokens(_ rows: Int, _ count: Int, below limit: UInt64, seed: UInt64 = 5) -> StoredTensor {
    var generator = SeededGenerator(seed: seed)
    let integers = (0..<rows * count).map { _ in Int64(UInt64.random(in: 0..<limit, using: &generator)) }
    return StoredTensor(name: "input_ids", integers: integers, shape: [rows, count])
}
