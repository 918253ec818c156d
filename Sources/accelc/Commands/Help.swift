import AccelByteIO

enum HelpCommand: Command {
    static let name = "help"
    static let summary = "explain accelc or one of its commands"
    static let command = Positional("COMMAND", "the command to explain", kind: .text, isRequired: false)
    static let positionals = [command]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        console.print(try arguments[command].map { HelpPage.page(of: try Commands.named($0)) } ?? HelpPage.overview)
        return .success
    }
}
