import AccelConversion

/// The printer of a conversion's events.
final class ConversionConsole {
    private let console: Console
    private var progress: ProgressBar?

    init(_ console: Console) { self.console = console }

    func show(_ event: ConversionEvent) {
        let diagnostic = Diagnostic(event.text, code: event.code)
        switch event.kind {
        case .stage: progress = console.progress(event.text, total: event.total)
        case .weight, .step: progress?.step(event.text)
        case .warning: console.warning(diagnostic)
        case .remark: console.detail(event.text)
        default: console.note(Remedies.sentence(diagnostic))
        }
    }
}

extension ConversionSettings {
    /// Creates the settings from the options of a command.
    init(_ arguments: Arguments, _ console: Console) throws {
        self.init(cache: try CacheChoice.cache(arguments, console), threads: console.threads)
        planFolder = arguments[TargetArguments.plan.option]
        writesPlan = !arguments.has(TargetArguments.noPlan.option)
    }
}
