import AccelByteIO
import AccelConversion
import AccelPackages

enum ConvertCommand: Command {
    static let name = "convert"
    static let summary = "turn a model into an accelerator package"
    static let positionals = [ConversionArguments.model]
    static let options =
        [OutputArguments.output, OutputArguments.zip] + ConversionArguments.options + CacheChoice.options + [
            CacheChoice.verify, CommonOptions.json,
        ]
    static var notes: String { ConversionArguments.schemes }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        let conversion = try ConversionArguments.conversion(arguments)
        let output = try arguments.required(OutputArguments.output)
        let signatures = SignaturesBeside(output)
        var settings = try ConversionSettings(arguments, console)
        settings.comparesWithCache = arguments.has(CacheChoice.verify)
        let made = try conversion.convert(
            to: try OutputArguments.destination(arguments), settings, emit: ConversionConsole(console).show)

        let summary = try ConversionSummary(
            of: made, at: output, seconds: start.secondsToNow, hasUsualShapes: conversion.takesUsualShapes)
        if arguments.has(CommonOptions.json) { console.print(summary.json) } else { console.summary(summary.text) }
        (summary.warnings + signatures.warnings(after: summary.package.digest)).forEach(console.warning)
        summary.remarks.forEach(console.detail)
        return made.comparison.map { CacheChoice.report($0, console) } ?? .success
    }
}
