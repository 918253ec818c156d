import AccelConversion
import AccelFormats
import AccelPackages
import AccelPrograms
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
        "gguf": Sample(
            model: "llama_bfloat16", other: "llama_llama3", scheme: "q8_0", shapes: "batch=1,tokens=5,cache=8"),
    ]

    @Test(
        "What a format exports is recognised as its own, and verified against the model",
        arguments: Exporters.all.map { $0.name })
    func verified(format: String) throws {
        try withTemporaryFolder { folder in
            let sample = Self.samples[format] ?? Sample()
            let model = Fixtures.path(sample.model)
            var conversion = try Conversion(of: model, compressedBy: sample.scheme)
            conversion.shapes = [try ShapeBindings(parsing: sample.shapes)]
            let path = "\(folder)/exported"
            _ = try ModelExport(of: conversion, to: Exporters.named(format)).export(to: path)
            #expect(ModelFormats.recognising(path)?.name == format)
            let subject = try Subject(ModelFormats.open(path), threads: 2)
            let original = try OriginalModel(ModelFormats.open(model), for: subject, threads: 2)
            let report = try Parity(of: subject, against: .model(original)).check()
            #expect(report.verdict == .passed, "\(report.terminal(width: 120, colour: false))")
            // And against another model it is not.
            let other = try OriginalModel(
                ModelFormats.open(Fixtures.path(sample.other)), for: subject, threads: 2)
            #expect(try Parity(of: subject, against: .model(other)).check().verdict != .passed)
        }
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
