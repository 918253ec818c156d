import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelVerification

enum VerifyRecordCommand: Command {
    static let name = "verify-record"
    static let summary = "write inputs and expected outputs of a Core ML package, for a Mac or iPhone"
    static let package = Positional("PACKAGE", "a Core ML package", takes: [.coreML])
    static let output = Option(
        "output", .output("DIR") { _ in .recordedRuns }, in: .output, "the folder to write", short: "o", isCommon: true,
        isRequired: true)
    static let positionals = [package]
    static let options = [output, VerifyCommand.inputs, VerifyCommand.golden, VerifyCommand.seed]
    static var notes: String {
        "DIR has runs.json, inputs.safetensors and expected.safetensors. On a Mac, scripts/coreml_replay.py of\n"
            + "accelc's source runs the package on them: each run takes the tensors RUN.NAME, the runs of a sequence\n"
            + "share their states, and outputs are saved as RUN.NAME. accelc verify-replay DIR OUTPUTS compares them."
    }

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let package = try CoreMLPackage(at: try arguments.required(package))
        try package.check()
        let output = try arguments.required(output)
        let source = try VerifyCommand.inputSource(arguments, for: try ModelFormats.open(package.path))
        let (count, drawn, leftOut) = try RecordedRuns.record(package, on: source, to: output)
        console.summary("\(output): \(Wording.count(count, "run"))")
        for sentence in leftOut { console.note("remark: \(sentence)") }
        if !drawn.isEmpty, let file = arguments[VerifyCommand.golden] ?? arguments[VerifyCommand.inputs] {
            console.note(
                "remark: \(file) has no inputs for \(drawn.joined(separator: ", ")): theirs are drawn, by "
                    + SeededInputs.words(InputSource.defaultSeed))
        }
        return .success
    }
}
