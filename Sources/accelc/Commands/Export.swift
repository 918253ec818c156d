import AccelByteIO
import AccelFormats
import AccelPackages

enum ExportCommand: Command {
    static let name = "export"
    static let summary = "write a model in another tool's format"
    static let format = Option(
        "format", .words(Exporters.all.map { $0.name }), "the format to write", isRequired: true)
    static let output = Option(
        "output", .output("OUT") { try exporter($0).output },
        "what to write; an earlier export of that name is replaced, anything else is not", short: "o", isRequired: true)
    static let positionals = [
        Positional(
            "MODEL", "\(ConversionRequest.model.help); or a package, with its weights as they are",
            takes: PathKind.models + [.package])
    ]
    static let options =
        [format, output] + exporterOptions + ConversionRequest.options
        + CacheChoice.options + [CommonOptions.json]
    static var notes: String { ConversionRequest.schemes }

    /// Each once, for the formats that have it.
    private static var exporterOptions: [Option] {
        Exporters.all.flatMap { exporter in
            exporter.options.map { option in
                let formats = Exporters.all.filter { $0.options.contains { $0.name == option.name } }
                return Option(option).needing(formats.map { .value($0.name, of: format.name) })
            }
        }.reduce(into: []) { options, option in
            if !options.contains(where: { $0.name == option.name }) { options.append(option) }
        }
    }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        let request = try ConversionRequest(arguments)
        let output = try arguments.required(output)
        let type = try exporter(arguments)
        let choices = ExportOptionValues(type.options, arguments)
        let exporter = try type.init(choices)

        let cache = try CacheChoice.cache(arguments, console)
        let source = try ExportSource(request, arguments, cache: cache, threads: console.threads)
        source.warnings.forEach(console.warning)
        source.usualShapes.map(console.note)
        let key = try cache.flatMap { _ in try source.key(for: type, choices) }
        let (kept, claim) = try take(key, type, from: cache, to: output)
        defer { claim?.release() }
        let outcome = cache == nil ? CacheOutcome.off : kept == nil ? .miss : .hit
        let report: ExportReport
        if let kept {
            report = kept
        } else {
            let (model, plan) = try source.model(for: exporter, arguments, console, cache: cache, output: output)
            let draft = try AtomicFolder(replacing: output, as: type.output)
            report = try exporter.export(model, to: draft.path)
            if let key {
                cache?.store(exportAt: draft.path, report: report.document, for: key, model: request.model)
            }
            try plan?.requireReplaceable()
            try draft.commit()
            try plan?.publish(package: nil)
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
    private static func exporter(_ arguments: Arguments) throws -> any Exporter.Type {
        try Exporters.named(try arguments.required(format))
    }

    /// Puts the export there, where an earlier one has made it, or another process is about to.
    /// - Returns: what was said of it, or with a miss the claim to be held while it is made.
    private static func take(
        _ key: CacheKey?, _ format: any Exporter.Type, from cache: Cache?, to output: String
    ) throws -> (ExportReport?, CacheClaim?) {
        guard let cache, let key else { return (nil, nil) }
        return try cache.take(key) {
            let kept = try cache.place(exported: key, at: output, as: format.output, provenance: format.provenance)
            guard case .success(let document) = kept else { return nil }
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
