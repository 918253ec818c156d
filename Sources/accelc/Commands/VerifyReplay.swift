import AccelByteIO
import AccelVerification

enum VerifyReplayCommand: Command {
    static let name = "verify-replay"
    static let summary = "compare outputs of another machine with those of verify-record"
    static let bundle = Positional("DIR", "the folder that verify-record wrote", takes: [.recordedRuns])
    static let outputs = Positional("OUTPUTS", "a safetensors file of outputs, named RUN.NAME", takes: [.tensors])
    static let positionals = [bundle, outputs]
    static let options = [VerifyCommand.budget, VerifyCommand.report, VerifyCommand.html, CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        try VerifyCommand.removeEarlierReports(arguments)
        let runs = try RecordedRuns(try arguments.required(bundle))
        let report = try runs.compare(
            try arguments.required(outputs), budget: try arguments[VerifyCommand.budget].map(Budget.init))
        return try VerifyCommand.show(report, arguments, console)
    }
}
