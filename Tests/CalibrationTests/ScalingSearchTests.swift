import AccelPrograms
import TestSupport
import Testing

@testable import AccelCalibration
@testable import AccelTensors
@testable import AccelWeightCompression

/// The end of a layer as llama has it: a norm of which some channels are far larger than the others, gate and up read by
/// columns, and down behind their product.
private struct Llama {
    let part: Program
    private static let width = 64
    private static let inner = 96

    init(outliers: Float = 24) throws {
        var generator = SeededGenerator(seed: 11)
        func weight(_ name: String, _ shape: Shape, _ size: Float = 0.2) -> StoredTensor {
            let floats = (0..<shape.count).map { _ in
                (Float.random(in: -1...1, using: &generator) + Float.random(in: -1...1, using: &generator)) * size
            }
            return StoredTensor(name: name, floats: floats, shape: shape)
        }
        let gain = StoredTensor(
            name: "norm.weight", floats: (0..<Self.width).map { $0 % 20 == 3 ? outliers : 1 }, shape: [Self.width])
        var builder = ProgramBuilder(
            name: "model", dimensions: [.init("batch", usual: [1]), .init("tokens", usual: [8])])
        let x = builder.input("x", TensorType(.float32, ["batch", "tokens", .fixed(Self.width)]))
        let normal = try builder.apply(RMSNorm(epsilon: 1e-6), [x, builder.constant(gain, isWeight: true)])
        func linear(_ name: String, _ value: Value, _ rows: Int, _ columns: Int) throws -> Value {
            try builder.apply(Linear(), [value, builder.constant(weight(name, [rows, columns]), isWeight: true)])
        }
        let gate = try builder.apply(Silu(), [try linear("gate.weight", normal, Self.inner, Self.width)])
        let up = try linear("up.weight", normal, Self.inner, Self.width)
        let product = try builder.apply(Multiply(), [gate, up])
        builder.output("y", try linear("down.weight", product, Self.width, Self.inner))
        part = try builder.finish()
    }

    func samples(seed: UInt64) throws -> CalibrationSamples {
        var generator = SeededGenerator(seed: seed)
        let shape: Shape = [24, 8, Self.width]
        let floats = (0..<shape.count).map { _ in
            Float.random(in: -1...1, using: &generator) + Float.random(in: -1...1, using: &generator)
        }
        return try #require(
            try CalibrationSamples([StoredTensor(name: "x", floats: floats, shape: shape)], for: part, file: "x"))
    }

    /// What stores gate and up so, and down by a scheme that loses nothing or, where it has one, by this one.
    func plan(_ scheme: String, down: String = "float32") throws -> [PlannedWeight] {
        let frozen = try part.freezing(ShapeBindings(["batch": 1, "tokens": 8]))
        let rule = try Recipe.Rule(match: "down*", codec: Codecs.codec(down))
        return Recipe(default: try Codecs.codec(scheme), rules: [rule]).plan(for: [frozen])
    }

    func search(_ scheme: String, down: String = "float32", threads: Int = 2) throws -> ScalingSearch {
        var search = ScalingSearch([part], plan: try plan(scheme, down: down), threads: threads)
        try search.run([try samples(seed: 1)])
        return search
    }

    /// Error by energy of what other samples than those of the search give, all weights stored by a scheme.
    func error(_ scheme: String, scaled: [String: StoredTensor]) throws -> Double {
        let others = try samples(seed: 2)
        let exact = try ReferenceOutputs(of: SampleRun(others, threads: 2))
        let run = try SampleRun(others.replacing(scaled), threads: 2)
        for weight in try plan(scheme) where weight.source.shape.rank > 1 {
            try run.replace(
                try CompressedTensor.compressing(
                    scaled[weight.source.name] ?? weight.source, with: weight.choice.codec.dataFree, threads: 2
                ).tensor)
        }
        return try run.error(from: exact)
    }
}

@Suite("Scalings for samples")
struct ScalingSearchTests {
    @Test(
        "columns with large inputs get finer steps, and samples that the search did not see lose clearly less",
        arguments: ["int4", "int4:mode=asymmetric"])
    func outliers(scheme: String) throws {
        let model = try Llama()
        let search = try model.search("\(scheme)\(scheme.contains(":") ? "," : ":")method=awq")
        let gate = try #require(search.found.scalings["gate.weight"])
        #expect(gate.columns[3] > gate.columns[4] && gate.columns[23] > gate.columns[24])
        #expect(search.found.scalings["norm.weight"]?.columns == gate.columns.map { -$0 })
        #expect(search.found.scalings["up.weight"]?.columns == gate.columns)
        #expect(search.reasons["gate.weight"] == nil)
        let plain = try model.error(scheme, scaled: [:])
        let scaled = try model.error(scheme, scaled: search.found.tensors)
        #expect(scaled < 0.85 * plain, "\(scaled / plain)")
    }

    @Test("nothing is scaled where inputs are alike, where another scheme reads them, or where no method asks for it")
    func nothing() throws {
        let even = try Llama(outliers: 1).search("int4:method=awq")
        #expect(even.found.scalings["gate.weight"] == nil)
        #expect(
            even.reasons["gate.weight"]
                == "method=awq, which scales by powers of two, would bring what it gives no nearer to what it should")
        #expect(try Llama().search("int4:method=gptq").found.scalings.isEmpty)

        let model = try Llama()
        let mixed = try model.plan("int4:method=awq").map { weight in
            weight.source.name == "up.weight"
                ? PlannedWeight(
                    source: weight.source, readers: weight.readers,
                    choice: .init(codec: try Codecs.codec("int4"), reason: nil)) : weight
        }
        var search = ScalingSearch([model.part], plan: mixed, threads: 2)
        try search.run([try model.samples(seed: 1)])
        #expect(search.found.scalings["gate.weight"] == nil && search.found.scalings["norm.weight"] == nil)
        #expect(
            search.reasons["gate.weight"]
                == "method=awq needs inputs whose channels a weight makes and nothing else reads")
    }

    @Test("rows that share a table are not scaled apart: down keeps its columns where up is a palette")
    func sharedTables() throws {
        let search = try Llama().search("palette:bits=4,method=awq", down: "palette:bits=4,method=awq")
        #expect(search.found.scalings["down.weight"] == nil)
        #expect(search.found.scalings["up.weight"]?.rows ?? [] == [])
    }

    @Test("the same scalings on any number of threads, and by the statistics alone")
    func deterministic() throws {
        let model = try Llama()
        let one = try model.search("int4:method=awq", threads: 1)
        #expect(one.found.scalings == (try model.search("int4:method=awq", threads: 2)).found.scalings)

        let run = try SampleRun(try model.samples(seed: 1), threads: 2)
        var statistics: [String: ActivationStatistics] = [:]
        for (index, name) in run.weights.enumerated() {
            try run.run(to: index)
            statistics[name] = try run.statistics(of: index)
        }
        var given = ScalingSearch([model.part], plan: try model.plan("int4:method=awq"), threads: 2)
        try given.run(given: statistics)
        #expect(given.found.scalings == one.found.scalings)
    }
}
