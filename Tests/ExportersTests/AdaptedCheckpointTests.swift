import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Adapters for checkpoints whose weights are quantized, and for weights too large to stay in memory.
@Suite("Adapters of other checkpoints")
struct AdaptedCheckpointTests {
    private static let changed = "model.layers.0.self_attn.q_proj.weight"
    private static let kept = "model.layers.0.mlp.up_proj.weight"

    /// Writes the fixture model with two of its matrices as int8, with a scale for each row.
    private func quantizedModel(in folder: String) throws {
        let model = Fixtures.path("llama_llama3")
        var tensors = try SafetensorsFile("\(model)/model.safetensors").tensors
        for name in [Self.changed, Self.kept] {
            let tensor = try #require(tensors.first { $0.name == name })
            tensors.removeAll { $0.name == name }
            let codes = tensor.floats().map { Int8(max(-127, min(127, ($0 * 512).rounded()))) }
            tensors += [
                StoredTensor(name: name, elementType: .int8, shape: tensor.shape, bytes: ByteView(codes)),
                StoredTensor(
                    name: "\(name)_scale", floats: [Float](repeating: 1 / 512, count: tensor.shape.dimensions[0]),
                    shape: [tensor.shape.dimensions[0], 1]),
            ]
        }
        try SafetensorsWriter.write(
            tensors.sorted { $0.name < $1.name }, to: "\(folder)/model.safetensors", as: .part, metadata: [])
        let config = try String(contentsOfFile: "\(model)/config.json", encoding: .utf8)
        try ("{\"quantization_config\": {\"quant_method\": \"compressed-tensors\"}," + config.trimmingPrefix("{"))
            .write(toFile: "\(folder)/config.json", atomically: true, encoding: .utf8)
    }

    @Test("the weights that an adapter changes are decoded and merged, the others keep their codes")
    func quantized() throws {
        try withTemporaryFolder { folder in
            try quantizedModel(in: folder)
            let plain = try ModelFormats.open(folder)
            let adapter = AdapterRequest(Fixtures.path("adapters/second"))
            let adapted = try ModelFormats.open(folder, OpeningOptions(adapters: [adapter]))
            func weights(_ source: any ModelSource) throws -> [String: SourceWeight] {
                Dictionary(uniqueKeysWithValues: try source.weights.map { ($0.name, $0) })
            }
            let (before, after) = (try weights(plain), try weights(adapted))
            #expect(after[Self.changed]?.scheme == "int8:mode=asymmetric and adapter")
            #expect(after[Self.kept]?.scheme == "int8:mode=asymmetric")
            let files = try AdapterFiles(Fixtures.path("adapters/second")).tensors
            func factor(_ letter: String) throws -> StoredTensor {
                try #require(files.first { $0.name.hasSuffix("layers.0.self_attn.q_proj.lora_\(letter).weight") })
            }
            var merge = LowRankMerge()
            // Rank 2 and alpha 3.
            merge.changes = [LowRankChange(coefficients: try factor("B"), directions: try factor("A"), scale: 1.5)]
            let wanted = try merge.merged(try #require(before[Self.changed]).values())
            let (merged, own) = (try after[Self.changed]?.values(), try after[Self.kept]?.values())
            #expect(merged?.bytes == wanted.bytes)
            #expect(try own?.bytes == before[Self.kept]?.values().bytes)

            let model = try adapted.model(parts: [], ignoredTensors: [], allowsIdlePatterns: false)
            #expect(Set(model.encoded.keys) == [Self.kept])
            let constants = model.programs.flatMap(\.constants).compactMap { try? $0.requireTensor() }
            #expect(constants.first { $0.name == Self.changed }?.bytes == wanted.bytes)
        }
    }

    @Test("a checkpoint with merged weights computes them when they are read")
    func merged() throws {
        let base = StoredTensor(name: "a.weight", floats: [Float](repeating: 1, count: 40_000), shape: [200, 200])
        let factors = [
            StoredTensor(
                name: "base_model.model.a.lora_A.weight", floats: (0..<200).map { Float($0) }, shape: [1, 200]),
            StoredTensor(
                name: "base_model.model.a.lora_B.weight", floats: (0..<200).map { Float($0) / 64 }, shape: [200, 1]),
        ]
        let configuration = JSONField(["peft_type": "LORA", "r": 1, "lora_alpha": 2], file: "adapter_config.json")
        let adapter = try Adapter(
            AdapterRequest("a"), AdapterFiles(folder: "a", configuration: configuration, tensors: factors))
        let merge = try AdapterMerge([adapter], into: [SourceWeight(base)], JSONField([:], file: "config.json"))
        try withTemporaryFolder { folder in
            try SafetensorsWriter.write([base], to: "\(folder)/model.safetensors", as: .part, metadata: [])
            try "{}".write(toFile: "\(folder)/config.json", atomically: true, encoding: .utf8)
            let merged = try merge.merged(into: Checkpoint(model: folder))
            let wanted = (0..<40_000).map { index -> Float in
                let (row, column) = (Float(index / 200), Float(index % 200))
                return 1 + 2 * (row / 64 * column)
            }
            #expect(merged["a.weight"]?.bytes.isDerived == true)
            #expect(merged["a.weight"]?.floats() == wanted)
        }
    }
}
