import AccelByteIO
import AccelPlatform

/// The executable: finds the command, reads its options, runs it, and turns every error into one sentence and an exit
/// status.
@main
struct Accelc {
    /// The command line. Not a local of `main`: that never returns, so that the leak sanitizer would take it for lost.
    private static let words = Array(CommandLine.arguments.dropFirst())

    static func main() {
        StandardDescriptors.reserve()
        ProcessMemory.returnLargeBlocks()
        let console = Console(for: words)
        Interruption.onSignals(console.errorDocument)
        exit(run(words, console).rawValue)
    }

    /// Runs a command line: all that the tool does, except for signals and the end of the process.
    static func run(_ words: [String], _ console: Console) -> ExitStatus {
        console.finish(status(of: words, console))
    }

    private static func status(of words: [String], _ console: Console) -> ExitStatus {
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
            if let page = Arguments.helpPage(rest, of: command) {
                console.print(page)
                return .success
            }
            let arguments = try Arguments(rest, for: command)
            arguments.seconds(CommonOptions.timeout).map { Interruption.after($0, console.errorDocument) }
            try console.configure(arguments)
            try MachineMemory.checkVariable()
            try ProcessorLimit.checkVariable()
            try HubModels.download(arguments, console)
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
