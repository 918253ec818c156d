import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Operators with large weights are compared on some of their rows")
struct SamplingTests {
    private static let (rows, columns) = (2100, 520)

    /// Two products by weights of more than 2^20 elements, the first with an activation, then a small one.
    private static func program() throws -> Program {
        var generator = SeededGenerator(seed: 5)
        func weight(_ name: String, _ shape: Shape) -> StoredTensor {
            StoredTensor(
                name: name, floats: (0..<shape.count).map { _ in Float.random(in: -1...1, using: &generator) },
                shape: shape)
        }
        var builder = ProgramBuilder(name: "model", dimensions: [.init("batch", usual: [3])])
        let x = builder.input("x", TensorType(.float32, ["batch", .fixed(columns)]))
        func linear(_ name: String, _ x: Value, _ shape: Shape) throws -> Value {
            try builder.in(name) { builder in
                try builder.apply(Linear(), [x, builder.constant(weight("\(name).weight", shape), isWeight: true)])
            }
        }
        let up = try linear("up", x, [rows, columns])
        let gate = try builder.in("up") { try $0.apply(Gelu(.erf), [up]) }
        let other = try linear("other", x, [rows, columns])
        let product = try builder.apply(Multiply(), [gate, other])
        builder.output("y", try linear("down", product, [4, rows]))
        return try builder.finish()
    }

    private static func planned(_ program: Program, _ codec: String) throws -> ModelPlan {
        try Recipe(default: Codecs.codec(codec)).compressing(
            [program.freezing(ShapeBindings(parsing: "batch=3"))], threads: 1
        ).planned()
    }

    @Test("the report says which, on how many rows, and by which seed", arguments: ["float32", "int4"])
    func report(codec: String) throws {
        let program = try Self.program()
        let report = try Parity(of: .planned(try Self.planned(program, codec)), against: .reference([program]))
            .check(.init(inputs: .seeded(3)))
        #expect(report.exitStatus == .success, "\(report.terminal())")
        let sampled = report.operators.filter { $0.sampledRows != nil }
        #expect(sampled.map(\.label) == ["up.gelu", "other.linear"])
        for call in sampled {
            #expect(call.sampledRows == 64 && call.kernel.count == 3 * 64)
            #expect(call.injected.count == 3 * Self.rows && call.propagated?.count == 3 * Self.rows)
            #expect(call.kernel.sqnr > 110 && (codec == "float32" || call.injected.sqnr < 60))
        }
        #expect(report.operators.first { $0.label == "down.linear" }?.kernel.count == 12)
        let wanted: JSON = ["calls": 2, "rows": 64, "largestWhole": 1_048_576, "seed": "3"]
        #expect(report.json["sampling"] == wanted)
        #expect(report.terminal().contains("2 of them on 64 rows of a weight of more than 1048576 elements, by seed 3"))
        #expect(try JSONSchema(named: "report.schema.json").violations(of: report.json).isEmpty)
    }

    @Test("every fault of the self test is caught as with small weights")
    func faults() throws {
        let program = try Self.program()
        let report = try SelfTest(of: .planned(try Self.planned(program, "int4")), against: .reference([program])).run()
        #expect(report.failures.isEmpty, "\(report.terminal(width: 140))")
        let caught = Set(report.trials.filter { $0.outcome == .caught }.map(\.fault))
        #expect(caught.isSuperset(of: ["flip a bit", "wrong weight", "wrong value", "lose an activation"]))
    }

    @Test("rows are distinct and ascending, with the first and the last; others for another seed or label")
    func rows() {
        let sampling = SampledRows(seed: 1)
        let shape: Shape = [3000, 400]
        let rows = sampling.rows(of: "a", weight: shape) ?? []
        #expect(rows.count == 64 && rows.first == 0 && rows.last == 2999 && rows == Set(rows).sorted())
        #expect(rows == sampling.rows(of: "a", weight: shape))
        #expect(rows != sampling.rows(of: "b", weight: shape))
        #expect(rows != SampledRows(seed: 2).rows(of: "a", weight: shape))
        #expect(sampling.rows(of: "a", weight: [1024, 1024]) == nil)
        #expect(sampling.rows(of: "a", weight: [128, 1 << 20]) == nil)
    }
}
