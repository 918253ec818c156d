import AccelByteIO

/// The registry of commands, in the order in which help lists them. A new command is a file in `Commands/` and a line
/// here.
enum Commands {
    static let all: [any Command.Type] = [
        ConvertCommand.self,
        VerifyCommand.self,
        VerifyRecordCommand.self,
        VerifyReplayCommand.self,
        RunCommand.self,
        InspectCommand.self,
        DecompressCommand.self,
        ExportCommand.self,
        ImportanceCommand.self,
        DiffCommand.self,
        SignCommand.self,
        CheckSignatureCommand.self,
        CacheCommand.self,
        FamiliesCommand.self,
        FormatsCommand.self,
        HelpCommand.self,
        CompletionsCommand.self,
        VersionCommand.self,
    ]

    /// Returns the command that the first words name (`verify record` as well as `verify-record`), and the words after
    /// it.
    static func first(of words: [String]) throws -> (command: any Command.Type, rest: [String]) {
        let joined = words.prefix(2).joined(separator: "-")
        if words.count > 1, let command = all.first(where: { $0.name == joined }) {
            return (command, Array(words.dropFirst(2)))
        }
        return (try named(words.first ?? ""), Array(words.dropFirst()))
    }

    /// Returns the command of a name.
    /// - Throws: `RequestError` with the nearest name for an unknown command.
    static func named(_ name: String) throws -> any Command.Type {
        if let command = all.first(where: { $0.name == name }) { return command }
        let nearest = nearestName(to: name, among: all.map { $0.name })
        let hint = nearest.map { "did you mean \"\($0)\"?" } ?? "\"accelc help\" lists the commands"
        throw RequestError("there is no command \"\(name)\"; \(hint)")
    }
}
