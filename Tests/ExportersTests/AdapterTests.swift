import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Adapters that peft made, with the weights that it merges them to (scripts/fixtures_adapters.py).
@Suite("Adapters")
struct AdapterTests {
    private static let models = [
        "llama": "llama_llama3", "head": "llama_llama3", "second": "llama_llama3", "bert": "bert_base",
        "bert_dora": "bert_base",
        "gpt2": "gpt2_small", "gpt2_dora": "gpt2_small", "whisper": "whisper_small", "vit": "vit_tall",
        "vit_dora": "vit_tall", "vit_names": "vit_tall",
    ]

    private func open(_ model: String, _ adapters: AdapterRequest...) throws -> any ModelSource {
        try ModelFormats.open(Fixtures.path(model), OpeningOptions(adapters: adapters))
    }

    private func adapter(_ name: String, weight: Float = 1) -> AdapterRequest {
        AdapterRequest(Fixtures.path("adapters/\(name)"), weight: weight)
    }

    /// Compares the weights of a source with merged ones. Each of the at most 4 products of an element, the sums, the
    /// scale and the length round once, here and in peft: by half of the last place of a number that is not larger than
    /// the weight's largest elements.
    private func compare(_ source: any ModelSource, with golden: String, of model: String) throws {
        let wanted = try SafetensorsFile(Fixtures.path("adapters/\(golden).safetensors")).tensors
        let plain = Dictionary(uniqueKeysWithValues: try open(model).weights.map { ($0.name, $0) })
        var changed: Set<String> = []
        for weight in try source.weights {
            let values = try weight.values()
            #expect(values.shape == weight.shape)
            guard let target = wanted.first(where: { $0.name == weight.name }) else {
                let isSame = try plain[weight.name]?.values().bytes == values.bytes
                // The goldens leave out second layers.
                #expect(isSame || weight.name.contains(".1."), "\(weight.name) is not the model's")
                continue
            }
            changed.insert(weight.name)
            let floats = target.floats()
            let largest = floats.map(abs).max() ?? 0
            let noise = 2 * 8 * largest * Float.ulpOfOne / 2
            let difference = zip(values.floats(), floats).map { abs($0 - $1) }.max() ?? .infinity
            #expect(difference <= noise, "\(weight.name): \(difference) of \(noise)")
        }
        #expect(changed == Set(wanted.map(\.name)))
    }

    @Test("are merged as peft merges them", arguments: models.keys.sorted())
    func merged(name: String) throws {
        let model = try #require(Self.models[name])
        let source = try open(model, adapter(name))
        try compare(source, with: "\(name)/merged", of: model)
        // The programs read the same numbers.
        let weights = Dictionary(uniqueKeysWithValues: try source.weights.map { ($0.name, $0) })
        let built = try source.model()
        for constant in built.programs.flatMap(\.constants) {
            let tensor = try constant.requireTensor()
            guard let weight = weights[tensor.name], built.origins.derivations[tensor.name] == nil else { continue }
            #expect(try weight.values().bytes == tensor.bytes, "\(tensor.name)")
        }
        let files = source.files.sources.map(\.name).filter { $0.hasPrefix("adapters/") }
        #expect(files == ["adapters/1/adapter_config.json", "adapters/1/adapter_model.safetensors"])
        #expect(try source.assets.allSatisfy { !$0.name.hasPrefix("adapters/") })
        #expect(
            Set(try SafetensorsFile(Fixtures.path("adapters/\(name)/adapter_model.safetensors")).tensors.map(\.name))
                .isSubset(of: built.used))
    }

    @Test("of several the changes are added, each times its weight, in any order")
    func sums() throws {
        for order in [[0, 1], [1, 0]] {
            let adapters = [adapter("llama", weight: 0.75), adapter("second", weight: -0.5)]
            let source = try open("llama_llama3", adapters[order[0]], adapters[order[1]])
            try compare(source, with: "sum", of: "llama_llama3")
            let files = source.files.sources.map(\.name).filter { $0.hasSuffix("adapter_config.json") }
            let folders =
                order == [0, 1] ? ["adapters/1@0.75", "adapters/2@-0.5"] : ["adapters/1@-0.5", "adapters/2@0.75"]
            #expect(files == folders.map { "\($0)/adapter_config.json" })
        }
    }

    @Test("are rounded once to the type of the model's weights")
    func types() throws {
        for type in [ElementType.bfloat16, .float16] {
            let base = try rounded([1, -2, 0.5, 3, 4, 5], [2, 3], type)
            let change = LowRankChange(
                coefficients: StoredTensor(name: "b", floats: [1, 3], shape: [2, 1]),
                directions: StoredTensor(name: "a", floats: [0.001, 0.01, 1e-9], shape: [1, 3]), scale: 0.5)
            var merge = LowRankMerge()
            merge.changes = [change]
            let sums: [Float] = [1 + 0.0005, -2 + 0.005, 0.5 + 0.5e-9, 3 + 0.0015, 4 + 0.015, 5 + 1.5e-9]
            #expect(try merge.merged(base).bytes == rounded(sums, [2, 3], type).bytes)
        }
    }

    private func rounded(_ floats: [Float], _ shape: Shape, _ type: ElementType) throws -> StoredTensor {
        let plain = StoredTensor(
            name: "w", elementType: type, shape: shape, bytes: try .zeros(shape.count * type.byteCount))
        var merge = LowRankMerge()
        // A sum with zeros is the number itself, rounded.
        let rows = shape.dimensions[0]
        merge.changes = (0..<rows).map { row in
            let unit = (0..<rows).map { $0 == row ? Float(1) : 0 }
            let columns = shape.dimensions[1]
            return LowRankChange(
                coefficients: StoredTensor(name: "b", floats: unit, shape: [rows, 1]),
                directions: StoredTensor(
                    name: "a", floats: Array(floats[row * columns..<(row + 1) * columns]), shape: [1, columns]),
                scale: 1)
        }
        return try merge.merged(plain)
    }

    @Test("a folder is named with its weight, and a name that ends like one with a slash")
    func requests() throws {
        #expect(try AdapterRequest(parsing: "a/b") == AdapterRequest("a/b"))
        #expect(try AdapterRequest(parsing: "a/b:0.5") == AdapterRequest("a/b", weight: 0.5))
        #expect(
            try AdapterRequest(parsing: "hf:owner/name@main:-2") == AdapterRequest("hf:owner/name@main", weight: -2))
        #expect(try AdapterRequest(parsing: "hf:owner/name") == AdapterRequest("hf:owner/name"))
        #expect(try AdapterRequest(parsing: "a:0.5/") == AdapterRequest("a:0.5/"))
        for text in ["a:0", "a:inf", "a:nan", "a:1e99", "a:half", "hf:owner/name:half"] {
            #expect(throws: RequestError.self) { try AdapterRequest(parsing: text) }
        }
    }

    @Test("patterns are names of modules, or the ends of names; other regular expressions are rejected")
    func patterns() throws {
        let name = "model.layers.1.self_attn.q_proj"
        for (text, fits) in [
            ("q_proj", true), ("proj", false), ("self_attn.q_proj", true), (#"layers\.1\.self_attn\.q_proj"#, true),
            ("^model.layers.1.self_attn.q_proj", true), ("^q_proj", false), ("q_proj$", true), ("layers.1", false),
        ] {
            #expect(try #require(ModulePattern(text)).matches(name) == fits, "\(text)")
        }
        for text in [".*q_proj", "(q|k)_proj", "layers.[0-9]+", "", "^", "a+"] { #expect(ModulePattern(text) == nil) }
    }

    @Test("the model's name may have one more prefix than the adapter's, or one less")
    func prefixes() throws {
        let names = AdaptedNames([
            "bert.layer.0.query.weight", "decoder.fc1.weight", "encoder.fc1.weight", "score.weight",
        ])
        let tensor = StoredTensor(name: "t", floats: [0], shape: [1])
        #expect(try names.find("layer.0.query.weight", for: tensor) == "bert.layer.0.query.weight")
        #expect(try names.find("bert.layer.0.query.weight", for: tensor) == "bert.layer.0.query.weight")
        #expect(try names.find("model.decoder.fc1.weight", for: tensor) == "decoder.fc1.weight")
        #expect(try names.find("model.score.weight", for: tensor) == "score.weight")
        #expect(try names.find("other.weight", for: tensor) == nil)
        #expect(throws: FormatError.self) { try names.find("fc1.weight", for: tensor) }
    }
}
