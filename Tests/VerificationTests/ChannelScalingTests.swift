import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelVerification

/// The parts of a model among the fixtures.
struct ScalingCase: CustomTestStringConvertible, Sendable {
    let folder: String
    /// What one layer's sites are, producers before readers, by the ends of their names.
    let sites: [String]
    var testDescription: String { folder }

    static let all = [
        ScalingCase(folder: "bert_base", sites: ["self.value -> output.dense"]),
        ScalingCase(folder: "mpnet_model", sites: ["attn.v -> attn.o"]),
        ScalingCase(folder: "modernbert_model", sites: ["attn_norm -> Wqkv", "mlp_norm -> Wi"]),
        ScalingCase(
            folder: "llama_llama3",
            sites: [
                "input_layernorm -> k_proj q_proj v_proj", "post_attention_layernorm -> gate_proj up_proj",
                "up_proj -> down_proj", "model.norm -> lm_head",
            ]),
        ScalingCase(
            folder: "phi3_partial",
            sites: [
                "input_layernorm -> qkv_proj", "post_attention_layernorm -> gate_up_proj", "model.norm -> lm_head",
            ]),
        // Gains that start at one are sums: nothing stored can be divided.
        ScalingCase(folder: "gemma_early", sites: ["up_proj -> down_proj"]),
        ScalingCase(
            folder: "whisper_small",
            sites: [
                "self_attn_layer_norm -> k_proj q_proj v_proj", "v_proj -> out_proj", "final_layer_norm -> fc1",
                "encoder_attn_layer_norm -> q_proj",
            ]),
        ScalingCase(
            folder: "vit_tall",
            sites: [
                "layernorm_before -> key query value", "value -> output.dense", "layernorm_after -> intermediate.dense",
            ]
        ),
    ]

    func programs() throws -> [Program] {
        let checkpoint = try Checkpoint(model: Fixtures.path(folder))
        return try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
    }

    /// Every site scaled by exponents of its own.
    func scaled(_ programs: [Program]) -> ScaledWeights {
        var generator = SeededGenerator(seed: 3)
        var scaled = ScaledWeights(of: programs)
        for site in scaled.sites {
            let exponents = (0..<site.channels).map { _ in Int.random(in: -4...4, using: &generator) }
            let isExact = scaled.scale(site, by: exponents)
            #expect(isExact, "\(site)")
        }
        return scaled
    }
}

@Suite("Channels are scaled without effect")
struct ChannelScalingTests {
    @Test("the sites of a family are those that it has", arguments: ScalingCase.all)
    func sites(subject: ScalingCase) throws {
        let found = try subject.programs().scalingSites
        for site in found {
            let ends = subject.sites.map { $0.split(separator: " ").map(String.init) }
            #expect(
                ends.contains { end in
                    let readers = end[2...].map { "\($0).weight" }
                    return site.producers[0].hasSuffix("\(end[0]).weight") && site.readers.count == readers.count
                        && zip(site.readers, readers).allSatisfy { $0.hasSuffix($1) }
                }, "\(site)")
        }
        #expect(found.count >= subject.sites.count)
    }

    @Test("scaled, a model gives the very same bits", arguments: ScalingCase.all)
    func bits(subject: ScalingCase) throws {
        let programs = try subject.programs()
        let scaled = subject.scaled(programs)
        for program in programs {
            let numbers = program.dimensions.map { ($0.name, min($0.usual.first ?? 1, $0.maximum ?? 8, 8)) }
            guard let plain = try? program.freezing(ShapeBindings(Dictionary(numbers) { first, _ in first })) else {
                continue
            }
            let changed = try program.replacing(scaled.tensors).freezing(plain.bindings)
            let feed = SeededInputs(seed: 1).inputs(for: plain)
            let drawn = SeededInputs(seed: 1).feed(for: plain)
            let states = Dictionary(
                uniqueKeysWithValues: try plain.program.states.compactMap { state in
                    try drawn.state(state.name).map { (state.name, $0) }
                })
            let inputs = feed.merging(states) { first, _ in first }
            let (wanted, found) = (try plain.evaluate(inputs), try changed.evaluate(inputs))
            #expect(wanted.map(\.name) == found.map(\.name))
            for (wanted, found) in zip(wanted, found) where wanted.tensor.elementType == .float32 {
                #expect(
                    zip(wanted.tensor.floats, found.tensor.floats).allSatisfy { $0.bitPattern == $1.bitPattern },
                    "\(program.name) \(wanted.name)")
            }
        }
    }

    @Test("what was recorded scales the same weights again, and nothing that does not cancel out is taken")
    func recorded() throws {
        let subject = ScalingCase.all[3]
        let programs = try subject.programs()
        let scaled = subject.scaled(programs)
        let again = try #require(ScaledWeights(of: programs, scaled: scaled.scalings))
        #expect(again.scalings == scaled.scalings)
        for (name, tensor) in scaled.tensors {
            #expect(again.tensors[name]?.bytes == tensor.bytes)
            let scaling = try #require(scaled.scalings[name])
            let back = try #require(tensor.scaled(by: scaling.inverse))
            let source = programs.flatMap(\.constants).first { $0.name == name }
            #expect(back.bytes == source?.tensor?.bytes)
        }
        for name in scaled.scalings.keys {
            var changed = scaled.scalings
            if changed[name]?.columns.isEmpty ?? true {
                changed[name]?.rows[0] += 1
            } else {
                changed[name]?.columns[0] += 1
            }
            #expect(ScaledWeights(of: programs, scaled: changed) == nil, "\(name)")
            changed[name] = nil
            #expect(ScaledWeights(of: programs, scaled: changed) == nil, "\(name)")
        }
        #expect(ScaledWeights(of: programs, scaled: ["nothing": ChannelScaling(rows: [1])]) == nil)
    }
}
