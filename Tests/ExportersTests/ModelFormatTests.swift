import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// What holds of every format of the registry.
@Suite("Formats of models")
struct ModelFormatTests {
    /// Fixtures of each format, by its name. A new format needs some.
    private static let samples: [String: [String]] = [
        AcceleratorPackageFormat.name: ["packages/format_3.0"],
        CoreMLFormat.name: [
            "encoder", "states", "functions", "weights_iOS16", "weights_iOS18", "checkpoint_right",
        ].map { "coreml/\($0).mlpackage" },
        CoreAIFormat.name: ["coreai/llama_int4.aimodel"],
        MLXFormat.name: ["mlx/llama_affine"],
        CTranslate2Format.name: ["ctranslate2/whisper_int8"],
        GGUFFormat.name: ["gguf/llama_mixed.gguf", "gguf/llama_wide.gguf"],
        WhisperCPPFormat.name: ["whispercpp/ggml-model.bin"],
        HuggingFaceFormat.name: ["bert_base", "bert_sharded", "whisper_small"],
        AdapterFormat.name: ["adapters/second"],
        WeightsFormat.name: ["bert_base/model.safetensors", "digits/golden.safetensors"],
    ]

    @Test("Each format recognises its own fixtures and no other's")
    func recognition() throws {
        #expect(Set(ModelFormats.all.map { $0.name }) == Set(Self.samples.keys))
        #expect(Set(ModelFormats.all.map { $0.name }).count == ModelFormats.all.count)
        #expect(Set(ModelFormats.all.map { $0.title }).count == ModelFormats.all.count)
        for (name, fixtures) in Self.samples {
            for fixture in fixtures {
                let path = Fixtures.path(fixture)
                let found = ModelFormats.all.filter { $0.recognises(path) }.map { $0.name }
                #expect(found == [name], "\(fixture)")
                #expect(try ModelFormats.open(path).format.name == name)
            }
        }
        for path in [Fixtures.path("configurations.json"), Fixtures.path("packages"), "/", "nothing"] {
            #expect(ModelFormats.all.filter { $0.recognises(path) }.isEmpty, "\(path)")
        }
    }

    @Test("A path says by its suffix what a broken model was to be")
    func suffixes() {
        #expect(ModelFormats.named(by: "a/b.mlpackage/")?.name == CoreMLFormat.name)
        #expect(ModelFormats.named(by: "b.accelpkg")?.name == AcceleratorPackageFormat.name)
        #expect(ModelFormats.named(by: "model") == nil)
        let suffixes = ModelFormats.all.flatMap { $0.suffixes }
        #expect(Set(suffixes).count == suffixes.count)
    }

    @Test(
        "A source has the weights that its programs read, and each decodes to its shape",
        arguments: samples.keys.sorted())
    func weights(format: String) throws {
        for fixture in Self.samples[format] ?? [] {
            let source = try ModelFormats.open(Fixtures.path(fixture))
            let weights = try source.weights
            for weight in weights {
                let values = try weight.values()
                #expect(values.shape == weight.shape && values.name == weight.name, "\(fixture) \(weight.name)")
                #expect(weight.storedBits > 0 && !weight.scheme.isEmpty, "\(fixture) \(weight.name)")
            }
            guard source.abilities.contains(.graph) else { continue }
            let model = try source.model()
            #expect(!model.programs.isEmpty)
            for program in model.programs { try program.validate() }
            let registered = Set(Operators.all.map { $0.name })
            let used = Set(model.programs.flatMap { $0.nodes.map(\.operation.name) })
            #expect(used.subtracting(registered) == [], "\(fixture)")
            #expect(throws: RequestError.self) {
                _ = try source.model(parts: ["no such part"], ignoredTensors: [], allowsIdlePatterns: false)
            }
        }
    }

    /// Opens a path and reads all that a source offers.
    private func readAll(_ path: String) throws {
        let source = try ModelFormats.open(path)
        _ = try source.check { _ in }
        for weight in try source.weights { _ = try weight.values() }
        _ = try source.assets
        if source.abilities.contains(.graph) { _ = try source.model() }
    }

    @Test(
        "A file of a model that is cut, changed or gone is rejected with its place, and never trapped",
        arguments: samples.keys.sorted())
    func damaged(format: String) throws {
        let fixture = try #require(Self.samples[format]?.first)
        var generator = SeededGenerator(seed: 11)
        try withTemporaryFolder { folder in
            let path = "\(folder)/\(URL(filePath: fixture).lastPathComponent)"
            try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: path)
            try readAll(path)
            let isFile = Files.kind(of: path) == .file
            let names =
                isFile
                ? [""]
                : (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).filter {
                    Files.kind(of: "\(path)/\($0)") == .file
                }
            var rejected = 0
            func expectRejection(_ what: String) {
                do { try readAll(path) } catch let error as any ReportedError {
                    rejected += 1
                    // It says which file or field, or what is missing.
                    #expect(error.description.contains("/") || error.description.contains("field"), "\(what): \(error)")
                } catch { Issue.record("\(what): \(error)") }
            }
            for name in names {
                let file = URL(filePath: isFile ? path : "\(path)/\(name)")
                let sound = try Data(contentsOf: file)
                let cuts =
                    [0, 1, 8, 9] + (0..<6).map { _ in Int.random(in: 0..<max(sound.count, 1), using: &generator) }
                for count in cuts where count < sound.count {
                    try sound.prefix(count).write(to: file)
                    expectRejection("\(name) cut to \(count)")
                }
                for _ in 0..<8 where !sound.isEmpty {
                    var changed = sound
                    changed[Int.random(in: 0..<sound.count, using: &generator)] ^= UInt8.random(
                        in: 1...255, using: &generator)
                    try changed.write(to: file)
                    expectRejection("\(name) changed")
                }
                try FileManager.default.removeItem(at: file)
                expectRejection("\(name) gone")
                try sound.write(to: file)
            }
            #expect(rejected > names.count)
        }
    }

    @Test("Decompressing writes each weight once, as both element types", arguments: samples.keys.sorted())
    func decompressed(format: String) throws {
        try withTemporaryFolder { folder in
            let source = try ModelFormats.open(Fixtures.path(try #require(Self.samples[format]?.first)))
            for type in [ElementType.float32, .float16] {
                let path = "\(folder)/\(type.rawValue).safetensors"
                let names = try source.decompress(to: path, as: type) { _ in }
                let file = try SafetensorsFile(path)
                #expect(file.tensors.map(\.name).sorted() == names.sorted() && !names.isEmpty)
                #expect(file.tensors.allSatisfy { $0.elementType == type })
            }
        }
    }

    @Test("A model differs from itself in nothing, and from another in something", arguments: samples.keys.sorted())
    func difference(format: String) throws {
        let own = try ModelFormats.open(Fixtures.path(try #require(Self.samples[format]?.first)))
        #expect(try own.difference(from: own).differences == [])
        for other in try Self.samples.filter({ $0.key != format }).map({
            try ModelFormats.open(Fixtures.path($0.value[0]))
        }) {
            #expect(try !own.difference(from: other).differences.isEmpty)
        }
    }
}
