import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelModelFamilies

/// Each field of a configuration is read, is listed as changing nothing, or is rejected.
@Suite("The law of configurations")
struct ConfigurationLawTests {
    static let models = Fixtures.models

    @Test(
        "A field that the class does not define is told, and changes nothing; without a class to ask, it is rejected",
        arguments: models)
    func unknownField(name: String) throws {
        let model = try LawModel(name)
        #expect(model.rejection(model.root) == nil)
        let places = model.objects()
        #expect(!places.isEmpty)
        let hasClass = ConfigurationClass.all[type(of: model.family).modelTypes[0]] != nil
        for path in places {
            let changed = model.root.inserting(JSON.Member("zzz", 1), into: path)
            let field = path.isEmpty ? "zzz" : "\(path).zzz"
            if hasClass {
                let made = try model.family.model(for: model.checkpoint(changed), parts: model.family.parts)
                #expect(made.undefinedFields == [field] && made.remarks.contains { $0.contains(" \(field) ") })
                #expect(try model.outcome(changed) == model.outcome(model.root))
            } else {
                let rejection = try #require(model.rejection(changed), "\(path)")
                #expect(rejection.contains("config.json, field \(field): unknown"), "\(rejection)")
            }
            #expect(model.rejection(model.root.inserting(JSON.Member("zzz", .null), into: path)) == nil)
            let ignoring = try model.checkpoint(changed).ignoring([field])
            #expect(ignoring.configuration.value == model.root)
        }
    }

    @Test(
        "A field that the class defines, and no family reads, may have the class's default only",
        arguments: [
            ("llama", "sliding_window", 4), ("llama", "layer_types", ["sliding_attention"]), ("qwen3", "is_causal", 0),
        ]
            as [(String, String, JSON)])
    func definedFields(prefix: String, field: String, value: JSON) throws {
        let model = try LawModel(try #require(Self.models.first { $0.hasPrefix(prefix) }))
        let rejection = model.rejection(model.root.inserting(JSON.Member(field, value), into: ""))
        #expect(rejection?.contains("config.json, field \(field): this value") == true, "\(rejection ?? "nothing")")
    }

    @Test("Each part alone is built too, whatever the others read", arguments: models)
    func parts(name: String) throws {
        let model = try LawModel(name)
        for part in model.storedParts {
            #expect(throws: Never.self) {
                _ = try model.family.model(for: model.checkpoint(model.root), parts: [part])
            }
        }
    }

    @Test("No family lists a field that it reads")
    func staleLists() throws {
        var read: [String: Set<String>] = [:]
        for name in Self.models {
            let model = try LawModel(name)
            read["\(type(of: model.family))", default: []].formUnion(try model.pathsRead())
        }
        for family in Families.all {
            let paths = read["\(family)"] ?? []
            for list in family.inertFields {
                #expect(!list.reason.isEmpty && !list.names.isEmpty)
                for path in paths { #expect(!list.contains(path), "\(family) reads \(path)") }
            }
            let names = (family.inertFields + .common).flatMap(\.names)
            #expect(names.count == Set(names).count, "\(family) lists a field twice")
        }
    }

    @Test("What is listed changes nothing, whatever its value", arguments: models)
    func listedFields(name: String) throws {
        let model = try LawModel(name)
        let (sound, read) = (try model.outcome(model.root), try model.pathsRead())
        let listed = type(of: model.family).listedFields
        let paths = model.root.scalars().map(\.path).filter { !read.contains($0) }
        for path in paths { #expect(listed.contains { $0.contains(path) }, "\(path)") }
        for other: JSON in [12345, "zzz", true, [:]] {
            let changed = paths.reduce(model.root) { $0.replacing($1, with: other) }
            #expect(paths.isEmpty || changed != model.root)
            #expect(try model.outcome(changed) == sound, "\(other)")
        }
    }

    private static let oneOfEach = [
        "bert_base", "bert_mlm", "distilbert_seqcls", "roberta_model", "mpnet_model", "modernbert_seqcls", "llama_yarn",
        "llama_llama3", "mistral_window", "qwen2_window", "qwen3_small", "phi3_long", "gemma_early", "gemma3_old",
        "whisper_small", "moonshine_small", "moonshine_biased", "wav2vec2_odd", "hubert_stable", "hubert_labels",
        "snac_windows", "kokoro_small", "phonemes_kokoro", "parakeet_ctc", "parakeet_encoder", "parakeet_tdt",
        "parakeet_rnnt", "vit_leftover", "vit_tall",
        "clip_end", "cliptext_projected", "clipvision_plain", "siglip_both", "siglip_headless",
    ]

    @Test("What is read changes the program or is rejected, but for what is explained", arguments: oneOfEach)
    func readFields(name: String) throws {
        let model = try LawModel(name)
        let (sound, read) = (try model.outcome(model.root), try model.pathsRead())
        for (path, value) in model.root.scalars() where read.contains(path) && path != "model_type" {
            let matters = value.others.contains { other in
                (try? model.outcome(model.root.replacing(path, with: other))) != sound
            }
            guard !matters else { continue }
            #expect(Self.explained.contains { $0.covers(path, model) }, "\(path) of \(name) changes nothing")
        }
    }

    /// A field that is read, and of which another value changes nothing.
    struct Explained {
        let paths: [String]
        let reason: String
        var holds: @Sendable (LawModel) -> Bool = { _ in true }

        func covers(_ path: String, _ model: LawModel) -> Bool {
            paths.contains { path == $0 || path.hasPrefix("\($0).") } && holds(model)
        }
    }
    static let explained = [
        Explained(paths: ["id2label"], reason: "how many there are counts, and the classes alone have any"),
        Explained(
            paths: ["tie_word_embeddings"], reason: "the checkpoint has a head of its own, or its class has none"),
        Explained(
            paths: ["max_window_layers", "sliding_window_pattern", "global_attn_every_n_layers"],
            reason: "layer_types says it", holds: { $0.root["layer_types"] != nil }),
        Explained(paths: ["sliding_window", "max_window_layers"], reason: "no layer has a window"),
        Explained(paths: ["pooler_act", "pooler_output_size"], reason: "the checkpoint has no pooler"),
        Explained(
            paths: ["classifier_pooling", "classifier_activation", "classifier_bias", "decoder_bias"],
            reason: "belongs to heads that the class does not have"),
        Explained(
            paths: ["use_weighted_layer_sum", "classifier_proj_size"],
            reason: "belongs to a head that the class does not have"),
        Explained(paths: ["projection_dim"], reason: "the class has no projection"),
        Explained(paths: ["original_max_position_embeddings"], reason: "the kind of rotary embedding does not use it"),
        Explained(
            paths: ["vocab_size"], reason: "the class has no head",
            holds: { model in ["Model", "ForSequenceClassification"].contains { model.architecture.hasSuffix($0) } }),
        Explained(paths: ["encoder_dim", "encoder_rates"], reason: "latent_dim says what they would decide"),
        Explained(
            paths: ["n_token"], reason: "the checkpoint has no text side",
            holds: { !$0.storedParts.contains("text_encoder") }),
        Explained(
            paths: ["durations"], reason: "how many there are counts, and the search for tokens reads them",
            holds: { $0.architecture == "ParakeetForTDT" }),
        Explained(paths: ["use_sliding_window"], reason: "no layer has a window"),
        Explained(
            paths: ["rope_parameters.original_max_position_embeddings"],
            reason: "Phi-3's number stands outside, and yarn's moves bounds by whole pairs"),
        Explained(paths: ["rope_theta", "rope_local_base_freq"], reason: "rope_parameters says it"),
    ]
}
