import ByteIO
import Packages
import Programs
import Runtime
import Tensors

enum RunCommand: Command {
    static let name = "run"
    static let summary = "run a function of a package on inputs from a safetensors file"
    static let package = Positional("PACKAGE", "a package (folder or zip)")
    static let inputs = Option(
        "inputs", .file("FILE"), "a safetensors file with a tensor for each input, called NAME or in.NAME",
        isRequired: true)
    static let outputs = Option("outputs", .file("FILE"), "the safetensors file to write the outputs to")
    static let function = Option(
        "function", .text("NAME"), "the function to run; the one whose inputs fit where this is left out")
    static let times = Option("repeat", .integer(1...1_000_000), "run so many times", default: "1")
    static let time = Option("time", .flag, "print how long loading and running took, and the peak memory")
    static let positionals = [package]
    static let options = [inputs, outputs, function, times, time, CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let inputFile = try arguments.required(inputs)
        let inputs = FunctionInputs(try SafetensorsFile(inputFile).tensors, file: inputFile)

        var timing = Timing()
        let (package, executor) = try timing.load {
            let package = try AcceleratorPackage(at: try arguments.required(Self.package))
            let index = try inputs.choosing(from: package.program.functions, named: arguments[function])
            return (package, try Executor(package.program, function: index, threads: console.threads))
        }
        let values = try inputs.checked(for: executor.function)
        var results: [StoredTensor] = []
        let progress = console.progress("running", total: arguments.integer(times))
        for number in 1...(arguments.integer(times) ?? 1) {
            progress.step("run \(number)")
            results = try timing.run { try executor.run(values) }
        }
        if let path = arguments[outputs] { try SafetensorsWriter.write(results, to: path) }

        if arguments.has(CommonOptions.json) {
            console.print(document(package, executor.function, results, timing))
        } else {
            console.summary(text(executor.function, results, arguments.has(time) ? timing : nil))
        }
        return .success
    }

    private static func text(_ function: CompiledFunction, _ results: [StoredTensor], _ timing: Timing?) -> String {
        let lines = ["\(function.name)"] + results.map { "  out  \($0.name) \($0.elementType.rawValue)\($0.shape)" }
        return (lines + (timing.map { [$0.text] } ?? [])).joined(separator: "\n")
    }

    private static func document(
        _ package: AcceleratorPackage, _ function: CompiledFunction, _ results: [StoredTensor], _ timing: Timing
    ) -> JSON {
        [
            "package": .string(package.path), "digest": .string(package.digest.description),
            "function": .string(function.name),
            "outputs": .array(
                results.map {
                    [
                        "name": .string($0.name), "dtype": .string($0.elementType.rawValue),
                        "shape": .array($0.shape.dimensions.map { .integer(Int64($0)) }),
                    ]
                }),
            "runs": .integer(Int64(timing.runs.count)),
            "load_ms": .number(timing.milliseconds(timing.loading)),
            "best_ms": .number(timing.milliseconds(timing.best)),
            "median_ms": .number(timing.milliseconds(timing.median)),
            "peak_memory_bytes": .integer(Int64(Timing.peakMemory)),
        ]
    }
}
