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
    /// Command lines that the help page begins with.
    static var examples: [String] { get }
    /// The text below the options on the help page; empty for none.
    static var notes: String { get }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus
}

extension Command {
    static var positionals: [Positional] { [] }
    static var options: [Option] { [] }
    static var examples: [String] { [] }
    static var notes: String { "" }
    static var allOptions: [Option] { options + CommonOptions.all }
}

/// Options that every command takes.
enum CommonOptions {
    /// Where a schema is, for help.
    static func schema(_ name: String) -> String { "\(name).schema.json in share/accelc/schemas of a release" }

    static let quiet = Option(
        "quiet", .flag, "print errors only; a JSON document or a path for other programs is printed all the same",
        short: "q", excludes: ["verbose"])
    static let verbose = Option(
        "verbose", .flag,
        "also say what is as it should be, such as weights that stay as they are by design, and what the run took",
        short: "v")
    static let progress = Option(
        "progress", .words(ProgressStyle.allCases.map(\.rawValue)),
        "how to show progress on standard error; auto: a bar on a terminal, nothing elsewhere", default: "auto")
    static let threads = Option(
        "threads", .integer(1...1024), "how many threads to work on; no output depends on it (default: one a processor)"
    )
    static let timeout = Option(
        "timeout", .seconds, "end with exit status 130 after this time, with nothing half-written left")
    static let all = [quiet, verbose, progress, threads, timeout, HubModels.offline]

    /// The option of commands that can print one JSON document instead of text.
    static let json = Option(
        "json", .flag,
        "print one JSON document on standard output instead of text; of an error {\"error\": {\"code\", \"message\", ..., "
            + "\"exitStatus\"}}")
}
