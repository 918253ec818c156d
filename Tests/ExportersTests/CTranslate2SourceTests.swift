import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// CTranslate2 models as sources. `ExportedFormatTests` compares what they compute with the original models.
@Suite("CTranslate2 models as sources")
struct CTranslate2SourceTests: CTranslate2Samples {
    @Test("Each hostile file has its verdict", arguments: Attack.ctranslate2)
    func hostile(_ attack: Attack) {
        let flaw = attack.flaw { bytes, name in
            let file = try CTranslate2File(parsing: bytes, file: name)
            try file.check(file: name)
            let settings = CTranslate2Settings(configuration: JSONField(nil, file: name))
            do {
                _ = try CTranslate2Reading(file, file: name, settings)
            } catch let error as RequestError where error.diagnostic.code == .functionsNotRead {
                // A model that no family has is read as variables.
            }
        }
        #expect(flaw == nil)
    }

    /// The fixtures with a tokenizer, with the family that they are read as.
    private static let fixtures = [
        "whisper_small": "whisper", "bert_bfloat16": "bert", "bert_prefixed": "bert", "distilbert_model": "distilbert",
        "roberta_model": "roberta", "xlmr_model": "bert", "llama_bfloat16": "llama", "llama_linear_old": "llama",
        "llama_llama3": "llama", "mistral_window": "mistral", "qwen2_window": "qwen2", "qwen3_small": "qwen3",
        "phi3_long": "phi3", "gemma_early": "gemma",
    ]

    /// Exports a fixture in a type, and opens the result.
    private func withExport<Result>(
        _ fixture: String, _ type: String, _ body: (_ model: any ModelSource, _ export: String) throws -> Result
    ) throws -> Result {
        try withModel(fixture) { path in
            _ = try export(path, type, to: "\(path)-a")
            return try body(ModelFormats.open(path), "\(path)-a")
        }
    }

    /// Returns a name without the prefixes that a checkpoint may have or lack.
    private func bare(_ name: String) -> String {
        let prefix = ["model.", "bert.", "roberta.", "distilbert."].first(where: name.hasPrefix) ?? ""
        return String(name.dropFirst(prefix.count))
    }

    private func weights(_ source: any ModelSource) throws -> [String: SourceWeight] {
        Dictionary(try source.weights.map { (bare($0.name), $0) }) { first, _ in first }
    }

    @Test("An export in the model's own type is read back as the same tensors", arguments: fixtures.keys.sorted())
    func roundTrip(fixture: String) throws {
        try withExport(fixture, "own") { model, export in
            let source = try ModelFormats.open(export)
            #expect(try source.model().family == Self.fixtures[fixture])
            let (found, wanted) = (try weights(source), try weights(model))
            #expect(Set(found.keys).isSubset(of: wanted.keys), "\(Set(found.keys).subtracting(wanted.keys))")
            for (name, weight) in found {
                let (own, other) = (try weight.values(), try #require(wanted[name]).values())
                #expect(own.elementType == other.elementType, "\(name)")
                if fixture == "roberta_model", name == "embeddings.position_embeddings.weight" {
                    // The rows of padding are not in the file. Its tokenizer has another padding token than the model.
                    let width = own.shape.columns
                    #expect(Array(own.floats().dropFirst(4 * width)) == Array(other.floats().dropFirst(2 * width)))
                } else if fixture == "xlmr_model", name == "embeddings.position_embeddings.weight" {
                    #expect(own.floats() == Array(other.floats().dropFirst(4 * own.shape.columns)))
                } else {
                    #expect(own.shape == other.shape && own.floats() == other.floats(), "\(name)")
                }
            }
        }
    }

    @Test("Codes of int8 are taken over as they are, row by row", arguments: fixtures.keys.sorted())
    func codes(fixture: String) throws {
        try withExport(fixture, "int8") { model, export in
            let source = try #require(try ModelFormats.open(export) as? CTranslate2Source)
            let file = try CTranslate2File(parsing: MappedFile("\(export)/model.bin").bytes, file: export)
            var left = file.variables.filter { $0.elementType == .int8 && $0.shape.rank > 0 }
                .reduce(0) { $0 + $1.bytes.count }
            let wanted = try weights(model)
            for (name, weight) in source.encoded {
                let tensor = try weight.tensor()
                #expect(weight.codec.specification.hasPrefix("int8"))
                left -= tensor.sections[0].count
                let original = try #require(wanted[bare(name)]).values().floats()
                let width = weight.shape.count / weight.shape.dimensions[0]
                for (row, values) in tensor.floats().chunked(width).enumerated() {
                    let part = original[row * width..<(row + 1) * width]
                    let step = (part.map(abs).max() ?? 0) / 127
                    for (found, own) in zip(values, part) { #expect(abs(found - own) <= 0.501 * step, "\(name)") }
                }
            }
            #expect(left == 0)
            let kept = try source.model().encoded
            #expect(!kept.isEmpty && Set(kept.keys).isSubset(of: source.encoded.keys))
        }
    }

    @Test("Codes of int16 are decoded to their exact values, with a remark")
    func words() throws {
        try withExport("llama_llama3", "int16") { model, export in
            let source = try #require(try ModelFormats.open(export) as? CTranslate2Source)
            #expect(source.encoded.isEmpty && source.remarks.contains { $0.contains("int16") })
            let wanted = try weights(model)
            for (name, weight) in try weights(source) where weight.shape.rank > 1 {
                let original = try #require(wanted[name]).values().floats()
                // Queries, keys and values share a factor.
                let joined = wanted.keys.filter {
                    $0.replacing("q_proj", with: "k_proj").replacing("v_proj", with: "k_proj")
                        == name.replacing("q_proj", with: "k_proj").replacing("v_proj", with: "k_proj")
                }
                let largest = try joined.flatMap { try wanted[$0]?.values().floats().map(abs) ?? [] }.max() ?? 0
                let step = largest / 1024
                for (found, own) in zip(try weight.values().floats(), original) {
                    #expect(abs(found - own) <= 0.51 * step, "\(name)")
                }
            }
        }
    }

    @Test("A model's numbers of tokens are those of its vocabulary, and its assets make the same folder again")
    func assets() throws {
        try withExport("llama_llama3", "own") { _, export in
            let source = try ModelFormats.open(export)
            let assets = try source.assets
            let configuration = try #require(assets.first { $0.name == "config.json" })
            let field = JSONField(try JSON.parse(configuration.content, file: "c"), file: "c")
            #expect(try field["eos_token_id"].exists && field["vocab_size"].int() == 47)
            #expect(try field["rope_scaling"]["factor"].double() == 8)
            #expect(
                assets.contains { $0.name == "tokenizer.json" } && !assets.contains { $0.name == "vocabulary.json" })
            // Without a tokenizer the vocabulary stands in for it.
            try FileManager.default.removeItem(atPath: "\(export)/tokenizer.json")
            #expect(try ModelFormats.open(export).assets.contains { $0.name == "vocabulary.json" })
        }
        let whisper = try ModelFormats.open(Fixtures.path("ctranslate2/whisper_int8"))
        let generation = try #require(try whisper.assets.first { $0.name == "generation_config.json" })
        let field = JSONField(try JSON.parse(generation.content, file: "g"), file: "g")
        #expect(field["alignment_heads"].value == [[1, 0], [0, 1]] && field["suppress_tokens"].value == [1, 7])
        #expect(try field["lang_to_id"].members().map { try $0.field.int() }.sorted() == [9, 12])
    }

    /// Numbers that no family of accelc has, and words of the reason.
    private static let foreign: [(fixture: String, variable: String, value: UInt8, words: String)] = [
        ("llama_llama3", "decoder/alibi", 1, "decoder/alibi"),
        ("llama_llama3", "decoder/activation", 9, "activation 9"),
        ("llama_llama3", "decoder/layer_1/self_attention/rotary_interleave", 1, "rotary_interleave"),
        ("bert_prefixed", "encoder/pre_norm", 1, "encoder/pre_norm"),
        ("whisper_small", "decoder/start_from_zero_embedding", 1, "start_from_zero"),
    ]

    @Test(
        "What no family computes is read as variables, and functions are rejected with the reason",
        arguments: foreign.indices)
    func variables(index: Int) throws {
        let (fixture, name, value, words) = Self.foreign[index]
        try withExport(fixture, "float32") { _, export in
            let path = "\(export)/model.bin"
            var content = try Data(contentsOf: URL(filePath: path))
            let found = try #require(content.range(of: Data(name.utf8 + [0, 0, 1])))
            content[found.upperBound + 4] = value
            try content.write(to: URL(filePath: path))
            let source = try ModelFormats.open(export)
            #expect(source.abilities == [.tensors])
            let weights = try source.weights
            #expect(weights.contains { $0.name.hasSuffix("layer_0/ffn/linear_1/weight") })
            for weight in weights { #expect(try weight.values().shape == weight.shape) }
            let error = #expect(throws: RequestError.self) { _ = try source.model() }
            #expect(error?.exitStatus == .unavailable && error?.description.contains(words) == true, "\(error as Any)")
        }
    }
}

extension Array {
    /// Returns the elements in runs of a size.
    fileprivate func chunked(_ size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
