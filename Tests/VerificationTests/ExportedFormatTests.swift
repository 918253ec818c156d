import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelFormats
import AccelPackages
import AccelPrograms
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

/// What holds of every format that can be written.
@Suite("Exports of every format")
struct ExportedFormatTests {
    /// A model that a format can express, another one, and the scheme and the shapes of the first.
    private struct Sample {
        var (model, other) = ("bert_sentence_mean", "bert_base")
        var (scheme, shapes) = ("int8", "batch=2,sequence=5")
    }
    /// The samples of formats that cannot express the usual one.
    private static let samples = [
        "mlx": Sample(
            model: "llama_bfloat16", other: "llama_llama3", scheme: "affine:bits=8,block=32,scales=weight,fit=mlx",
            shapes: "batch=1,tokens=5,cache=8"),
        "ctranslate2": Sample(
            model: "llama_bfloat16", other: "llama_llama3", scheme: "stored", shapes: "batch=1,tokens=5,cache=8"),
        "gguf": Sample(
            model: "llama_bfloat16", other: "llama_llama3", scheme: "q8_0", shapes: "batch=1,tokens=5,cache=8"),
        "whisper.cpp": Sample(
            model: "whispercpp/model", other: "whisper_small", scheme: "float32",
            shapes: "batch=1,frames=18,tokens=3,cache=12"),
    ]

    /// Formats of which weights alone are read back: scripts/peers/coreai.py runs their functions in Apple's runtime.
    private static let weightsAlone = ["coreai"]

    @Test("Of other formats the weights are read back as they were compressed", arguments: weightsAlone)
    func weights(format: String) throws {
        try withTemporaryFolder { folder in
            var conversion = try Conversion(of: Fixtures.path(Sample().model), compressedBy: Sample().scheme)
            conversion.shapes = [try ShapeBindings(parsing: Sample().shapes)]
            let (path, package) = ("\(folder)/exported", "\(folder)/m.accelpkg")
            _ = try ModelExport(of: conversion, to: Exporters.named(format)).export(to: path)
            #expect(ModelFormats.recognising(path)?.name == format)
            _ = try conversion.convert(to: .folder(package))
            let source = try ModelFormats.open(path)
            #expect(try source.check { _ in })
            let (found, wanted) = (try source.weights, try ModelFormats.open(package).weights)
            #expect(found.map(\.name) == wanted.map(\.name).sorted())
            for weight in wanted {
                let own = try #require(found.first { $0.name == weight.name })
                // Plain numbers are float16 in the export.
                for (found, wanted) in zip(try own.values().floats(), try weight.values().floats()) {
                    #expect(abs(found - wanted) <= 0x1p-11 * abs(wanted) + 0x1p-25, "\(weight.name)")
                }
            }
            // Functions are not read back, and say so.
            let error = #expect(throws: RequestError.self) { _ = try Subject(source, threads: 1) }
            #expect(error?.exitStatus == .unavailable)
        }
    }

    @Test(
        "What a format exports is recognised as its own, and verified against the model",
        arguments: Exporters.all.map { $0.name }.filter { !weightsAlone.contains($0) })
    func verified(format: String) throws {
        try withTemporaryFolder { folder in
            let sample = Self.samples[format] ?? Sample()
            let model = try Self.model(sample.model, for: format, in: folder)
            var conversion = try Conversion(of: model, compressedBy: sample.scheme)
            conversion.shapes = [try ShapeBindings(parsing: sample.shapes)]
            let path = "\(folder)/exported"
            _ = try ModelExport(of: conversion, to: Exporters.named(format)).export(to: path)
            #expect(ModelFormats.recognising(path)?.name == format)
            let exported = try ModelFormats.open(path)
            // Of such a format accelc reads the weights alone; a script in scripts/peers runs its models.
            guard exported.abilities.contains(.graph) else {
                #expect(try exported.weights.reduce(0) { $0 + $1.shape.count } > 1000)
                return
            }
            let subject = try Subject(exported, of: ModelFormats.open(model), threads: 2)
            let original = try OriginalModel(ModelFormats.open(model), for: subject, threads: 2)
            let report = try Parity(of: subject, against: .model(original)).check()
            #expect(report.verdict == .passed, "\(report.terminal(width: 120, colour: false))")
            // And against another model it is not.
            let other = try OriginalModel(
                ModelFormats.open(Fixtures.path(sample.other)), for: subject, threads: 2)
            #expect(try Parity(of: subject, against: .model(other)).check().verdict != .passed)
        }
    }

    @Test(
        "Numbers of 16 bits in an export are encodings of the model's, whatever its own type",
        arguments: [
            ("gguf", "llama_llama3"), ("gguf", "llama_bfloat16"), ("mlx", "llama_llama3"), ("mlx", "llama_bfloat16"),
            ("mlx", "mlx/whisper"), ("whisper.cpp", "whispercpp/model"), ("ctranslate2", "llama_llama3"),
            ("ctranslate2", "llama_bfloat16"), ("ctranslate2", "whisper_small"),
            ("ctranslate2", "distilbert_model"), ("ctranslate2", "mistral_window"), ("ctranslate2", "qwen3_small"),
            ("ctranslate2", "gemma_early"),
        ])
    func halves(format: String, fixture: String) throws {
        let exporter = try Exporters.named(format)
        for scheme in [exporter.plainScheme, "float16", "bfloat16"] {
            // whisper.cpp has no bfloat16.
            if exporter.unsupportedReason(of: try Codecs.codec(scheme), shape: [64, 64]) != nil { continue }
            try withTemporaryFolder { folder in
                let model = try Self.model(fixture, for: format, in: folder)
                let conversion = try Conversion(of: model, compressedBy: scheme)
                let path = "\(folder)/exported"
                _ = try ModelExport(of: conversion, to: exporter).export(to: path)
                let source = try ModelFormats.open(model)
                let subject = try Subject(ModelFormats.open(path), of: source, threads: 2)
                let original = try OriginalModel(source, for: subject, threads: 2)
                let report = try Parity(of: subject, against: .model(original)).check()
                #expect(
                    report.verdict == .passed,
                    "\(format) \(fixture) \(scheme): \(report.terminal(width: 120, colour: false))")
            }
        }
    }

    /// In 16 bits the factors of its rotary embeddings are rounded, too, as CTranslate2's converter rounds them.
    @Test("A CTranslate2 model with factors of rotary embeddings is the original one in its own type")
    func longRotary() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/exported"
            let source = try ModelFormats.open(try Self.model("phi3_long", for: "ctranslate2", in: folder))
            let conversion = try Conversion(of: source.path, compressedBy: "stored")
            _ = try ModelExport(of: conversion, to: Exporters.named("ctranslate2")).export(to: path)
            let subject = try Subject(ModelFormats.open(path), of: source, threads: 2)
            let original = try OriginalModel(source, for: subject, threads: 2)
            let report = try Parity(of: subject, against: .model(original)).check()
            #expect(report.verdict == .passed, "\(report.terminal(width: 120, colour: false))")
        }
    }

    @Test(
        "The schemes that would help an export's weights are its format's",
        arguments: [("gguf", "q4_0"), ("mlx", "affine:bits=4,block=32,scales=weight,fit=mlx")])
    func remedies(format: String, scheme: String) throws {
        try withTemporaryFolder { folder in
            let exporter = try Exporters.named(format)
            let source = try ModelFormats.open(Fixtures.path("llama_bfloat16"))
            let path = "\(folder)/exported"
            _ = try ModelExport(of: Conversion(of: source.path, compressedBy: scheme), to: exporter).export(to: path)
            let subject = try Subject(ModelFormats.open(path), of: source, threads: 2)
            let original = try OriginalModel(source, for: subject, threads: 2)
            let remedies = try Parity(of: subject, against: .model(original)).check().losses.compactMap(\.remedy)
            #expect(!remedies.isEmpty)
            for remedy in remedies {
                let reason = exporter.unsupportedReason(of: try Codecs.codec(remedy.scheme), shape: [64, 64])
                #expect(reason == nil, "\(format) \(remedy.scheme)")
            }
        }
    }

    /// Returns the path of a fixture, with the tokenizer that the format's folder of fixtures has for it.
    private static func model(_ fixture: String, for format: String, in folder: String) throws -> String {
        let tokenizer = Fixtures.path("\(format)/\(fixture)")
        guard Files.kind(of: tokenizer) == .folder else { return Fixtures.path(fixture) }
        let path = "\(folder)/model"
        try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: path)
        for name in try Files.list(tokenizer) {
            try FileManager.default.copyItem(atPath: "\(tokenizer)/\(name)", toPath: "\(path)/\(name)")
        }
        return path
    }

    @Test("Any two sources of one model can be compared: a model, a package, an export")
    func pairs() throws {
        try withTemporaryFolder { folder in
            let model = Fixtures.path("bert_sentence_mean")
            var conversion = try Conversion(of: model, compressedBy: "float16")
            let export = "\(folder)/m.mlpackage"
            conversion.shapes = [try ShapeBindings(parsing: "batch=1,sequence=4")]
            _ = try ModelExport(of: conversion, to: Exporters.named("coreml")).export(to: export)
            let package = "\(folder)/m.accelpkg"
            _ = try conversion.convert(to: .folder(package))
            let again = "\(folder)/again.accelpkg"
            _ = try Conversion(of: export, compressedBy: "float16").convert(to: .folder(again))
            // The subject and what it is compared with; a package of an export has the export's names of functions.
            for (subject, reference) in [
                (model, model), (package, model), (package, package), (export, model), (again, export),
            ] {
                let subject = try Subject(ModelFormats.open(subject), threads: 2)
                let original = try OriginalModel(ModelFormats.open(reference), for: subject, threads: 2)
                let report = try Parity(of: subject, against: .model(original)).check()
                #expect(report.verdict == .passed, "\(report.terminal(width: 120, colour: false))")
            }
        }
    }
}
