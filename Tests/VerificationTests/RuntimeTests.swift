import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Runtimes of other projects")
struct RuntimeTests {
    @Test(
        "Each runtime has a program, reads a format that is written, and has limits",
        arguments: ModelRuntimes.all.map(\.name))
    func registry(_ name: String) throws {
        let runtime = try #require(ModelRuntimes.named(name))
        let program = URL(filePath: "\(Fixtures.repository)/scripts/runtimes/\(name).py")
        let text = try String(contentsOf: program, encoding: .utf8)
        #expect(text.contains("runner.serve(\"\(runtime.title)\", \"\(runtime.installation)\", start)"))
        #expect(runtime.formats.contains { $0.exporter != nil })
        #expect(runtime.installation.hasPrefix("pip install "))
    }

    @Test("A limit of outputs is the weaker of the rounding's and of the weights', which is measured where it can be")
    func limits() throws {
        let line = try #require(SchemeTolerance.table.first { $0.scheme == "4 bits" })
        #expect(RuntimeRounding.mlxFloat32.outputTolerance(of: .mlx, loss: nil, weights: line).sqnr == line.output)
        #expect(
            RuntimeRounding.llamaBFloat16.outputTolerance(of: .llama, loss: nil, weights: nil).sqnr
                == RuntimeRounding.llamaBFloat16.output)
        let loss = Metrics([1, 1.1], against: [1, 1])
        let measured = try #require(
            RuntimeRounding.mlxFloat32.outputTolerance(of: .mlx, loss: loss, weights: line).sqnr)
        #expect(abs(loss.sqnr - measured - 12.04) < 0.01)
        let none = RuntimeRounding.mlxFloat32.outputTolerance(of: .mlx, loss: Metrics([1], against: [1]), weights: line)
        #expect(none.sqnr == RuntimeRounding.mlxFloat32.output)
        for rounding in [RuntimeRounding.llamaFloat16, .llamaBFloat16, .llamaBlocks, .ctranslate2Rows, .coreaiFloat16] {
            #expect(rounding.graph < RuntimeRounding.mlxFloat32.graph, "\(rounding.words)")
        }
    }

    @Test("A row of a tensor is a tensor of one row, cut on its second axis")
    func rows() {
        let tensor = HostTensor((0..<12).map { Int64($0) }, [2, 3, 2])
        #expect(tensor.row(1, first: 2) == HostTensor([6, 7, 8, 9] as [Int64], [1, 2, 2]))
        #expect(tensor.row(0, first: nil) == HostTensor([0, 1, 2, 3, 4, 5] as [Int64], [1, 3, 2]))
        #expect(tensor.row(2, first: nil) == nil)
        #expect(tensor.row(0, first: 4) == nil)
    }

    @Test("Drawn texts have no padding, start at position 0 and fill their caches")
    func drawn() throws {
        let model = try ModelFormats.open(Fixtures.path("qwen3_small")).model()
        let feed = try WholeInputs(model.programs, on: .seeded(1))
        #expect(feed.runs.count == 2 && feed.notCompared.isEmpty)
        #expect(Set(feed.runs.map(\.sequence)).count == 2)
        for run in feed.runs {
            #expect(run.inputs["position"]?.integers == [0])
            let length = try #require(run.inputs["input_ids"]).shape.dimensions[1]
            #expect(run.model.states.allSatisfy { $0.shape.dimensions[2] == length })
        }
    }

    @Test("Each row of a golden is a text without its padding, with the golden's outputs of its tokens")
    func golden() throws {
        let model = try ModelFormats.open(Fixtures.path("bert_base")).model()
        let golden = try Golden(Fixtures.path("bert_base/golden.safetensors"))
        let feed = try WholeInputs(model.programs, on: .golden(golden))
        #expect(feed.runs.map { $0.inputs["input_ids"]?.shape } == [[1, 19], [1, 7], [1, 1]])
        let whole = try #require(golden.outputs["last_hidden_state"])
        for (row, run) in feed.runs.enumerated() {
            let count = try #require(run.inputs["input_ids"]).shape.dimensions[1]
            #expect(run.expected["last_hidden_state"] == HostTensor(whole).row(row, first: count))
            #expect(run.expected["pooler_output"]?.shape == [1, 36])
            #expect(run.inputs["attention_mask"]?.integers == [Int64](repeating: 1, count: count))
        }
    }

    @Test("A request is read back as it was asked, and an answer that lacks a file is an error")
    func request() throws {
        let model = try ModelFormats.open(Fixtures.path("qwen3_small")).model()
        let feed = try WholeInputs(model.programs, on: .seeded(1))
        try withTemporaryFolder { folder in
            let request = RuntimeRequest(
                runtime: .llama, model: "/model", runs: feed.runs, threads: 2, keepsActivations: false)
            try request.write(to: folder)
            let document = JSONField(try JSON.read("\(folder)/request.json"), file: "request.json")
            #expect(try document["runs"].array().count == 2)
            #expect(try document["activations"].string() == "native")
            let tensors = try SafetensorsFile("\(folder)/inputs.safetensors").tensors
            #expect(tensors.map(\.name).sorted() == ["0.input_ids", "0.position", "1.input_ids", "1.position"])
            #expect(throws: (any Error).self) { try request.answer(in: folder) }
        }
    }

    /// A driver that does what a test wants.
    private struct Driver: RuntimeDriver {
        let run: @Sendable (String) throws -> String?
        func run(_ runtime: ModelRuntime, in folder: String, runs: Int) throws -> String? { try run(folder) }
    }

    @Test("A model that no format of the runtime is, and a missing model, are rejected before anything runs")
    func rejected() throws {
        let source = try ModelFormats.open(Fixtures.path("qwen3_small"))
        let driver = Driver { _ in "must not run" }
        let subject = Subject.runtime(RuntimeSubject(source, runtime: .llama, driver: driver))
        #expect(throws: RequestError.self) { try Parity(of: subject, against: nil).check() }
        let reference = Subject.model(try OriginalModel(source, for: subject, threads: 2))
        #expect(throws: RequestError.self) { try Parity(of: subject, against: reference).check() }
    }

    @Test("A report of a runtime that fails is what report.schema.json says, and fails")
    func failing() throws {
        let source = try ModelFormats.open(Fixtures.path("qwen3_small"))
        let subject = Subject.runtime(RuntimeSubject(source, runtime: .mlx, driver: Driver { _ in "it broke" }))
        let reference = Subject.model(try OriginalModel(source, for: subject, threads: 2))
        let report = try Parity(of: subject, against: reference).check()
        #expect(report.exitStatus == .exceeded)
        #expect(report.failures.map(\.reason) == ["not compared: MLX failed: it broke"])
        #expect(try JSONSchema(named: "report.schema.json").violations(of: report.json) == [])
    }
}
