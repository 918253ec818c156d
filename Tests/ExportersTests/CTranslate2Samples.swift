import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport

@testable import AccelFormats

/// Fixtures with tokenizers, and their exports.
protocol CTranslate2Samples {}

extension CTranslate2Samples {
    /// A fixture with a tokenizer, in a folder of its own.
    func withModel<Result>(_ fixture: String, _ body: (_ path: String) throws -> Result) throws -> Result {
        try withTemporaryFolder { folder in
            let path = "\(folder)/model"
            try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: path)
            let tokenizer = Fixtures.path("ctranslate2/\(fixture)")
            for name in (try? Files.list(tokenizer)) ?? [] {
                try FileManager.default.copyItem(atPath: "\(tokenizer)/\(name)", toPath: "\(path)/\(name)")
            }
            return try body(path)
        }
    }

    func export(
        _ model: String, _ type: String, isExact: Bool = false, to path: String
    ) throws -> ExportReport {
        let exporter = CTranslate2Exporter(.named(type), isExact: isExact)
        let plain = Recipe(default: try Codecs.codec("stored"))
        let model = try CTranslate2SampleModel(model, plain)
        _ = try exporter.check(model.planned)
        return try exporter.export(model.exported(plain), to: path)
    }
}

/// What an exporter is given of a model, with the schemes of a recipe.
struct CTranslate2SampleModel {
    let planned: PlannedExport
    let functions: [FrozenProgram]
    let family: String

    init(_ path: String, _ recipe: Recipe) throws {
        let source = try ModelFormats.open(path)
        let model = try source.model()
        functions = try model.programs.freezingToUsualShapes()
        family = model.family
        planned = PlannedExport(
            functions, recipe.plan(for: functions), family: family, origins: model.origins,
            assets: try source.assets)
    }

    func exported(_ recipe: Recipe) throws -> ExportedModel {
        ExportedModel(
            program: try recipe.compressing(functions, threads: 1), family: family,
            provenance: [("accelc.version", "x")], origins: planned.origins, assets: planned.assets)
    }
}
