import AccelByteIO

/// A subcommand of `accelc`. A conforming type has its own file in `Commands/` and a line in `Commands.swift`.
///
/// `run` is a straight sequence of calls to the layer below, and prints its result last.
protocol Command: Sendable {
    static var name: String { get }
    /// One line, without a full stop.
    static var summary: String { get }
    /// The arguments without dashes, in order.
    static var positionals: [Positional] { get }
    /// The command's own options; `CommonOptions` are added to them.
    static var options: [Option] { get }
    /// Command lines that the help page begins with. `--help` has the first two.
    static var examples: [String] { get }
    /// The text below the options on the help page; empty for none.
    static var notes: String { get }
    /// Further text of `--help-all` and of the manual page; empty for none.
    static var details: String { get }
    /// The subjects of `details`, for the last line of `--help`.
    static var subjects: [String] { get }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus
}

extension Command {
    static var positionals: [Positional] { [] }
    static var options: [Option] { [] }
    static var examples: [String] { [] }
    static var notes: String { "" }
    static var details: String { "" }
    static var subjects: [String] { [] }
    static var allOptions: [Option] { options + CommonOptions.all }
}

/// Options that every command takes.
enum CommonOptions {
    /// Where a schema is, for help.
    static func schema(_ name: String) -> String { "\(name).schema.json in share/accelc/schemas of a release" }

    static let quiet = Option(
        "quiet", .flag, in: .general,
        "print errors only. A JSON document, or a path for other programs, is still printed",
        short: "q", excludes: ["verbose"])
    static let verbose = Option(
        "verbose", .flag, in: .general,
        "print more, such as the weights that stay uncompressed by design. The time and memory of the command are printed too",
        short: "v")
    static let progress = Option(
        "progress", .words(ProgressStyle.allCases.map(\.rawValue)), in: .general,
        "the form of progress on standard error. auto shows a bar on a terminal, and nothing elsewhere", default: "auto"
    )
    static let threads = Option(
        "threads", .integer(1...1024), in: .general,
        "the number of threads (default: one for each processor). No output depends on it"
    )
    static let timeout = Option(
        "timeout", .seconds, in: .general,
        "stop after this time, with exit status 130. No incomplete output is left")
    static let all = [quiet, verbose, progress, threads, timeout, HubModels.offline]

    /// The option of commands that can print one JSON document instead of text.
    static let json = Option(
        "json", .flag, in: .output,
        "print one JSON document instead of text. An error is {\"error\": {\"code\", \"message\", ..., \"exitStatus\"}}",
        isCommon: true)
}
