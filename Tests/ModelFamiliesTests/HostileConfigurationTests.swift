import AccelByteIO
import AccelModelFamilies
import AccelTensors
import Foundation
import TestSupport
import Testing

@Suite("Hostile configurations")
struct HostileConfigurationTests {
    @Test("each is judged, with the place and the reason", arguments: Attack.configurations)
    func verdict(attack: Attack) throws {
        let sound = try Checkpoint(model: Fixtures.path("bert_base"))
        let flaw = attack.flaw { bytes, file in
            let document = JSONField(try JSON.parse(bytes, file: file), file: file)
            let checkpoint = Checkpoint(folder: sound.folder, configuration: document, files: sound.files)
            _ = try Families.matching(document).model(for: checkpoint)
        }
        #expect(flaw == nil)
    }

    /// One of each family, the small ones.
    private static let models = [
        "bert_base", "distilbert_model", "roberta_model", "xlmr_model", "mpnet_model", "modernbert_model", "llama_yarn",
        "mistral_window", "qwen2_window", "qwen3_small", "phi3_long", "gemma_early", "gemma3_old", "whisper_small",
        "moonshine_small", "wav2vec2_odd", "hubert_stable", "snac_windows", "kokoro_small", "vit_leftover", "clip_end",
        "cliptext_projected",
        "clipvision_plain", "siglip_both", "parakeet_ctc", "parakeet_encoder", "parakeet_tdt",
    ]
    private static let values: [JSON] = [
        .integer(.max), .integer(1 << 40), 1_000_000_000, 0, -1, .number(1e300), "x", [], [1, -1], [:], .null,
    ]

    @Test("any field as anything gives a model or one sentence", arguments: models)
    func anyField(name: String) throws {
        let sound = try Checkpoint(model: Fixtures.path(name))
        let root = try #require(sound.configuration.value)
        for (path, change) in Self.changes(of: root) {
            let document = JSONField(change, file: "config.json")
            let checkpoint = Checkpoint(folder: sound.folder, configuration: document, files: sound.files)
            do {
                _ = try Families.matching(document).model(for: checkpoint)
            } catch {
                #expect(error is any ReportedError, "\(path): \(error)")
            }
        }
    }

    /// The document with one of its numbers, arrays or objects as something else, at any depth.
    private static func changes(of value: JSON, at path: String = "") -> [(String, JSON)] {
        var found: [(String, JSON)] = []
        switch value {
        case .integer, .number, .bool: if !path.isEmpty { found = values.map { (path, $0) } }
        case .string, .null: break
        case .array(let elements):
            found = values.map { (path, $0) }
            if let first = elements.first {
                found += changes(of: first, at: "\(path)[0]").map { ($0, .array([$1] + elements.dropFirst())) }
            }
        case .object(let members):
            if !path.isEmpty { found = values.map { (path, $0) } }
            for (index, member) in members.enumerated() {
                found += changes(of: member.value, at: "\(path).\(member.key)").map { path, changed in
                    var members = members
                    members[index].value = changed
                    return (path, .object(members))
                }
            }
        }
        return found
    }
}
