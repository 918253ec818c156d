import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelVerification

enum VerifyRecordCommand: Command {
    static let name = "verify-record"
    static let summary = "bundle inputs and expected outputs of a Core ML package for a Mac or phone"
    static let package = Positional("PACKAGE", "a Core ML package", takes: [.coreML])
    static let output = Option(
        "output", .output("DIR") { _ in .recordedRuns }, "the folder to write", short: "o", isRequired: true)
    static let positionals = [package]
    static let options = [output, VerifyCommand.inputs, VerifyCommand.golden, VerifyCommand.seed]
    static var notes: String {
        "DIR gets runs.json, inputs.safetensors and expected.safetensors. Give each run its tensors\n"
            + "RUN.NAME, keep the states over the runs of a sequence, and save outputs as RUN.NAME, as\n"
            + "scripts/coreml_replay.py of accelc's source does on a Mac; accelc verify-replay DIR OUTPUTS compares them."
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
