import ByteIO
import Exporters
import Packages

enum ExportCommand: Command {
    static let name = "export"
    static let summary = "write a model in another tool's format"
    static let format = Option(
        "format", .words(Exporters.all.map { $0.name }), "the format to write", isRequired: true)
    static let output = Option(
        "output", .file("OUT"), "what to write; what stands there is replaced whole or not at all", short: "o",
        isRequired: true)
    static let positionals = [
        Positional("MODEL", "\(ConversionRequest.model.help); or a package, with its weights as they are")
    ]
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

        let model =
            AcceleratorPackage.looksLikePackage(at: request.model)
            ? try ExportedModel.package(request, arguments)
            : try ExportedModel.model(request, arguments, console, for: exporter, output: output)
        let report = try exporter.export(model, to: output)

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
