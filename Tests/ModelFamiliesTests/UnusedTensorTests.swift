import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelModelFamilies

/// Every model of the fixtures.
let allFixtures: [String] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: Fixtures.path(""))) ?? []
    return names.sorted().filter { name in
        guard let checkpoint = try? Checkpoint(model: Fixtures.path(name)) else { return false }
        return (try? Families.matching(checkpoint.configuration)) != nil
    }
}()

@Suite("Tensors that nothing reads")
struct UnusedTensorTests {
    /// The account of a checkpoint after all parts that are built by default.
    private static func account(of checkpoint: Checkpoint) throws -> TensorNames {
        let family = try Families.matching(checkpoint.configuration)
        var names = TensorNames(checkpoint)
        _ = try family.programs(for: checkpoint, parts: family.defaultParts, names: &names)
        return names
    }

    private static func rejection(of name: String, by names: TensorNames) -> TensorNames.Rejection? {
        if case .rejected(let rejection) = names.verdict(on: name) { return rejection }
        return nil
    }

    @Test("all models of the fixtures are in the laws")
    func fixtures() throws {
        let families = try Set(
            allFixtures.map { try Checkpoint(model: Fixtures.path($0)) }.map {
                "\(type(of: try Families.matching($0.configuration)))"
            })
        // Silero VAD and the blocks of Kokoro have none.
        #expect(families.count == Families.all.count - 2)
    }

    @Test("a companion of any weight that is read is rejected by the name of its kind", arguments: allFixtures)
    func companions(of fixture: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let names = try Self.account(of: checkpoint)
        #expect(!names.used.isEmpty)
        var kinds: Set<String> = []
        var passed: [String] = []
        for weight in names.used {
            for (kind, name) in CompanionTensors.names(for: weight) where checkpoint[name] == nil {
                if case .companion(kind.name)? = Self.rejection(of: name, by: names) {
                    kinds.insert(kind.name)
                } else {
                    passed.append(name)
                }
            }
        }
        #expect(passed.isEmpty)
        #expect(kinds == Set(CompanionTensors.kinds.map(\.name)))
    }

    @Test("a bias that the graph does not read is rejected where it reads the weight", arguments: allFixtures)
    func biases(of fixture: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let names = try Self.account(of: checkpoint)
        for weight in names.used where weight.hasSuffix(".weight") {
            let bias = String(weight.dropLast("weight".count)) + "bias"
            if checkpoint[bias] == nil { #expect(Self.rejection(of: bias, by: names) == .bias, "\(bias)") }
        }
        #expect(Self.rejection(of: "something.else", by: names) == .unknown)
    }

    @Test("a checkpoint with a companion is rejected, and accepted without it or on request", arguments: allFixtures)
    func checkpoints(_ fixture: String) throws {
        var checkpoint = try ChangedCheckpoint(fixture)
        let plain = try checkpoint.model()
        let place = try #require(allFixtures.firstIndex(of: fixture))
        let weights = plain.used.sorted()
        let weight = weights[place * 7 % weights.count]
        let kind = CompanionTensors.kinds[place % CompanionTensors.kinds.count]
        let companion = try #require(CompanionTensors.names(for: weight).first { $0.kind.name == kind.name })
        checkpoint.tensors.append(StoredTensor(name: companion.name, floats: [0.5], shape: [1]))
        checkpoint.tensors.sort { $0.name < $1.name }

        let rejection = try #require(checkpoint.rejection())
        #expect(rejection.contains(companion.name) && rejection.contains(kind.name))
        let model = try checkpoint.model(ignoredTensors: [companion.name])
        #expect(model.used == plain.used)
        #expect(
            model.unused.first { $0.name == companion.name }?.reason == "left out by the pattern \(companion.name)")
    }

    @Test("a pattern that fits no tensor that is left out is rejected")
    func uselessPattern() throws {
        let checkpoint = try ChangedCheckpoint("bert_base")
        for pattern in ["*.lora_A.weight", "embeddings.*", "[a"] {
            #expect(throws: RequestError.self) { try checkpoint.model(ignoredTensors: [pattern]) }
        }
    }

    /// What checkpoints on the hub hold beside what is read.
    private static let explained: [(fixture: String, names: [String])] = [
        (
            "bert_prefixed",
            [
                "bert.embeddings.position_ids", "bert.embeddings.token_type_ids", "cls.predictions.bias",
                "cls.predictions.decoder.weight", "cls.predictions.transform.LayerNorm.gamma",
                "cls.seq_relationship.weight", "qa_outputs.bias", "classifier.weight",
            ]
        ), ("bert_old_names", ["bert.pooler.dense.weight", "cls.seq_relationship.bias", "classifier.bias"]),
        ("distilbert_model", ["vocab_projector.bias", "vocab_transform.weight", "pre_classifier.weight"]),
        ("roberta_model", ["lm_head.bias", "lm_head.decoder.weight", "roberta.embeddings.position_ids"]),
        ("xlmr_mlm", ["roberta.pooler.dense.weight", "classifier.dense.weight"]),
        ("mpnet_model", ["embeddings.position_ids", "lm_head.dense.weight"]),
        ("modernbert_model", ["head.dense.weight", "decoder.bias", "classifier.weight"]),
        (
            "llama_llama3",
            [
                "model.layers.0.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq", "score.weight",
                "v_head.summary.bias",
            ]
        ), ("qwen2_window", ["score.weight", "model.layers.1.self_attn.rotary_emb.cos_cached"]),
        (
            "wav2vec2_odd",
            [
                "quantizer.codevectors", "quantizer.weight_proj.weight", "project_hid.weight", "project_q.bias",
                "projector.weight", "classifier.bias", "tdnn.0.kernel.weight", "objective.weight", "layer_weights",
                "feature_extractor.weight",
            ]
        ), ("hubert_stable", ["final_proj.weight", "label_embs_concat"]),
        ("parakeet_ctc", ["encoder.layers.0.conv.norm.num_batches_tracked"]),
        ("parakeet_encoder", ["ctc_head.weight", "layers.0.conv.norm.num_batches_tracked"]),
        ("vit_tall", ["vit.embeddings.mask_token", "classifier.weight", "decoder.0.weight"]),
        ("clip_end", ["text_model.embeddings.position_ids", "vision_model.embeddings.position_ids"]),
        (
            "cliptext_projected",
            ["text_model.embeddings.position_ids", "logit_scale", "vision_model.post_layernorm.bias"]
        ),
        ("siglip_both", ["vision_model.embeddings.position_ids", "logit_bias"]),
        ("siglip_headless", ["head.probe", "text_model.head.weight", "logit_scale", "classifier.bias"]),
        ("snac_windows", ["encoder.block.9.bias", "quantizer.quantizers.0.in_proj.bias"]),
        (
            "kokoro_small",
            [
                "bert.module.encoder.weight", "predictor.module.F0.0.conv1.weight_g",
                "text_encoder.module.cnn.0.1.gamma",
                "decoder.module.generator.m_source.l_linear.weight", "decoder.generator.stft.weight_forward_real",
            ]
        ),
    ]

    @Test("what real checkpoints hold beside is explained", arguments: explained.map(\.fixture))
    func realCheckpoints(_ fixture: String) throws {
        let names = try Self.account(of: try Checkpoint(model: Fixtures.path(fixture)))
        for name in try #require(Self.explained.first { $0.fixture == fixture }).names {
            #expect(names.used.contains(name) || Self.rejection(of: name, by: names) == nil, "\(name)")
        }
    }

    @Test(
        "tensors of a head that the class has are no other head's",
        arguments: [
            ("bert_mlm", "cls.predictions.extra"), ("bert_seqcls", "classifier.extra"), ("bert_base", "pooler.extra"),
            ("roberta_mlm", "lm_head.extra"), ("modernbert_mlm", "decoder.extra"),
            ("distilbert_mlm", "vocab_transform.x"),
            ("parakeet_ctc", "ctc_head.extra"), ("parakeet_tdt", "joint.extra"),
            ("kokoro_small", "decoder.generator.extra"), ("siglip_both", "vision_model.extra"),
            ("llama_llama3", "model.layers.7.mlp.up_proj.weight"),
        ])
    func ownHeads(_ fixture: String, _ name: String) throws {
        let names = try Self.account(of: try Checkpoint(model: Fixtures.path(fixture)))
        #expect(Self.rejection(of: name, by: names) == .unknown)
    }

    @Test("the cases beside the checkout are accepted as they are")
    func sharedCases() throws {
        guard let folder = Fixtures.sharedCases else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.contains(".") {
            // Another folder beside them has configurations alone.
            guard FileManager.default.fileExists(atPath: "\(folder)/\(name)/config.json") else { continue }
            let checkpoint = try Checkpoint(model: "\(folder)/\(name)")
            let family = try Families.matching(checkpoint.configuration)
            #expect(throws: Never.self, "\(name)") { try family.model(for: checkpoint, parts: family.parts) }
        }
    }

    @Test("every tensor that is read can be given back", arguments: allFixtures)
    func origins(of fixture: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let family = try Families.matching(checkpoint.configuration)
        let model = try family.model(for: checkpoint, parts: family.parts)
        var found = Set(model.origins.kept.map(\.name))
        for constant in model.programs.flatMap(\.constants) where constant.isWeight {
            let tensor = try constant.requireTensor()
            guard let derivation = model.origins.derivations[tensor.name] else {
                #expect(checkpoint[tensor.name]?.shape == tensor.shape, "\(tensor.name)")
                found.insert(tensor.name)
                continue
            }
            #expect(derivation.flaw(for: tensor.shape) == nil)
            for source in derivation.sources {
                #expect(checkpoint[source.name]?.shape == source.shape, "\(source.name)")
                found.insert(source.name)
            }
        }
        #expect(found == model.used)
    }
}
