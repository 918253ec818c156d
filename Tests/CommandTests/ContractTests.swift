import AccelByteIO
import AccelFormats
import Foundation
import TestSupport
import Testing

/// The folder that `export --contract whisperkit` writes, of a model with windows of one second.
@Suite("Contracts of runtimes")
struct ContractTests {
    private static let model = Fixtures.path("speech/whisper")
    private static let parts = ["MelSpectrogram", "AudioEncoder", "TextDecoder"]
    private static let export = ["export", model, "--format", "coreml", "--contract", "whisperkit", "--no-cache"]
    private static let folder = SharedFolder { folder in
        try CommandRunner.succeed(export + ["-q", "-o", "kit"], in: folder)
    }

    private static func package(_ part: String) throws -> CoreMLPackage {
        try CoreMLPackage(at: "\(folder.path)/kit/\(part).mlpackage")
    }

    /// A feature as WhisperKit's documentation has it.
    private static func feature(_ name: String, _ type: MILDataType, _ sizes: [Int]) -> String {
        "\(name) \(type.word) \(sizes)"
    }

    private static func described(_ features: [CoreMLModel.Feature]) -> [String] {
        features.map { feature($0.name, $0.type.dataType, $0.type.sizes ?? []) }
    }

    @Test("Each package has one function, and exactly the features that WhisperKit binds, with fixed shapes")
    func features() throws {
        let caches = ["key_cache", "value_cache"]
        let expected: [String: (inputs: [String], outputs: [String])] = [
            "MelSpectrogram": (
                [Self.feature("audio", .float32, [16_000])],
                [Self.feature("melspectrogram_features", .float16, [1, 12, 1, 100])]
            ),
            "AudioEncoder": (
                [Self.feature("melspectrogram_features", .float16, [1, 12, 1, 100])],
                [Self.feature("encoder_output_embeds", .float16, [1, 16, 1, 50])]
            ),
            "TextDecoder": (
                [Self.feature("input_ids", .int32, [1]), Self.feature("cache_length", .int32, [1])]
                    + caches.map { Self.feature($0, .float16, [1, 32, 1, 32]) } + [
                        Self.feature("kv_cache_update_mask", .float16, [1, 32]),
                        Self.feature("decoder_key_padding_mask", .float16, [1, 32]),
                        Self.feature("encoder_output_embeds", .float16, [1, 16, 1, 50]),
                    ],
                [Self.feature("logits", .float16, [1, 1, 131])]
                    + caches.map { Self.feature("\($0)_updates", .float16, [1, 32, 1, 1]) } + [
                        Self.feature("alignment_heads_weights", .float16, [1, 50])
                    ]
            ),
        ]
        for part in Self.parts {
            let model = try Self.package(part).model
            let interface = try #require(model.interfaces.first)
            let features = try #require(expected[part])
            #expect(model.interfaces.count == 1 && interface.function == "main" && interface.states.isEmpty)
            #expect(Self.described(interface.inputs).sorted() == features.inputs.sorted(), "\(part)")
            #expect(Self.described(interface.outputs).sorted() == features.outputs.sorted(), "\(part)")
            for feature in interface.inputs + interface.outputs {
                #expect(feature.enumeratedShapes.isEmpty && feature.shapeRanges.isEmpty, "\(part) \(feature.name)")
            }
            // The program takes and gives the types of the description.
            let function = try #require(model.program.functions.first)
            #expect(function.inputs.map(\.content.tensor) == interface.inputs.map(\.type), "\(part)")
            #expect(function.outputs == interface.outputs.map(\.name), "\(part)")
        }
    }

    @Test("Each package is the model's by every stage of verify, on random inputs", arguments: parts)
    func verified(_ part: String) throws {
        let path = "\(try Self.folder.path)/kit/\(part).mlpackage"
        try withTemporaryFolder { folder in
            let result = try CommandRunner.run(["verify", path, "--against", Self.model], in: folder)
            #expect(result.status == 0, "\(result.output)\(result.errors)")
            // The export was made again, with its types of inputs and outputs.
            #expect(result.output.contains("ST structure: passed (1 function"), "\(result.output)")
            #expect(!result.output.contains("was not made again"), "\(result.output)")
        }
    }

    @Test("The folder has the model's files, and the run lists all files and prints one command for a Mac")
    func sideFiles() throws {
        try Self.folder.withCopy { folder in
            let before = try CommandRunner.contents(of: "\(folder)/kit")
            for name in ["config.json", "generation_config.json", "tokenizer.json", "preprocessor_config.json"] {
                #expect(before[name] == FileManager.default.contents(atPath: "\(Self.model)/\(name)"), "\(name)")
            }
            // An earlier folder is replaced by the same bytes.
            let result = try CommandRunner.run(Self.export + ["--json", "-o", "kit"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            #expect(try CommandRunner.contents(of: "\(folder)/kit") == before)
            let document = JSONField(
                try JSON.parse(ByteView(Array(result.output.utf8)), file: "export"), file: "export")
            let files = before.filter { !$0.value.isEmpty }.keys.sorted()
            #expect(try document["files"].array().map { try $0.string() } == files)
            #expect(
                try document["exports"].array().map { try $0["name"].string() } == Self.parts.map { "\($0).mlpackage" })
            #expect(
                try document["command"].string()
                    == "for model in MelSpectrogram AudioEncoder TextDecoder; do xcrun coremlcompiler compile kit/$model.mlpackage kit; done"
            )
            let plain = try CommandRunner.run(Self.export + ["-o", "kit"], in: folder)
            #expect(plain.output.contains("\n  \(try document["command"].string())\n"), "\(plain.output)")
        }
    }

    @Test("Sizes that WhisperKit's constants do not fit are warnings, and so is a missing tokenizer")
    func findings() throws {
        try withTemporaryFolder { folder in
            let result = try CommandRunner.run(Self.export + ["-o", "kit"], in: folder)
            #expect(result.errors.contains("224 positions") && result.errors.contains("the model has 32"))
            #expect(result.errors.contains("a vocabulary of 131 and a width of 16"))
            #expect(!result.errors.contains("tokenizer.json") && !result.errors.contains("alignment"))
            // A model without a tokenizer and without a list of heads.
            var words = Self.export
            words[1] = Fixtures.path("whisper_small")
            let small = try CommandRunner.run(words + ["-o", "small"], in: folder)
            #expect(small.status == 0, "\(small.errors)")
            #expect(small.errors.contains("no tokenizer.json") && small.errors.contains("no alignment heads"))
        }
    }

    @Test("Weights are compressed by the request, and the tables of the spectrum are not")
    func compressed() throws {
        try withTemporaryFolder { folder in
            let result = try CommandRunner.run(
                Self.export + ["--compress", "int8", "--json", "-o", "kit"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            let document = JSONField(
                try JSON.parse(ByteView(Array(result.output.utf8)), file: "export"), file: "export")
            let bits = try document["exports"].array().map { try $0["bits_per_weight"].double() }
            #expect(bits[0] == 0 && bits[1...].allSatisfy { (8..<15.9).contains($0) }, "\(bits)")
        }
    }
}
