import AccelByteIO
import AccelConversion
import AccelFormats

enum ImportanceCommand: Command {
    static let name = "importance"
    static let summary = "measure activation statistics, and write an importance matrix of llama.cpp"
    static let output = Option(
        "output", .output("FILE") { _ in ImportanceMatrix.output }, in: .output, "the GGUF file to write", short: "o",
        isCommon: true, isRequired: true)
    static let samples = Option(
        "calibrate", .input("FILE"), in: .calibration,
        "calibration data: a text, or a safetensors file of inputs. The formats are those of convert",
        isCommon: true, isRequired: true, takes: [.tensors])
    static let positionals = [ConversionArguments.model]
    static let options = [
        output, samples, ConversionArguments.sampleCount.option.needing([], isCommon: true),
        ConversionArguments.sampleLength.option.needing([], isCommon: true),
        ConversionArguments.memory.option.needing([]),
        ConversionArguments.configuration.option, ConversionArguments.ignoredFields.option,
        ConversionArguments.adapter.option,
    ]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let output = try arguments.required(output)
        var conversion = try Conversion(of: try arguments.required(ConversionArguments.model))
        conversion.configuration = arguments[ConversionArguments.configuration.option]
        conversion.ignoredFields = arguments.all(ConversionArguments.ignoredFields.option)
        conversion.adapters = try arguments.adapters
        try conversion.takeSamples(samples, arguments)
        conversion.sampleMemory = try arguments.bytes(ConversionArguments.memory.option)
        let (count, remark) = try conversion.writeImportance(to: output, threads: console.threads)
        remark.map { console.note("note: \($0)") }
        console.summary("\(output): the inputs of \(Wording.count(count, "weight"))")
        return .success
    }
}
