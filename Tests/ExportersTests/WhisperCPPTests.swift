import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

/// Files of whisper.cpp. scripts/peers/whispercpp.py runs them in libwhisper.
@Suite("Files of whisper.cpp")
struct WhisperCPPTests {
    @Test("Each hostile file has its verdict", arguments: Attack.whisperCPP)
    func hostile(_ attack: Attack) {
        #expect(attack.flaw { _ = try WhisperFile(parsing: $0, file: $1) } == nil)
    }

    /// Exports the fixture's checkpoint by a scheme.
    @discardableResult
    private func exported(
        _ scheme: String, of model: String = "whispercpp/model", to path: String
    ) throws -> ExportReport {
        let source = try ModelFormats.open(Fixtures.path(model))
        let whole = try source.model()
        let functions = try whole.programs.freezingToUsualShapes()
        var recipe = Recipe(default: try Codecs.codec(scheme))
        let exporter = WhisperCPPExporter(ExportOptionValues())
        let gaps = try exporter.check(
            PlannedExport(
                functions, recipe.plan(for: functions), family: whole.family, origins: whole.origins,
                assets: try source.assets))
        recipe.rules = try gaps.keys.map {
            try Recipe.Rule(weight: $0, codec: try Codecs.codec(WhisperCPPExporter.plainScheme))
        }
        return try exporter.export(
            ExportedModel(
                program: try recipe.compressing(functions, threads: 1), family: whole.family,
                provenance: [("accelc.version", "x")], origins: whole.origins, assets: try source.assets), to: path)
    }

    private func file(_ path: String) throws -> WhisperFile {
        try WhisperFile(parsing: MappedFile(path).bytes, file: path)
    }

    @Test("The report's bits per weight are those of the file's tensors", arguments: ["float16", "q8_0"])
    func bits(scheme: String) throws {
        try withTemporaryFolder { folder in
            let report = try exported(scheme, to: "\(folder)/a")
            let weights = try ModelFormats.open("\(folder)/a").weights
            let bits = weights.reduce(0) { $0 + $1.storedBits }
            #expect(report.bitsPerWeight == Double(bits) / Double(weights.reduce(0) { $0 + $1.shape.count }))
        }
    }

    @Test("A file in float16 is that of whisper.cpp's converter, which rounds vectors to float16 too")
    func golden() throws {
        try withTemporaryFolder { folder in
            try exported("float16", to: "\(folder)/a")
            let found = try file("\(folder)/a/ggml-model.bin")
            let wanted = try file(Fixtures.path("whispercpp/ggml-model.bin"))
            #expect(found.sizes == wanted.sizes && found.tokens == wanted.tokens && wanted.tokens.count == 10)
            #expect(found.filters.bands == 80 && found.filters.bins == wanted.filters.bins)
            for (own, other) in zip(found.filters.values, wanted.filters.values) { #expect(abs(own - other) < 1e-8) }
            let tensors = Dictionary(uniqueKeysWithValues: found.tensors.map { ($0.name, $0) })
            #expect(Set(tensors.keys) == Set(wanted.tensors.map(\.name)))
            for tensor in wanted.tensors {
                let own = try #require(tensors[tensor.name])
                #expect(own.shape == tensor.shape && own.type == tensor.type, "\(tensor.name)")
                guard tensor.type == .float32 else {
                    #expect(own.bytes == tensor.bytes, "\(tensor.name)")
                    continue
                }
                let (left, right) = (own.floats, tensor.floats)
                #expect(zip(left, right).allSatisfy { Half.value(Half.bits($0)) == $1 }, "\(tensor.name)")
            }
        }
    }

    @Test("An export reads back as the same weights", arguments: ["q8_0", "q5_1", "float32"])
    func roundTrip(scheme: String) throws {
        try withTemporaryFolder { folder in
            try exported(scheme, to: "\(folder)/a")
            try WhisperCPPExporter.output.requireReplaceable("\(folder)/a")
            let back = try ModelFormats.open("\(folder)/a")
            #expect(back.format.name == "whisper.cpp")
            let values = Dictionary(uniqueKeysWithValues: try back.weights.map { ($0.name, $0) })
            let model = try ModelFormats.open(Fixtures.path("whispercpp/model")).weights
            #expect(values.count == model.count)
            let codec = try Codecs.codec(scheme)
            for weight in model {
                let own = try #require(values[weight.name])
                let tensor = try weight.values()
                let role = WhisperNames.role(of: own.name, own.shape)
                let isExact = scheme == "float32" || role == .floats
                let expected =
                    isExact
                    ? tensor.floats()
                    : role == .matrix
                        ? try CompressedTensor.compressing(tensor, with: codec, threads: 1).tensor.floats()
                        : tensor.floats().map { Half.value(Half.bits($0)) }
                #expect(try own.values().floats() == expected, "\(weight.name)")
            }
            #expect(try back.model().programs.map(\.name) == ["encoder", "cross_kv", "decoder"])
        }
    }

    @Test(
        "What whisper.cpp lacks is rejected",
        arguments: [
            ("whisper_small", "float16", "feed-forward layers of four times the width, 72"),
            ("whisper_small", "q8_0", "feed-forward layers of four times the width, 72"),
            ("whispercpp/model", "int8", "cannot express int8; q8_0"),
            ("whispercpp/model", "q4_k", "whole blocks of 256; q5_0"),
            ("whispercpp/model", "bfloat16", "; float16"), ("bert_base", "float16", "runs Whisper only"),
        ])
    func rejections(model: String, scheme: String, words: String) throws {
        try withTemporaryFolder { folder in
            let error = #expect(throws: RequestError.self) { try exported(scheme, of: model, to: "\(folder)/a") }
            let diagnostic = error.map { "\($0.description); \($0.diagnostic.candidates.joined())" } ?? ""
            #expect(diagnostic.contains(words), "\(diagnostic)")
        }
    }

    @Test("Matrices have one type")
    func oneType() throws {
        var types = WhisperTypes([[2, 32], [2, 64]])
        try types.add("a", Codecs.codec("q8_0"), .float32, [2, 32])
        try types.add("b", Codecs.codec("q8_0"), .float32, [2, 64])
        let error = #expect(throws: RequestError.self) { try types.add("c", Codecs.codec("q5_0"), .float32, [2, 32]) }
        #expect(error?.description.contains("\"a\" is Q8_0 and \"c\" is Q5_0") == true)
    }
}

extension GGUFTensor {
    fileprivate var floats: [Float] {
        StoredTensor(name: name, elementType: .float32, shape: shape, bytes: bytes).floats()
    }
}
