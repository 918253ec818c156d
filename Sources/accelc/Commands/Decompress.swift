import AccelByteIO
import AccelFormats
import AccelTensors

enum DecompressCommand: Command {
    static let name = "decompress"
    static let summary =
        "write a model's weights as safetensors, with the names and shapes of the checkpoint"
    static let model = Positional(
        "MODEL", "a package, a Core ML package, or any other model", takes: PathKind.models)
    static let output = Option(
        "output", .output("FILE") { _ in TensorFileKind.weights.output }, in: .output, "the safetensors file to write",
        short: "o", isCommon: true, isRequired: true)
    static let dtype = Option(
        "dtype", .words(["float32", "float16"]), in: .output, "the element type to write", default: "float32",
        isCommon: true)
    static let positionals = [model]
    static let options = [output, dtype]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let output = try arguments.required(output)
        let source = try ModelFormats.open(try arguments.required(model))
        let elementType: ElementType = arguments[dtype] == "float16" ? .float16 : .float32
        let progress = console.progress("decompressing", total: try source.weightCount)
        let written = try source.decompress(to: output, as: elementType) { progress.step($0) }
        let missing = try Set(source.missingTensors).subtracting(written).count
        if missing > 0 {
            console.note(
                "remark: \(Wording.count(missing, "tensor")) of the checkpoint that no function reads "
                    + "\(missing == 1 ? "is" : "are") not in the package, and so not in \(output)")
        }
        console.summary("\(output): \(Wording.count(written.count, "tensor"))")
        return .success
    }
}
