import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCalibration

/// Whisper: the encoder's output feeds the keys and values of the decoder's cross attention.
@Suite("Samples of parts that other parts feed")
struct LinkedSamplesTests {
    private let parts: [Program]
    private let tensors: [StoredTensor]

    init() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("whisper_small"))
        let family = try Families.matching(checkpoint.configuration)
        parts = try family.model(for: checkpoint).programs
        tensors = try SafetensorsFile(Fixtures.path("whisper_small/golden.safetensors")).tensors
            .filter { ["in.input_features", "in.decoder_input_ids"].contains($0.name) }
    }

    @Test("The sound and the tokens of a file are samples of all parts")
    func all() throws {
        let samples = try CalibrationSamples.all(tensors, for: parts, file: "x", threads: 2)
        #expect(samples.map(\.part.name) == ["encoder", "cross_kv", "decoder"])
        #expect(samples.map(\.linked.isEmpty) == [true, false, false])
        let decoder = try #require(samples.last)
        #expect(!decoder.part.states(.crossAttention).isEmpty)
        for chunk in decoder.chunks {
            #expect(Set(chunk.states.keys) == Set(decoder.part.states(.crossAttention).map(\.name)))
            #expect(chunk.states.values.allSatisfy { $0.floats.contains { $0 != 0 } })
        }
    }

    @Test("What an encoder's weight loses is in the figures of all parts behind it")
    func losses() throws {
        let samples = try CalibrationSamples.all(tensors, for: parts, file: "x", threads: 2)
        func figures(of part: Int) throws -> [String: Double] {
            let weight = try #require(
                samples[part].part.constants.first { $0.isWeight && $0.tensor?.shape.rank == 2 }?.tensor)
            let coarse = try CompressedTensor.compressing(weight, with: Codecs.codec("palette:bits=2"), threads: 2)
                .tensor
            let outputs = try samples.outputs(with: [coarse], threads: 2).outputs
            return Dictionary(outputs.map { ($0.name, $0.sqnr) }) { first, _ in first }
        }
        let (encoder, decoder) = (try figures(of: 0), try figures(of: 2))
        let changed = encoder.filter { $0.value.isFinite }
        #expect(encoder.count > 2 && changed.count == encoder.count)
        let lost = decoder.filter { $0.value.isFinite }.map(\.key)
        #expect(lost == ["logits"])
    }

    @Test("Tokens alone are rejected: on zeros, which are no encoder's keys, a decoder's figures would be wrong")
    func tokensAlone() throws {
        let tokens = tensors.filter { $0.name == "in.decoder_input_ids" }
        let error = #expect(throws: RequestError.self) {
            try CalibrationSamples.all(tokens, for: parts, file: "x", threads: 1)
        }
        #expect(error?.description.contains("cross_k.0") == true)
        #expect(error?.description.contains("give the inputs of the encoder too") == true)
        // Those of the encoder alone are samples of what it feeds.
        let sound = tensors.filter { $0.name == "in.input_features" }
        let fed = try CalibrationSamples.all(sound, for: parts, file: "x", threads: 1)
        #expect(fed.map(\.part.name) == ["encoder", "cross_kv"])
    }

    @Test("A size that follows from a dimension gives the dimension")
    func solved() {
        let half = (Dimension.named("frames") + .fixed(1)) / 2
        #expect(half.solved(for: 10, besides: [:])?.number == 19)
        #expect(half.solved(for: 10, besides: ["frames": 20]) == nil)
        #expect((Dimension.named("n") * .fixed(4)).solved(for: 10, besides: [:]) == nil)
        #expect((Dimension.named("n") * .fixed(4)).solved(for: 12, besides: [:])?.number == 3)
        #expect((Dimension.named("n") * .named("m")).solved(for: 12, besides: [:]) == nil)
        #expect((Dimension.named("n") * .named("m")).solved(for: 12, besides: ["m": 4])?.number == 3)
    }

    @Test("Several sounds are measured one as well as the others: three equal ones give the figures of one")
    func several() throws {
        func repeated(_ count: Int) -> [StoredTensor] {
            tensors.map { tensor in
                let first = HostTensor(tensor).samples([Int](repeating: 0, count: count))
                return first.stored(name: tensor.name)
            }
        }
        func figures(_ count: Int) throws -> SampledOutputs {
            let samples = try CalibrationSamples.all(repeated(count), for: parts, file: "x", threads: 2)
            #expect(samples.map(\.count) == [count, count, count])
            let weights = samples.flatMap(\.part.constants).filter { $0.isWeight && $0.tensor?.shape.rank == 2 }
            let coarse = try weights.compactMap(\.tensor).map {
                try CompressedTensor.compressing($0, with: Codecs.codec("int4"), threads: 2).tensor
            }
            return try samples.outputs(with: coarse, threads: 2)
        }
        let (one, three) = (try figures(1), try figures(3))
        #expect(one.outputs.map(\.name) == three.outputs.map(\.name))
        for (left, right) in zip(one.outputs, three.outputs) {
            #expect(abs(left.sqnr - right.sqnr) < 1e-3, "\(left.name)")
        }
    }
}
