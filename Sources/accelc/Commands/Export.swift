import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelFormats
import AccelPackages
import AccelVerification

enum ExportCommand: Command {
    static let name = "export"
    static let summary = "write a model in the format of Core ML, MLX, llama.cpp or another tool"
    static let format = Option(
        "format", .words(Exporters.all.map { $0.name }), in: .format,
        "the format to write (default: by the suffix of OUT). Suffixes are .mlpackage, .aimodel, .gguf and others",
        isCommon: true,
        implied: { $0[output].flatMap(formatName) })
    static let output = Option(
        "output",
        .output("OUT") { try outputKind($0) }, in: .output,
        "the folder or .gguf file to write. An earlier export of that name is replaced; any other file or folder is an error",
        short: "o", isCommon: true, isRequired: true)
    static let positionals = [
        Positional(
            "MODEL", "\(ConversionArguments.model.help). The weights of a package are not compressed again",
            takes: PathKind.models)
    ]
    static let options =
        [format, output, contract] + exporterOptions + ConversionArguments.options
        + CacheChoice.options + [CommonOptions.json]
    static let examples = [
        "accelc export all-MiniLM-L6-v2 -o minilm.mlpackage",
        "accelc export all-MiniLM-L6-v2 --shape batch=1,sequence=128 --layout ane -o minilm.mlpackage",
        "accelc export Qwen3-0.6B --format gguf --compress q4_k_m -o qwen3-gguf",
        "accelc export whisper-base --format coreml --contract whisperkit -o openai_whisper-base",
        "accelc export Qwen3-0.6B --format mlx --contract mlx-lm --compress int4 -o qwen3-mlx",
    ]
    static let subjects = ["all schemes"]
    static var details: String { ConversionArguments.schemes }

    /// Returns the format that the suffix of a path tells.
    private static func formatName(of path: String) -> String? {
        if OutputNames.otherCoreML.contains(where: Files.trimmingSlashes(path).hasSuffix) { return CoreMLExporter.name }
        return ModelFormats.named(by: path)?.exporter?.name
    }

    /// Returns the path of what other tools take: of a folder that is called as a file, the file in it.
    private static func written(at path: String) -> String {
        guard let ending = Files.name(of: path).split(separator: ".").dropFirst().last, Files.kind(of: path) == .folder
        else { return path }
        let inside = try? Files.list(path).first { $0.hasSuffix(".\(ending)") }
        return inside.map { "\(path)/\($0)" } ?? path
    }

    /// The options of all exporters, each once, restricted to the formats that have it.
    private static var exporterOptions: [Option] {
        Exporters.all.flatMap { exporter in
            exporter.options.map { option in
                let formats = Exporters.all.filter { $0.options.contains { $0.name == option.name } }
                return Option(option).needing(
                    formats.map { .value($0.name, of: format.name) }, isCommon: option.isCommon)
            }
        }.reduce(into: []) { options, option in
            if !options.contains(where: { $0.name == option.name }) { options.append(option) }
        }
    }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        var conversion = try ConversionArguments.conversion(arguments)
        let output = try arguments.required(output)
        let type = try exporter(arguments)
        // Few formats have every scheme of every quantized checkpoint, but each has its own: otherwise --compress keep asks for it.
        conversion.keepsQuantized = conversion.keepsQuantized && formatName(of: conversion.model) == type.name
        let settings = try ConversionSettings(arguments, console)
        if AcceleratorPackage.looksLikePackage(at: conversion.model),
            let option = ConversionArguments.options.first(where: arguments.has)
        {
            throw conversion.notApplicableToPackage("--\(option.name)")
        }
        if !type.dependsOnShapes {
            for row in ConversionArguments.all where row.choice?.isOfFunctions == true && arguments.has(row.option) {
                console.warning(
                    "--\(row.option.name) has no effect with --format \(type.name): its runtimes choose that")
            }
            (conversion.shapes, conversion.shapeFiles) = ([], [])
        }
        var choices = ExportOptionValues(type.options, arguments)
        if let scheme = arguments[ConversionArguments.compress.option], let choice = type.choice(forScheme: scheme) {
            let option = Option(choice.option)
            guard !arguments.has(option) || arguments[option] == choice.word else {
                throw arguments.usage("takes --compress \(scheme) or --\(option.name), not both")
            }
            choices = choices.setting(choice.option, to: choice.word)
            conversion.recipe = try Recipe(scheme: "float16")
        }
        if let contract = contract(arguments) {
            try check(contract, arguments, type)
            return try run(contract, conversion, choices, to: output, settings, console)
        }
        let made = try ModelExport(of: conversion, to: type, choices: choices)
            .export(to: output, settings, emit: ConversionConsole(console).show)
        let (report, outcome) = (made.report, made.cache)

        let seconds = start.secondsToNow
        let target = made.target.map { TargetSummary(result: $0) }
        let cached = outcome == .off ? "" : "cache \(outcome.rawValue), "
        let first =
            "\(written(at: output)): \(Wording.bytes(report.byteCount)), \(Text.decimals(report.bitsPerWeight, 2)) bits per weight, "
            + "\(cached)\(Text.decimals(seconds, 2)) s"
        let lines = made.outputs?.lines(onlyMeasuresSamples: made.onlyMeasuresSamples, target) ?? []
        console.result(
            [
                "output": .string(output), "format": .string(type.name), "bytes": .int(report.byteCount),
                "bits_per_weight": .number(report.bitsPerWeight), "cache": .string(outcome.rawValue),
                "details": report.json, "outputs_sqnr": made.outputs.map { .figure($0.sqnr) } ?? .null,
                "held_out_sqnr": made.outputs?.heldOut.map { .figure($0) } ?? .null,
                "outputs": made.outputs?.json ?? .null,
                "target": target?.json ?? .null,
                "warnings": .texts(console.warnings.withLock { $0 } + report.warnings),
                "seconds": .seconds(seconds),
            ], ([first] + report.lines + lines).joined(separator: "\n"))
        report.warnings.forEach(console.warning)
        return .success
    }
}

extension ExportCommand {
    /// The kind of the file or folder that is written.
    private static func outputKind(_ arguments: Arguments) throws -> OutputKind {
        if let contract = contract(arguments) { return contract.output }
        let type = try exporter(arguments)
        return type.singleFile(for: try arguments.required(output))?.kind ?? type.output
    }

    private static func exporter(_ arguments: Arguments) throws -> any Exporter.Type {
        guard let name = arguments[format] else {
            throw arguments.usage(
                "needs \(format.usage), which the name \(try arguments.required(output)) does not tell")
        }
        return try Exporters.named(name)
    }
}

extension Option {
    init(_ option: ExportOption) {
        self.init(
            option.name, option.allowed.isEmpty ? .flag : .words(option.allowed), in: .format, option.help,
            default: option.allowed.first, isCommon: option.isCommon)
    }
}

extension ExportOptionValues {
    init(_ options: [ExportOption], _ arguments: Arguments) {
        var (words, flags) = ([String: String](), Set<String>())
        for option in options {
            if option.allowed.isEmpty {
                if arguments.has(Option(option)) { flags.insert(option.name) }
            } else {
                words[option.name] = arguments[Option(option)]
            }
        }
        self.init(words: words, flags: flags)
    }
}
