import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

@Suite("What each weight costs the outputs")
struct WeightLossTests {
    /// The matrices of the first layer.
    private func matrices(
        _ scheme: String, of digits: Digits, _ samples: [CalibrationSamples]
    ) throws -> [String: CompressedTensor] {
        try digits.compressed(scheme, samples: samples).filter {
            $0.key.contains("layer.0") && $0.value.shape.rank == 2
        }
    }

    @Test("Without gptq: the outputs with this weight alone, the worst first")
    func alone() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<4)
        let stored = try matrices("palette:bits=2", of: digits, [])
        let losses = try [WeightLoss](of: Array(stored.values), over: try #require(samples.first), threads: 2)
        #expect(losses.count == stored.count && losses.map(\.sqnr) == losses.map(\.sqnr).sorted())
        for loss in losses {
            let tensor = try #require(stored[loss.name])
            let expected = try samples.outputs(with: [tensor], threads: 2).sqnr
            #expect(abs(loss.sqnr - expected) < 1e-3, "\(loss.name)")
            if let remedied = loss.remedy?.sqnr { #expect(remedied > loss.sqnr) }
        }
        #expect(losses.first?.remedy?.sqnr != nil)
    }

    @Test(
        "By gptq: the outputs with this weight alone, by gptq on these samples, whatever it makes up for in the package"
    )
    func fitted() throws {
        let digits = try Digits()
        let samples = try digits.samples(0..<4)
        let scheme = "palette:bits=2,method=gptq"
        let stored = try matrices(scheme, of: digits, samples)
        let losses = try [WeightLoss](of: Array(stored.values), over: try #require(samples.first), threads: 2)
        #expect(losses.count == stored.count && losses.map(\.sqnr) == losses.map(\.sqnr).sorted())
        let walk = try StatisticsWalk(try #require(samples.first), memory: nil, threads: 2)
        for (index, name) in walk.weights.enumerated() {
            guard let loss = losses.first(where: { $0.name == name }) else { continue }
            let source = try #require(digits.part.constants.first { $0.name == name }?.tensor)
            let statistics = try #require(try walk.statistics(of: index))
            let alone = try CompressedTensor.compressing(
                source, with: Codecs.codec(scheme), given: statistics, threads: 2
            ).tensor
            let expected = try samples.outputs(with: [alone], threads: 2).sqnr
            #expect(abs(loss.sqnr - expected) < 1e-3, "\(name)")
        }
        let remedied = try #require(losses.first?.remedy)
        #expect(remedied.scheme.contains("method=gptq") && (remedied.sqnr ?? 0) > losses[0].sqnr)
    }

    @Test("A tied embedding is replaced where it is looked up, too, and what follows is as before")
    func tied() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("qwen3_small"))
        let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
        let part = try #require(programs.first)
        let golden = try SafetensorsFile(Fixtures.path("qwen3_small/golden.safetensors")).tensors
        let tokens = try #require(golden.first { $0.name == "in.input_ids" })
        let samples = try #require(try CalibrationSamples([tokens], for: part, file: "tokens"))
        let sources = part.constants.filter(\.isWeight).compactMap(\.tensor).filter { $0.shape.rank == 2 }
        let stored = try sources.map {
            try CompressedTensor.compressing($0, with: Codecs.codec("palette:bits=2"), threads: 1).tensor
        }
        #expect(
            stored.contains { $0.name.contains("embed_tokens") } && !stored.contains { $0.name.contains("lm_head") })
        for loss in try [WeightLoss](of: stored, over: samples, threads: 2) {
            let tensor = try #require(stored.first { $0.name == loss.name })
            let expected = try [samples].outputs(with: [tensor], threads: 2).sqnr
            #expect(abs(loss.sqnr - expected) < 1e-3, "\(loss.name)")
        }
    }

    @Test("A loss reads back from its document")
    func document() throws {
        let loss = WeightLoss("w", "int4", bytes: 12, error: 0.125)
        let text = JSON.object([.init("loss", loss.json { .number($0) })]).text()
        let field = JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "losses"), file: "losses")["loss"]
        let back = try WeightLoss(field)
        #expect(back.name == "w" && back.bytes == 12 && back.sqnr == loss.sqnr && back.scheme == "int4")
    }
}
