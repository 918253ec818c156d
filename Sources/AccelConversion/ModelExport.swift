import AccelByteIO
public import AccelCalibration
public import AccelFormats
import AccelPackages
import AccelWeightCompression

/// An export request: a model or a package, and the format to write.
public struct ModelExport: Sendable {
    /// The model and the schemes of its weights. For a package only its path is used: its weights are encoded already.
    public var conversion: Conversion
    /// The exporter of the format.
    public var format: any Exporter.Type
    /// Values of the exporter's options; defaults apply to those left out.
    public var choices: ExportOptionValues

    /// An export of a conversion's model in a format.
    public init(
        of conversion: Conversion, to format: any Exporter.Type, choices: ExportOptionValues = ExportOptionValues()
    ) {
        (self.conversion, self.format, self.choices) = (conversion, format, choices)
    }
}

/// The result of an export, newly made or found in the cache.
public struct ExportedFiles: Sendable {
    /// The exporter's report: sizes, warnings and details.
    public let report: ExportReport
    /// Whether the whole export came from the cache.
    public let cache: CacheOutcome
    /// The result of the request's target; nil without one.
    public let target: TargetResult?
    /// The outputs over the request's samples with the weights of the export, computed in float32 by accelc; nil without samples.
    public let outputs: SampledOutputs?
    /// Whether the samples choose and fit nothing: all of them are as new to the export as other inputs.
    package let onlyMeasuresSamples: Bool
}

extension ModelExport {
    /// Runs `export` on a thread of its own.
    public func run(
        to output: String, _ settings: ConversionSettings = ConversionSettings()
    ) -> Work<ExportedFiles, ConversionEvent> {
        Work(settings.cancellation) { emit in try export(to: output, settings, emit: emit) }
    }

    /// Exports the model and publishes the files; blocks until that is done.
    /// - Parameters:
    ///   - output: the path to write. Only an earlier export is replaced; the call fails if anything else is there.
    ///   - settings: the cache, threads and cancellation.
    ///   - emit: receives the events, on the calling thread.
    /// - Throws: `FormatError` if the model is corrupt, `RequestError` if the format does not support the model or the
    ///   request cannot be carried out, `CancellationError`.
    public func export(
        to output: String, _ settings: ConversionSettings = ConversionSettings(),
        emit: (ConversionEvent) -> Void = { _ in }
    ) throws -> ExportedFiles {
        guard let (name, kind) = format.singleFile(for: output) else {
            return try exportFolder(to: output, settings, emit: emit)
        }
        try kind.requireReplaceable(output)
        var export = self
        if export.conversion.outputs.isEmpty {
            export.conversion.outputs = [NamedPath(name: "the export", path: output)]
        }
        let scratch = try TemporaryFolder(beside: output)
        let folder = "\(scratch.path)/export"
        let made = try export.exportFolder(to: folder, settings, emit: emit)
        guard Files.kind(of: "\(folder)/\(name)") == .file else {
            throw RequestError("\(output): the model does not fit into one file; name a folder")
        }
        try AtomicFile.write(try MappedFile("\(folder)/\(name)").bytes, to: output, as: kind)
        return made
    }

    private func exportFolder(
        to output: String, _ settings: ConversionSettings, emit: (ConversionEvent) -> Void
    ) throws -> ExportedFiles {
        let cache = settings.cache
        let exporter = try format.init(choices)
        var source = try ExportSource(conversion, for: format, writing: output, settings, emit: emit)
        let key = try source.key(for: format, choices, in: cache)
        var weights: [CompressedTensor]?
        var build = CachedBuild(
            ExportOutput(format: format, path: output, model: conversion.model), as: key, in: cache)
        // An export that was made without the samples is found without their figures.
        build.isAnew = source.planned?.lacksOutputs(of: key?.digest, in: cache) ?? false
        let (made, outcome) = try build.run {
            let model = try source.encoded(for: exporter, searchingWith: schemeLister, output: output, emit: emit)
            weights = model.program.weights.map(\.tensor)
            source.planned?.withoutMethod(weights ?? []).forEach { emit(.note($0)) }
            let folder = try AtomicFolder(replacing: output, as: format.output)
            let report = try exporter.export(model, to: folder.path).measured(at: folder.path)
            warnOfSize(report, emit)
            try source.search?.folder?.requireReplaceable()
            try settings.cancellation.check()
            return ExportOutput.Draft(folder, report, source.search?.folder)
        } publish: { draft in
            try draft.commit()
            try draft.plan?.publish(package: nil)
            return draft.report
        }
        return ExportedFiles(
            report: made, cache: outcome, target: source.search?.result,
            outputs: source.search?.found?.choice.outputs
                ?? source.planned?.outputs(with: weights, of: key?.digest, in: cache, emit: emit),
            onlyMeasuresSamples: source.planned?.opened.request.onlyMeasuresSamples ?? false)
    }

    /// An exporter that lists which schemes its format lacks, as it does with fallbacks; nil without a target, or without fallbacks.
    private var schemeLister: (any Exporter)? {
        get throws {
            guard conversion.target != nil,
                format.options.contains(where: { $0.name == ExportOption.allowFallback.name })
            else { return nil }
            return try format.init(choices.setting(.allowFallback))
        }
    }

    /// Warns if the weight encodings of a format take more bytes than the target, which counts the encodings of packages.
    private func warnOfSize(_ report: ExportReport, _ emit: (ConversionEvent) -> Void) {
        guard let target = conversion.target, case CompressionGoal.bytes(let limit) = target.goal,
            let bytes = report.weightBytes, bytes > limit
        else { return }
        emit(
            .warning(
                "the weights take \(Wording.grouped(bytes)) bytes in the export, \(Wording.grouped(bytes - limit)) more than the target, "
                    + "which counts them as packages store them: a target smaller by as much leaves room"))
    }
}
