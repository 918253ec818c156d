import AccelByteIO
import AccelModelFamilies
import AccelTensors
import TestSupport

extension FuzzTarget {
    /// A byte that says which model, and a config.json for it: what a family makes of it is a program, or an error.
    static let configuration = FuzzTarget(
        name: "configuration",
        seeds: models.enumerated().compactMap { index, model in
            guard let text = try? MappedFile("\(model.folder)/config.json").bytes.withBytes({ Array($0) }) else {
                return nil
            }
            return [UInt8(index)] + text
        } + Attack.configurations.filter { $0.bytes.count < 1 << 12 }.map { [0] + $0.bytes }
    ) { bytes in
        guard let index = bytes.withBytes({ $0.first }), !models.isEmpty else { return }
        let model = models[Int(index) % models.count]
        let document = JSONField(
            try JSON.parse(bytes[1..<bytes.count], file: "config.json", limits: JSON.Limits(bytes: 1 << 16)),
            file: "config.json")
        let checkpoint = Checkpoint(folder: model.folder, configuration: document, files: model.files)
        _ = try Families.matching(document).model(for: checkpoint)
    }

    private static let models: [Checkpoint] = [
        "bert_base", "llama_llama3", "phi3_long", "gemma3_old", "whisper_small", "moonshine_small", "wav2vec2_odd",
        "snac_windows",
        "kokoro_small",
        "vit_tall", "siglip_both", "modernbert_model", "cliptext_projected", "parakeet_ctc", "parakeet_tdt",
    ].compactMap { try? Checkpoint(model: Fixtures.path($0)) }
}
