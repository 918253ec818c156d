import AccelByteIO
import AccelFormats
import AccelPackages
import AccelTensors

enum DecompressCommand: Command {
    static let name = "decompress"
    static let summary = "write a package's weights as safetensors, named and shaped as in the checkpoint"
    static let package = Positional(
        "PACKAGE", "a package (folder or zip), or a Core ML package", takes: [.package, .coreML])
    static let output = Option(
        "output", .output("FILE") { _ in TensorFileKind.weights.output }, "the safetensors file to write", short: "o",
        isRequired: true)
    static let dtype = Option("dtype", .words(["float32", "float16"]), "the element type to write", default: "float32")
    static let positionals = [package]
    static let options = [output, dtype]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let path = try arguments.required(package)
        let output = try arguments.required(output)
        if PathKind.ofPackage(path) == .coreML {
            guard arguments[dtype] != "float16" else {
                throw arguments.usage("writes the weights of Core ML packages as float32 only")
            }
            let count = try CoreMLPackage(at: path).decompress(to: output)
            console.summary("\(output): \(Wording.count(count, "tensor"))")
            return .success
        }
        let package = try AcceleratorPackage(at: path)
        let elementType: ElementType = arguments[dtype] == "float16" ? .float16 : .float32
        let progress = console.progress(
            "decompressing", total: package.manifest.coverage.shares.reduce(0) { $0 + $1.tensors })
        let written = try package.decompress(to: output, as: elementType) { progress.step($0) }
        let unused = Set(try package.unusedTensors.map(\.name)).subtracting(written).count
        if unused > 0 {
            console.warning(
                "\(Wording.count(unused, "tensor")) of the checkpoint that no function reads "
                    + "\(unused == 1 ? "is" : "are") not in the package, and so not in \(output)")
        }
        console.summary("\(output): \(Wording.count(written.count, "tensor"))")
        return .success
    }
}
