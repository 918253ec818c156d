import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@Suite("What a checkpoint is, without converting it")
struct ModelSurveyTests {
    private static let models = ParityCase.all([""]).filter {
        FileManager.default.fileExists(atPath: "\($0.folder)/config.json")
    }

    @Test("every model has all of its tensors, and every part can be frozen to its usual numbers", arguments: models)
    func everyModel(subject: ParityCase) throws {
        let checkpoint = try Checkpoint(model: subject.folder)
        let family = try Families.matching(checkpoint.configuration)
        let survey = try ModelSurvey(of: checkpoint, by: family)
        #expect(survey.missing.isEmpty)
        for part in survey.parts {
            #expect(!part.work.isEmpty && part.work.allSatisfy { $0.multiplyAdds > 0 })
            #expect(part.parameters.count > 0)
            #expect(part.program.dimensions.allSatisfy { !$0.usual.isEmpty })
        }
        #expect(survey.parts.contains { $0.isDefault })
        #expect(survey.parameters.count <= survey.parts.reduce(0) { $0 + $1.parameters.count })
    }

    @Test("every family has a model among them")
    func families() throws {
        let types = try Self.models.map { try $0.configuration()["model_type"] }.compactMap { try? $0.string() }
        // The others' configurations have no type, or they come with the larger collection only.
        let untyped: Set = ["kokoro", "snac", "silero_vad", "kokoro_adain_blocks"]
        for family in Families.all where untyped.isDisjoint(with: family.modelTypes) {
            #expect(!Set(types).isDisjoint(with: family.modelTypes), "\(family)")
        }
    }

    @Test("a missing tensor and one of another shape are listed, and all others are counted")
    func missing() throws {
        var changed = try ChangedCheckpoint("snac_chunks")
        let whole = try changed.survey().parameters
        let gone = try #require(changed.tensors.first { $0.name.hasSuffix("original1") })
        changed.tensors.removeAll { $0.name == gone.name }
        changed.tensors = changed.tensors.map {
            guard $0.name == "quantizer.quantizers.0.codebook.weight" else { return $0 }
            return StoredTensor(name: $0.name, floats: [1, 2], shape: [2, 1])
        }
        let survey = try changed.survey()
        #expect(Set(survey.missing.map(\.name)) == [gone.name, "quantizer.quantizers.0.codebook.weight"])
        #expect(survey.missing.first { $0.name == gone.name }?.reason.hasPrefix("the checkpoint has no such") == true)
        #expect(
            survey.missing.first { $0.name != gone.name }?.reason.hasSuffix("by config.json, found [2,1]") == true)
        #expect(survey.parameters.count == whole.count)
    }

    @Test("Matrices that a conversion transposes are not copied")
    func transposed() throws {
        let survey = try ChangedCheckpoint("gpt2_small").survey()
        let constants = try #require(survey.parts.first).program.constants
        let matrix = try #require(constants.first { $0.name.hasSuffix("h.0.attn.c_attn.weight") })
        #expect(matrix.shape.dimensions[0] == 3 * matrix.shape.dimensions[1])
        #expect(try matrix.requireTensor().floats().allSatisfy { $0 == 0 })
    }

    @Test("a configuration of impossible size is rejected, not allocated")
    func huge() throws {
        var changed = try ChangedCheckpoint("bert_base")
        changed.tensors = Array(changed.tensors.prefix(1))
        for (field, size) in [("hidden_size", 65536), ("intermediate_size", 1 << 20), ("num_hidden_layers", 1000)] {
            changed.set(field, .integer(Int64(size)))
        }
        changed.set("num_attention_heads", 1)
        #expect(throws: RequestError.self) { try changed.survey() }
    }

    /// Sizes of Whisper as published: d, layers, heads, mels, vocabulary.
    struct Size: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let width: Int
        let encoderLayers: Int
        let decoderLayers: Int
        let heads: Int
        let mels: Int
        let vocabulary: Int
        /// In millions: all parameters.
        let parameters: Double
        /// In billions: of the encoder, and of a step.
        let multiplyAdds: (encoder: Double, step: Double)
    }

    static let whispers = [
        Size(
            testDescription: "tiny", width: 384, encoderLayers: 4, decoderLayers: 4, heads: 6, mels: 80,
            vocabulary: 51865, parameters: 37.8, multiplyAdds: (18.5, 0.034)),
        Size(
            testDescription: "base", width: 512, encoderLayers: 6, decoderLayers: 6, heads: 8, mels: 80,
            vocabulary: 51865, parameters: 72.6, multiplyAdds: (43.7, 0.061)),
        Size(
            testDescription: "small", width: 768, encoderLayers: 12, decoderLayers: 12, heads: 12, mels: 80,
            vocabulary: 51865, parameters: 241.7, multiplyAdds: (172.1, 0.175)),
        Size(
            testDescription: "medium", width: 1024, encoderLayers: 24, decoderLayers: 24, heads: 16, mels: 80,
            vocabulary: 51865, parameters: 764, multiplyAdds: (569, 0.50)),
        Size(
            testDescription: "large-v3", width: 1280, encoderLayers: 32, decoderLayers: 32, heads: 20, mels: 128,
            vocabulary: 51866, parameters: 1543, multiplyAdds: (1137, 0.96)),
        Size(
            testDescription: "large-v3-turbo", width: 1280, encoderLayers: 32, decoderLayers: 4, heads: 20, mels: 128,
            vocabulary: 51866, parameters: 809, multiplyAdds: (1137, 0.178)),
    ]

    @Test("Whisper of every published size has its parameters and its work", arguments: whispers)
    func whisper(size: Size) throws {
        var changed = try ChangedCheckpoint("whisper_small")
        changed.tensors = Array(changed.tensors.prefix(1))
        let numbers = [
            "d_model": size.width, "encoder_layers": size.encoderLayers, "decoder_layers": size.decoderLayers,
            "encoder_attention_heads": size.heads, "decoder_attention_heads": size.heads,
            "encoder_ffn_dim": 4 * size.width, "decoder_ffn_dim": 4 * size.width, "num_mel_bins": size.mels,
            "vocab_size": size.vocabulary, "max_source_positions": 1500, "max_target_positions": 448,
        ]
        for (field, number) in numbers { changed.set(field, .integer(Int64(number))) }
        let survey = try changed.survey()
        func isNear(_ number: Int, _ expected: Double) -> Bool { abs(Double(number) / expected - 1) < 0.02 }
        #expect(isNear(survey.parameters.count, size.parameters * 1e6), "\(survey.parameters)")
        let encoder = try #require(survey.parts.first?.work.first)
        #expect(encoder.bindings.numbers["frames"] == 3000)
        #expect(isNear(encoder.multiplyAdds, size.multiplyAdds.encoder * 1e9), "\(encoder.multiplyAdds)")
        let decoder = try #require(survey.parts.first { $0.program.name == "decoder" })
        let step = try #require(decoder.work.first { $0.bindings.numbers["tokens"] == 1 })
        #expect(isNear(step.multiplyAdds, size.multiplyAdds.step * 1e9), "\(step.multiplyAdds)")
    }
}

extension ModelSurveyTests {
    /// The published configurations of SNAC by their rate in kHz.
    static let snacs = [
        (rate: 24, rates: [8, 8, 4, 2], strides: [4, 2, 1], width: 1024, window: JSON.null),
        (rate: 32, rates: [8, 8, 3, 2], strides: [8, 4, 2, 1], width: 1536, window: 32),
        (rate: 44, rates: [8, 8, 4, 2], strides: [8, 4, 2, 1], width: 1536, window: 32),
    ]

    @Test("SNAC of every published rate has its parameters and its samples a coarse frame", arguments: snacs.indices)
    func snac(index: Int) throws {
        let size = Self.snacs[index]
        var changed = try ChangedCheckpoint("snac_chunks")
        changed.tensors = Array(changed.tensors.prefix(1))
        func integers(_ numbers: [Int]) -> JSON { .array(numbers.map { .integer(Int64($0)) }) }
        let fields: [(String, JSON)] = [
            ("decoder_rates", integers(size.rates)), ("encoder_rates", integers(size.rates.reversed())),
            ("vq_strides", integers(size.strides)), ("decoder_dim", .integer(Int64(size.width))),
            ("encoder_dim", size.rate == 24 ? 48 : 64), ("attn_window_size", size.window), ("codebook_size", 4096),
            ("codebook_dim", 8), ("latent_dim", .null), ("sampling_rate", .integer(Int64(size.rate * 1000))),
        ]
        for (field, value) in fields { changed.set(field, value) }
        let survey = try changed.survey()
        // The decoder's 13.0 million and the codes' 0.14 million.
        if size.rate == 24 { #expect(abs(Double(survey.parameters.count) / 13.14e6 - 1) < 0.01) }
        let decoder = try #require(survey.parts.first)
        let audio = try #require(decoder.program.outputs.first { $0.name == "audio" })
        let length = decoder.program.type(of: audio.value).dimensions[2].binding(["frames": 12]).value
        #expect(length == 12 * size.rates.reduce(size.strides[0], *))
    }
}

extension ParityCase {
    func configuration() throws -> JSONField { try Checkpoint(model: folder).configuration }
}

extension ChangedCheckpoint {
    func survey() throws -> ModelSurvey {
        try withCheckpoint { try ModelSurvey(of: $0, by: try Families.matching($0.configuration)) }
    }
}
