import AccelByteIO
public import AccelFormats
import AccelPackages

/// An export as a value: a model or a package, and the format to write it in.
public struct ModelExport: Sendable {
    /// The model and how its weights are stored; of a package, which has settled that, its path alone.
    public var conversion: Conversion
    public var format: any Exporter.Type
    public var choices: ExportOptionValues

    public init(
        of conversion: Conversion, to format: any Exporter.Type, choices: ExportOptionValues = ExportOptionValues()
    ) {
        (self.conversion, self.format, self.choices) = (conversion, format, choices)
    }
}

/// An export that has been made or found.
public struct ExportedFiles: Sendable {
    public let report: ExportReport
    public let cache: CacheOutcome
}

extension ModelExport {
    /// Exports on a thread of its own.
    public func run(
        to output: String, _ settings: ConversionSettings = ConversionSettings()
    ) -> Work<ExportedFiles, ConversionEvent> {
        Work(settings.cancellation) { emit in try export(to: output, settings, emit: emit) }
    }

    /// Blocks until it is done.
    /// - Parameters:
    ///   - output: what to write. An earlier export there is replaced, anything else refused.
    ///   - emit: gets what it tells, on this thread.
    /// - Throws: `FormatError` for a model that is corrupt, `RequestError` for what the format cannot express or a
    ///   request that cannot be carried out, `CancellationError`.
    public func export(
        to output: String, _ settings: ConversionSettings = ConversionSettings(),
        emit: (ConversionEvent) -> Void = { _ in }
    ) throws -> ExportedFiles {
        let cache = settings.cache
        let exporter = try format.init(choices)
        var conversion = conversion
        if conversion.outputs.isEmpty { conversion.outputs = [NamedPath(name: "the export", path: output)] }
        let source = try ExportSource(conversion, settings)
        source.warnings.map(ConversionEvent.warning).forEach(emit)
        source.usualShapes.map { emit(.note($0)) }
        let key = try cache.flatMap { _ in try source.key(for: format, choices) }
        let kind = ExportOutput(format: format, path: output, model: conversion.model)
        let (made, outcome) = try CachedBuild(kind, as: key, in: cache).run {
            let (model, plan) = try source.model(for: exporter, settings, output: output, emit: emit)
            let folder = try AtomicFolder(replacing: output, as: format.output)
            let report = try exporter.export(model, to: folder.path)
            try plan?.requireReplaceable()
            try settings.cancellation.check()
            return ExportOutput.Draft(folder, report, plan)
        } publish: { draft in
            try draft.commit()
            try draft.plan?.publish(package: nil)
            return draft.report
        }
        return ExportedFiles(report: made, cache: outcome)
    }
}
