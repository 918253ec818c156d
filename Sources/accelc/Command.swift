import AccelByteIO

/// A word after `accelc`. A conforming type is one file in `Commands/` and one line in `Commands.swift`.
///
/// A command reads as a straight line: each call is one layer below, what is printed comes last.
protocol Command: Sendable {
    static var name: String { get }
    /// One line, without a full stop.
    static var summary: String { get }
    /// What stands without a dash, in order.
    static var positionals: [Positional] { get }
    /// Its own options; those of `CommonOptions` come on top.
    static var options: [Option] { get }
    /// What its help page says below the options; empty for nothing.
    static var notes: String { get }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus
}

extension Command {
    static var positionals: [Positional] { [] }
    static var options: [Option] { [] }
    static var notes: String { "" }
    static var allOptions: [Option] { options + CommonOptions.all }
}

/// Options that every command takes.
enum CommonOptions {
    static let quiet = Option("quiet", .flag, "print errors only", short: "q", excludes: ["verbose"])
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
    static let all = [quiet, verbose, progress, threads, timeout]

    /// For the commands that can print one JSON document instead of text.
    static let json = Option("json", .flag, "print one JSON document on standard output instead of text")
}
