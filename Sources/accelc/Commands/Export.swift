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
        let choices = ExportOptionValues(type.options, arguments)
        let exporter = try type.init(choices)

        let cache = try CacheChoice.cache(arguments, console)
        let source = try ExportSource(request, arguments, cache: cache, threads: console.threads)
        source.remarks.forEach(console.warning)
        let key = try cache.flatMap { _ in try source.key(for: type, choices) }
        let (kept, claim) = try take(key, from: cache, to: output)
        defer { claim?.release() }
        let outcome = cache == nil ? CacheOutcome.off : kept == nil ? .miss : .hit
        let report =
            try kept
            ?? exporter.export(
                source.model(for: exporter, arguments, console, cache: cache, output: output), to: output)
        if outcome == .miss, let key {
            cache?.store(exportAt: output, report: report.document, for: key, model: request.model)
        }
        claim?.release()
        cache?.finish()

        let seconds = start.secondsToNow
        if arguments.has(CommonOptions.json) {
            console.print([
                "output": .string(output), "format": .string(type.name), "bytes": .integer(Int64(report.byteCount)),
                "bits_per_weight": .number(report.bitsPerWeight), "cache": .string(outcome.rawValue),
                "details": report.json,
                "warnings": .array(report.warnings.map { .string($0) }),
                "seconds": .number((seconds * 1e6).rounded() / 1e6),
            ])
        } else {
            let bits = Text.decimals(report.bitsPerWeight, 2)
            let size = Text.bytes(report.byteCount)
            let cached = outcome == .off ? "" : "cache \(outcome.rawValue), "
            let first = "\(output): \(size), \(bits) bits per weight, \(cached)\(Text.decimals(seconds, 2)) s"
            console.summary(([first] + report.lines).joined(separator: "\n"))
        }
        report.warnings.forEach(console.warning)
        return .success
    }
}

extension ExportCommand {
    /// Puts the export there, where an earlier one has made it, or another process is about to.
    /// - Returns: what was said of it, or with a miss the claim to be held while it is made.
    private static func take(
        _ key: CacheKey?, from cache: Cache?, to output: String
    ) throws -> (ExportReport?, CacheClaim?) {
        guard let cache, let key else { return (nil, nil) }
        return try cache.take(key) {
            guard case .success(let document) = try cache.place(exported: key, at: output) else { return nil }
            return try ExportReport(document, file: output)
        }
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
