import AccelByteIO
import AccelConversion
import AccelFormats

extension ExportCommand {
    static let contract = Option(
        "contract", .words(RuntimeContract.all.map(\.name)), in: .format,
        "the runtime whose folder is written. The folder has the names, shapes and types that the runtime expects, and files such as the "
            + "tokenizer. \(summaries). Models of Core ML are compiled on a Mac",
        excludes: [
            "part", "shape", "shape-from", "logits", "states", "interface", "activations", "calibrate", "target-size",
            "target-bits", "min-sqnr",
        ] + fixedOptions,
        needs: formats.map { .value($0, of: "format") })

    /// A sentence on the models of each contract.
    private static let summaries = RuntimeContract.all.map { "\($0.name) is for \($0.summary)" }.joined(separator: ", ")

    /// The formats that contracts have.
    private static let formats = RuntimeContract.all.map { $0.format.name }.reduce(into: [String]()) { names, name in
        if !names.contains(name) { names.append(name) }
    }

    /// The names of the exporters' options that contracts choose.
    private static let fixedOptions = Set(
        RuntimeContract.all.flatMap(\.parts).flatMap { $0.options.map(\.option.name) }
    ).sorted()

    /// The contract of a command line; nil for an export that no contract describes.
    static func contract(_ arguments: Arguments) -> RuntimeContract? {
        arguments[contract].flatMap { name in RuntimeContract.all.first { $0.name == name } }
    }

    /// Rejects a contract of another format than that of the command line.
    static func check(_ contract: RuntimeContract, _ arguments: Arguments, _ type: any Exporter.Type) throws {
        guard contract.format.name != type.name else { return }
        throw arguments.usage("takes --contract \(contract.name) only with --format \(contract.format.name)")
    }

    /// Writes the folder of a contract.
    static func run(
        _ contract: RuntimeContract, _ conversion: Conversion, _ choices: ExportOptionValues, to output: String,
        _ settings: ConversionSettings, _ console: Console
    ) throws -> ExitStatus {
        let start = ContinuousClock.now
        let made = try ContractExport(of: conversion, for: contract, choices: choices)
            .export(to: output, settings, emit: ConversionConsole(console).show)
        let seconds = start.secondsToNow
        let paths = made.exports.compactMap(\.path)
        let others = made.files.filter { file in !paths.contains { file.hasPrefix("\($0)/") } }
        let command = contract.lastCommand(output)
        let warnings = made.exports.flatMap(\.files.report.warnings) + made.findings
        let lines =
            ["\(output): \(Wording.bytes(made.byteCount)) for \(contract.name), \(Text.decimals(seconds, 2)) s"]
            + made.exports.map { path, files in
                let bits = "\(Text.decimals(files.report.bitsPerWeight, 2)) bits per weight"
                let cached = files.cache == .off ? "" : ", cache \(files.cache.rawValue)"
                return "  \(path ?? "model"): \(Wording.bytes(files.report.byteCount)), \(bits)\(cached)"
            } + ["  \(paths.isEmpty ? "files" : "other files"): \(others.joined(separator: ", "))"]
            + (command.map { ["compile the models on a Mac:", "  \($0)"] } ?? [])
        console.result(
            [
                "output": .string(output), "format": .string(contract.format.name), "contract": .string(contract.name),
                "bytes": .int(made.byteCount), "files": .texts(made.files),
                "exports": .array(
                    made.exports.map { path, files in
                        [
                            "name": path.map { .string($0) } ?? .null, "bytes": .int(files.report.byteCount),
                            "bits_per_weight": .number(files.report.bitsPerWeight),
                            "cache": .string(files.cache.rawValue), "details": files.report.json,
                        ]
                    }),
                "command": command.map { .string($0) } ?? .null,
                "warnings": .texts(console.warnings.withLock { $0 } + warnings), "seconds": .seconds(seconds),
            ], lines.joined(separator: "\n"))
        warnings.forEach(console.warning)
        return .success
    }
}
