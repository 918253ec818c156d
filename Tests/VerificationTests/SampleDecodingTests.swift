import Accel
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Decoders on all tokens of samples")
struct SampleDecodingTests {
    /// A package of a fixture in memory, and the subject that it is compared with.
    private struct Sample {
        let package: ModelPlan
        let reference: Subject

        init(_ fixture: String, _ shapes: [String], _ scheme: String = "stored") throws {
            let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
            let family = try Families.matching(checkpoint.configuration)
            let programs = try family.model(for: checkpoint).programs
            let functions = try programs.freezing(shapes.map { try ShapeBindings(parsing: $0) })
            package = try Recipe(default: Codecs.codec(scheme)).compressing(functions, threads: 2).planned()
            reference = .reference(programs)
        }

        func report(_ tensors: [StoredTensor], in folder: String) throws -> ParityReport {
            let path = "\(folder)/samples.safetensors"
            try SafetensorsWriter.write(tensors, to: path, as: .outputs)
            return try Parity(of: .planned(package), against: reference)
                .check(.init(stages: [.graph, .outputs], inputs: .file(InputFile(path))))
        }
    }

    private func tokens(_ name: String, _ rows: [[Int64]]) -> StoredTensor {
        StoredTensor(name: name, integers: rows.flatMap(\.self), shape: [rows.count, rows[0].count])
    }

    @Test("Every token is taken once, in order, the last one by the function for one token")
    func blocks() throws {
        let sample = try Sample("qwen3_small", ["batch=1,cache=14,tokens=4", "batch=1,cache=14,tokens=1"])
        let ids = tokens("input_ids", [Array(1...9), Array(11...19)])
        let decoding = try #require(
            try SampleDecoding(sample.package, SampleInputs(["input_ids": ids], file: "x")))
        #expect(decoding.sequences.count == 2)
        for sequence in decoding.sequences {
            let positions = sequence.blocks.compactMap(\.step.positions)
            #expect(positions.flatMap { Array($0) } == Array(0..<9))
            #expect(positions.last == 8..<9)
            #expect(sequence.blocks.last?.states == "")
        }
    }

    @Test("What a mask hides at the end of samples is not taken")
    func padding() throws {
        let sample = try Sample("qwen3_small", ["batch=1,cache=14,tokens=4", "batch=1,cache=14,tokens=1"])
        let ids = tokens("input_ids", [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 0, 0]])
        let mask = tokens("attention_mask", [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
        let decoding = try #require(
            try SampleDecoding(
                sample.package, SampleInputs(["input_ids": ids, "attention_mask": mask], file: "x")))
        // Four tokens fill the block of four, and the function for one has the last one once more.
        #expect(decoding.sequences.map { $0.blocks.last?.step.positions } == [5..<6, 4..<5])
        #expect(decoding.sequences.map(\.lengths) == [[6], [5]])
        let last = decoding.sequences[1].blocks.last?.step.inputs["input_ids"]
        #expect(last.map { HostTensor($0).integers } == [4])
    }

    @Test("The last tokens are in the figures")
    func lastTokens() throws {
        try withTemporaryFolder { folder in
            let sample = try Sample("qwen3_small", ["batch=1,cache=14,tokens=4", "batch=1,cache=14,tokens=1"], "int4")
            func figures(_ last: Int64) throws -> [String: Double] {
                let report = try sample.report([tokens("input_ids", [[1, 2, 3, 4, 5, 6, 7, last]])], in: folder)
                #expect(report.failures.isEmpty)
                return Dictionary(
                    report.outputs.filter { $0.stage == .outputs }.map {
                        ("\($0.function) \($0.name)", $0.metrics.sqnr)
                    }
                ) { first, _ in first }
            }
            let (some, others) = (try figures(8), try figures(30))
            let step = try #require(some.keys.first { $0.contains("tokens=1]") && $0.hasSuffix("logits") })
            let block = try #require(some.keys.first { $0.contains("tokens=4]") && $0.hasSuffix("logits") })
            #expect(some[step] != others[step] && some[block] == others[block])
        }
    }

    @Test("What an encoder loses reaches the decoder: its keys are no better than what they are made from allows")
    func chain() throws {
        try withTemporaryFolder { folder in
            let shapes = [
                "batch=1,frames=26", "batch=1,frames=26,cache=14,tokens=4", "batch=1,frames=26,cache=14,tokens=1",
            ]
            let sample = try Sample("whisper_small", shapes, "int4")
            let golden = try SafetensorsFile(Fixtures.path("whisper_small/golden.safetensors")).tensors
            let features = try #require(golden.first { $0.name == "in.input_features" }).renamed("input_features")
            let report = try sample.report([features, tokens("decoder_input_ids", [[1, 2, 3, 4, 5, 6]])], in: folder)
            #expect(report.failures.isEmpty, "\(report.failures)")
            let outputs = report.outputs.filter { $0.stage == .outputs }
            #expect(outputs.contains { $0.name == "logits" && $0.function.contains("tokens=1]") })
            // The package as `run` computes it, against the model as the framework does.
            let plan = try RunPlan(
                sample.package,
                FunctionInputs([features, tokens("decoder_input_ids", [[1, 2, 3, 4, 5, 6]])], file: "x"))
            let made = try plan.run(in: Session(sample.package, threads: 2))
            let exact = try Sample("whisper_small", shapes)
            let wanted = try plan.run(in: Session(exact.package, threads: 2))
            for name in ["last_hidden_state", "cross_k.1", "cross_v.0"] {
                let own = try #require(made.outputs.first { $0.name == name }).floats()
                let other = try #require(wanted.outputs.first { $0.name == name }).floats()
                let found = try #require(outputs.first { $0.name == name }).metrics.sqnr
                #expect(abs(Metrics(own, against: other).sqnr - found) < 0.05, "\(name)")
            }
            // Without tokens nothing chains the package's own encoder, which is said.
            let words = "cross_kv[batch=1,frames=26] on what the original encoder makes of it"
            #expect(!report.inputs.contains(words))
            #expect(try sample.report([features], in: folder).inputs.contains(words))
        }
    }

    @Test(
        "Of several windows in a package the decoder is the one of the encoder that the sound fits",
        arguments: [26, 20], [[26, 20], [20, 26]])
    func windows(_ frames: Int, _ order: [Int]) throws {
        func shapes(_ frames: Int) -> [String] {
            [4, 1].map { "batch=1,cache=14,frames=\(frames),tokens=\($0)" }
        }
        let golden = try SafetensorsFile(Fixtures.path("whisper_small/golden.safetensors")).tensors
        let whole = try #require(golden.first { $0.name == "in.input_features" })
        let (rows, length) = (whole.shape.dimensions[1], whole.shape.dimensions[2])
        let floats = whole.floats()
        let features = StoredTensor(
            name: "input_features", floats: (0..<rows).flatMap { floats[$0 * length..<$0 * length + frames] },
            shape: [1, rows, frames])
        func logits(_ shapes: [String], _ count: Int64) throws -> (names: [String], floats: [Float]) {
            let package = try Sample("whisper_small", shapes).package
            let plan = try RunPlan(
                package, FunctionInputs([features, tokens("decoder_input_ids", [Array(1...count)])], file: "x"))
            let made = try plan.run(in: Session(package, threads: 2))
            let output = try #require(made.outputs.last { $0.name == "logits" })
            return (plan.steps.map { package.functions[$0.function].name }, output.floats())
        }
        for count in [Int64(1), 3, 4, 6] {
            let both = try logits(order.flatMap(shapes), count)
            let alone = try logits(shapes(frames), count)
            #expect(both.names == alone.names)
            #expect(both.names.allSatisfy { $0.contains("frames=\(frames)") }, "\(both.names)")
            #expect(both.floats == alone.floats)
        }
    }
}
