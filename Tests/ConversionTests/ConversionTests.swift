import AccelConversion
import Foundation
import TestSupport
import Testing

@Suite("Conversions as values")
struct ConversionTests {
    @Test(
        "The plan says, before anything is compressed, what the package has",
        arguments: ["float16", "int4:block=16", "palette:bits=4,group=16"])
    func plan(scheme: String) throws {
        try withTemporaryFolder { (folder: String) throws in
            let conversion = try Samples.conversion(scheme)
            let plan = try conversion.plan()
            #expect(try Files.list(folder).isEmpty)
            let package = try conversion.convert(to: .folder("\(folder)/p")).package
            let stored = try package.coverage
            #expect(plan.functions == package.manifest.functions.map(\.name))
            #expect(plan.weights.map(\.name) == stored.map(\.tensor.name))
            #expect(plan.weights.map(\.storedBytes) == stored.map(\.tensor.byteCount))
            #expect(plan.weights.map(\.scheme) == stored.map(\.tensor.codec.values.request))
            #expect(plan.weights.map(\.reason) == stored.map(\.reason))
            #expect(plan.storedBytes == stored.reduce(0) { $0 + $1.tensor.byteCount })
        }
    }

    @Test("With a target there is no plan before it runs")
    func target() throws {
        var conversion = try Samples.conversion("int8")
        conversion.samples = try SampleFile(Fixtures.path("bert_base/golden.safetensors"))
        conversion.target = .bytes(40_000)
        #expect(throws: RequestError.self) { try conversion.plan() }
    }

    @Test("What is there under the name stays when it is no package, and a file of the model is never written over")
    func foreign() throws {
        try withTemporaryFolder { (folder: String) throws in
            let conversion = try Samples.conversion("int8")
            try Files.makeFolder("\(folder)/notes/deeper")
            #expect(throws: RequestError.self) { try conversion.convert(to: .folder("\(folder)/notes")) }
            #expect(try Files.list("\(folder)/notes") == ["deeper"])
            var copied = conversion
            copied.model = "\(folder)/model"
            try FileManager.default.copyItem(atPath: conversion.model, toPath: copied.model)
            let source = "\(folder)/model/model.safetensors"
            let before = FileManager.default.contents(atPath: source)
            let error = #expect(throws: RequestError.self) { try copied.convert(to: .archive(source)) }
            #expect(FileManager.default.contents(atPath: source) == before)
            #expect(error?.description.contains("the package") == true, "\(error?.description ?? "")")
        }
    }

    @Test("An export comes from the same values, and a second time from the cache")
    func export() throws {
        try withTemporaryFolder { (folder: String) throws in
            let settings = ConversionSettings(cache: Cache(root: "\(folder)/cache"), threads: 2)
            let export = ModelExport(of: try Samples.conversion("float16"), to: try Exporters.named("coreml"))
            let first = try export.export(to: "\(folder)/a.mlpackage", settings)
            let second = try export.export(to: "\(folder)/b.mlpackage", settings)
            #expect(first.cache == .miss && second.cache == .hit)
            #expect(first.report.byteCount == second.report.byteCount)
            let all =
                FileManager.default.enumerator(atPath: "\(folder)/a.mlpackage")?.compactMap { $0 as? String } ?? []
            let bytes = all.reduce(0) { sum, name in
                let path = "\(folder)/a.mlpackage/\(name)"
                return sum
                    + (Files.kind(of: path) == .file ? FileManager.default.contents(atPath: path)?.count ?? 0 : 0)
            }
            #expect(bytes > 0 && first.report.byteCount == bytes)

            var resolved = export
            resolved.conversion.model = "\(folder)/p"
            _ = try export.conversion.convert(to: .folder("\(folder)/p"), settings)
            let error = #expect(throws: RequestError.self) { try resolved.export(to: "\(folder)/c.mlpackage") }
            #expect(error?.description.contains("to which shapes cannot be applied") == true)
            resolved.conversion.shapes = []
            #expect(try resolved.export(to: "\(folder)/c.mlpackage").cache == .off)
        }
    }
}
