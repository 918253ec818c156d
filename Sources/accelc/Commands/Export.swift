import ByteIO
import Exporters
import ModelFamilies
import Packages
import Programs
import Tensors
import WeightCompression

enum ExportCommand: Command {
    static let name = "export"
    static let summary = "write a model in another tool's format"
    static let format = Option(
        "format", .words(Exporters.all.map { $0.name }), "the format to write", isRequired: true)
    static let output = Option(
        "output", .file("OUT"), "what to write; what stands there is replaced whole or not at all", short: "o",
        isRequired: true)
    static let positionals = [ConversionRequest.model]
    static let options =
        [format, output] + Exporters.all.flatMap { $0.options.map(Option.init) } + ConversionRequest.options
        + CacheChoice.options + [CommonOptions.json]
    static var notes: String { ConversionRequest.schemes }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        let request = try ConversionRequest(arguments)
        let output = try arguments.required(output)
        let type = try Exporters.named(try arguments.required(format))
        let exporter = try type.init(ExportOptionValues(type.options, arguments))

        let checkpoint = try Checkpoint(model: request.model, configuration: request.configuration)
        let family = try Families.matching(checkpoint.configuration)
        let model = try family.model(for: checkpoint, parts: request.parts)
        let frozen = try request.freezing(model.programs)
        let plan = request.recipe.plan(for: frozen)
        try request.check(model.unused, plan)

        let cache = CacheChoice.cache(arguments, console)
        let digests = try ModelDigests(checkpoint, cache: cache, threads: console.threads)
        let kept = KeptTensors(cache: cache, digests: digests, output: output, model: request.model)
        let progress = console.progress("compressing", total: plan.count)
        let compressed = try request.recipe.compressing(
            frozen, threads: console.threads, stored: kept.stored, store: kept.store,
            progress: { progress.step($0.name) })
        let report = try exporter.export(
            ExportedModel(
                program: compressed, family: Swift.type(of: family).modelTypes.first ?? "",
                provenance: provenance(request, digests, frozen)),
            to: output)
        try digests.requireUnchanged()

        let seconds = start.secondsToNow
        if arguments.has(CommonOptions.json) {
            console.print([
                "output": .string(output), "format": .string(type.name), "bytes": .integer(Int64(report.byteCount)),
                "bits_per_weight": .number(report.bitsPerWeight), "details": report.json,
                "warnings": .array(report.warnings.map { .string($0) }),
                "seconds": .number((seconds * 1e6).rounded() / 1e6),
            ])
        } else {
            let bits = Text.decimals(report.bitsPerWeight, 2)
            let size = Text.bytes(report.byteCount)
            console.summary(
                (["\(output): \(size), \(bits) bits per weight, \(Text.decimals(seconds, 2)) s"] + report.lines)
                    .joined(separator: "\n"))
        }
        report.warnings.forEach(console.warning)
        return .success
    }

    private static func provenance(
        _ request: ConversionRequest, _ digests: ModelDigests, _ functions: [FrozenProgram]
    ) -> [(key: String, text: String)] {
        [
            ("accelc.version", Tool.version), ("accelc.recipe", request.recipe.json.text()),
            ("accelc.shapes", functions.map(\.functionName).joined(separator: " ")),
        ] + digests.sources.map { ("accelc.source.\($0.name)", $0.digest.description) }
    }
}

extension Option {
    init(_ option: ExportOption) {
        self.init(
            option.name, option.allowed.isEmpty ? .flag : .words(option.allowed), option.help,
            default: option.allowed.first)
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
