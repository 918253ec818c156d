import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelVerification

@Suite("Goldens of decoders")
struct DecodingTests {
    private struct Decoder {
        let programs: [Program]
        let frozen: [FrozenProgram]
        let golden: Golden

        init(_ fixture: String) throws {
            let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
            programs = try Families.matching(checkpoint.configuration).model(for: checkpoint).programs
            let path = Fixtures.path("\(fixture)/golden.safetensors")
            frozen = try programs.freezing(
                try programs.bindings(fitting: SafetensorsFile(path).tensors, file: path))
            golden = try Golden(path)
        }

        func planned(_ codec: String, _ functions: [FrozenProgram]? = nil) throws -> ModelPlan {
            try Recipe(default: Codecs.codec(codec)).compressing(functions ?? frozen, threads: 1).planned()
        }

        func check(_ program: ModelPlan, stages: Set<Stage> = Set(Stage.allCases)) throws -> ParityReport {
            try Parity(of: .planned(program), against: .reference(programs))
                .check(.init(stages: stages, inputs: .golden(golden)))
        }
    }

    @Test(
        "The file's shapes make a full, a prefill and a step function, and all that the golden holds is compared",
        arguments: ["qwen3_small", "mistral_window", "llama_llama3"])
    func playback(fixture: String) throws {
        let decoder = try Decoder(fixture)
        #expect(decoder.frozen.count == 3)
        let report = try decoder.check(try decoder.planned("float32"))
        #expect(report.exitStatus == .success && report.notCompared.isEmpty, "\(report.terminal())")
        let names = Set(report.outputs.filter { $0.reference == .golden }.map(\.name))
        #expect(names == Set(decoder.golden.outputs.keys))
        #expect(
            names.isSuperset(of: ["logits_full", "prefill_logits", "step0_logits", "kv_prefill.k.0", "kv_final.v.0"]))
        #expect(Set(report.operators.map(\.function)).count == 3)
    }

    @Test("Of a model with an encoder, the encoder and what the decoder keeps of it run first and are compared too")
    func withEncoder() throws {
        let whisper = try Decoder("whisper_small")
        #expect(whisper.frozen.map(\.program.name) == ["encoder", "cross_kv", "decoder", "decoder", "decoder"])
        let report = try whisper.check(try whisper.planned("float32"))
        #expect(report.exitStatus == .success, "\(report.terminal())")
        let names = Set(report.outputs.filter { $0.reference == .golden }.map(\.name))
        #expect(names == Set(whisper.golden.outputs.keys))
    }

    @Test("A decoder starts from the keys and values that a golden gives, and the encoder is compared beside it")
    func givenStates() throws {
        let whisper = try Decoder("whisper_small")
        let program = try whisper.planned("float32")
        let tensors = try SafetensorsFile(Fixtures.path("whisper_small/golden.safetensors")).tensors
        /// The result on the fixture's golden with further inputs, and with other values for some tensors.
        func check(zeros: Set<String>) throws -> ParityReport {
            try withTemporaryFolder { folder in
                let given = tensors.compactMap { tensor -> StoredTensor? in
                    if tensor.name == "out.encoder_hidden" { return tensor.renamed("in.encoder_hidden_states") }
                    return tensor.name.hasPrefix("out.cross_")
                        ? tensor.renamed("in." + tensor.name.dropFirst("out.".count)) : nil
                }
                let changed = (tensors + given).map { tensor in
                    zeros.contains(tensor.name)
                        ? StoredTensor(
                            name: tensor.name, floats: [Float](repeating: 0, count: tensor.shape.count),
                            shape: tensor.shape) : tensor
                }
                let path = "\(folder)/golden.safetensors"
                try SafetensorsWriter.write(changed, to: path, as: .part)
                return try Parity(of: .planned(program), against: .reference(whisper.programs))
                    .check(.init(inputs: .golden(Golden(path))))
            }
        }
        let sound = try check(zeros: [])
        #expect(sound.exitStatus == .success, "\(sound.terminal())")
        let names = Set(sound.outputs.filter { $0.reference == .golden }.map(\.name))
        #expect(
            names.isSuperset(of: ["last_hidden_state", "cross_k.0", "prefill_logits", "step0_logits", "logits_full"]))
        let states = Set(
            tensors.map(\.name).filter { $0.hasPrefix("out.cross_") }.map { "in." + $0.dropFirst("out.".count) })
        let lost = try check(zeros: states)
        #expect(lost.failures.contains { $0.name.contains("prefill_logits, golden") }, "\(lost.terminal())")
        let other = try check(zeros: ["out.encoder_hidden"])
        #expect(other.failures.contains { $0.name.contains("last_hidden_state, golden") }, "\(other.terminal())")
    }

    @Test("A compressed decoder computes what its stored weights say, step by step")
    func compressed() throws {
        let decoder = try Decoder("qwen3_small")
        let report = try decoder.check(try decoder.planned("float16"), stages: [.graph, .outputs])
        #expect(report.exitStatus == .success, "\(report.terminal())")
        #expect(report.outputs.filter { $0.stage == .graph }.allSatisfy { $0.metrics.sqnr > 100 })
        #expect(report.outputs.contains { $0.stage == .outputs && $0.reference == .golden && $0.metrics.sqnr < 90 })
    }

    @Test("What no function of the package can play is listed, and nothing at all is exit status 3")
    func missingFunctions() throws {
        let decoder = try Decoder("qwen3_small")
        let full = try decoder.planned("float32", [decoder.frozen[0]])
        let report = try decoder.check(full, stages: [.outputs])
        #expect(report.exitStatus == .success)
        #expect(report.outputs.filter { $0.reference == .golden }.map(\.name) == ["logits_full"])
        #expect(report.notCompared.contains { $0.name == "out.step0_logits" })
        let step = try decoder.planned("float32", [decoder.frozen[2]])
        let error = #expect(throws: RequestError.self) { try decoder.check(step, stages: [.outputs]) }
        #expect(error?.exitStatus == .unavailable)
    }
}
