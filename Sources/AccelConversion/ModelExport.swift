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
        let (kept, claim) = try take(key, from: cache, to: output)
        defer { claim?.release() }
        if let kept { return ExportedFiles(report: kept, cache: .hit) }

        let (model, plan) = try source.model(for: exporter, settings, output: output, emit: emit)
        let draft = try AtomicFolder(replacing: output, as: format.output)
        let report = try exporter.export(model, to: draft.path)
        if let key {
            cache?.store(exportAt: draft.path, report: report.document, for: key, model: conversion.model)
        }
        try plan?.requireReplaceable()
        try settings.cancellation.check()
        try draft.commit()
        try plan?.publish(package: nil)
        claim?.release()
        cache?.finish()
        return ExportedFiles(report: report, cache: cache == nil ? .off : .miss)
    }

    /// Puts the export there, where an earlier one has made it, or another process is about to.
    /// - Returns: what was said of it, or with a miss the claim to be held while it is made.
    private func take(
        _ key: CacheKey?, from cache: Cache?, to output: String
    ) throws -> (ExportReport?, CacheClaim?) {
        guard let cache, let key else { return (nil, nil) }
        return try cache.take(key) {
            let kept = try cache.place(exported: key, at: output, as: format.output, provenance: format.provenance)
            guard case .success(let document) = kept else { return nil }
            return try ExportReport(document, file: output)
        }
    }
}
