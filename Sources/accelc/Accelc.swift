import AccelByteIO
import AccelPlatform

/// The executable: finds the command, reads its options, runs it, and turns every error into one sentence and an exit
/// status.
@main
struct Accelc {
    static func main() {
        ProcessMemory.returnLargeBlocks()
        let words = Array(CommandLine.arguments.dropFirst())
        ErrorDocument.isDue.withLock { $0 = Arguments.asksForJSON(words) }
        Interruption.onSignals()
        let console = Console()
        let status = run(words, console)
        exit(console.finish(status).rawValue)
    }

    private static func run(_ words: [String], _ console: Console) -> ExitStatus {
        do {
            guard let first = words.first else {
                console.note(HelpPage.overview)
                return .usage
            }
            switch first {
            case "--help", "-h":
                return try HelpCommand.run(Arguments(Array(words.dropFirst()), for: HelpCommand.self), console)
            case "--version", "-V":
                return try VersionCommand.run(Arguments(Array(words.dropFirst()), for: VersionCommand.self), console)
            default: break
            }
            let (command, rest) = try Commands.first(of: words)
            if Arguments.asksForHelp(rest) {
                console.print(HelpPage.page(of: command))
                return .success
            }
            let arguments = try Arguments(rest, for: command)
            arguments.seconds(CommonOptions.timeout).map(Interruption.after)
            try console.configure(arguments)
            try MachineMemory.checkVariable()
            try ProcessorLimit.checkVariable()
            try arguments.requireKinds()
            try arguments.requireReplaceableOutputs()
            let start = ContinuousClock.now
            let status = try command.run(arguments, console)
            let memory = Wording.bytes(Timing.processPeak)
            console.detail("took \(Text.decimals(start.secondsToNow, 2)) s and at most \(memory) of memory")
            return status
        } catch {
            let reported =
                error as? any ReportedError
                ?? RequestError(
                    "internal error: \(error); please report it with the command line that led to it",
                    status: .internalFailure)
            console.report(reported)
            return reported.exitStatus
        }
    }
}
