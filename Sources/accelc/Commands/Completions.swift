import AccelByteIO

enum CompletionsCommand: Command {
    static let name = "completions"
    static let summary = "print a completion script for a shell"
    static let shell = Positional(
        "SHELL", "bash, zsh, or fish", kind: .words(CompletionScript.Shell.allCases.map(\.rawValue)))
    static let positionals = [shell]
    static let notes = "For this session: source <(accelc completions bash)"

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        guard let shell = CompletionScript.Shell(rawValue: try arguments.required(shell)) else { return .usage }
        console.print(verbatim: CompletionScript.script(for: shell))
        return .success
    }
}
