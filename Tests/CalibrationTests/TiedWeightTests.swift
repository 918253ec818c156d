import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

@Suite("Tied word embeddings by gptq")
struct TiedWeightTests {
    @Test("They are the first, with the inputs of the original model, and the others get what they make of the tokens")
    func order() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("qwen3_small"))
        let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
        let part = try #require(programs.first)
        let golden = try SafetensorsFile(Fixtures.path("qwen3_small/golden.safetensors")).tensors
        let tokens = try #require(golden.first { $0.name == "in.input_ids" })
        let samples = try #require(try CalibrationSamples([tokens], for: part, file: "tokens"))
        let frozen = try part.freezing(ShapeBindings(["batch": 1, "tokens": 4, "cache": 32]))
        var recipe = Recipe(default: try Codecs.codec("int4:method=gptq"))
        recipe.calibratedWeights = part.multipliedWeights
        let finished = FinishedRuns()
        var names: [String] = []
        var drifts: [Bool] = []
        let made = try SequentialCompression([samples], finished: finished, threads: 2).run(
            recipe.plan(for: [frozen]), stored: []
        ) { weights, statistics in
            names += weights.map(\.source.name)
            drifts += weights.map { _ in !statistics.drift.isEmpty }
            return try weights.map {
                try CompressedTensor.compressing($0.source, with: $0.choice.codec, given: statistics, threads: 2)
            }
        }
        #expect(names.first?.contains("embed_tokens") == true && Set(names).count == names.count)
        #expect(names.count == made.count && drifts.first == false && drifts.dropFirst().allSatisfy(\.self))
        let tensors = made.values.map(\.tensor)
        let continued = try [samples].outputs(with: tensors, after: finished, threads: 2).sqnr
        #expect(try abs([samples].outputs(with: tensors, threads: 2).sqnr - continued) < 1e-3)
    }
}
