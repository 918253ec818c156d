import AccelByteIO

enum HelpCommand: Command {
    static let name = "help"
    static let summary = "explain accelc or one of its commands"
    static let command = Positional("COMMAND", "the command to explain", kind: .text, isRequired: false)
    static let man = Option("man", .flag, in: .output, "print a manual page in roff, for man(1)", isCommon: true)
    static let positionals = [command]
    static let options = [man]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let topic = try arguments[command].map(Commands.named)
        if arguments.has(man) {
            console.print(verbatim: topic.map(ManPage.page(of:)) ?? ManPage.overview)
        } else {
            console.print(topic.map(HelpPage.page(of:)) ?? HelpPage.overview)
        }
        return .success
    }
}
