import ByteIO
import Exporters
import Programs
import Tensors
import TestSupport

extension FuzzTarget {
    /// The length of a model in four bytes, the model, and a blob file: what is read is written, decompressed and run.
    static let coreML = FuzzTarget(
        name: "coreml",
        seeds: ["operators_iOS18", "states", "functions", "weights_iOS16", "weights_iOS18", "encoder"].compactMap {
            seed($0)
        }
    ) { bytes in
        var reader = ByteReader(bytes, file: "fuzz")
        let count = Int(try reader.integer(UInt32.self))
        let model = try reader.bytes(min(count, reader.remaining))
        let blobs = try reader.bytes(reader.remaining)
        let package = try CoreMLPackage(model: model, weights: blobs, path: "fuzz")
        guard let again = try? CoreMLPackage(model: ByteView(package.encodedModel), weights: blobs, path: "fuzz") else {
            preconditionFailure("a written model does not read back")
        }
        precondition(again.model == package.model, "a written model does not read back equal")
        for weight in (try? package.weights) ?? [] where weight.shape.count <= 1 << 14 {
            _ = try? package.tensor(of: weight)
        }
        for function in package.model.program.functions {
            guard let program = try? package.program(function: function.name), isSmall(program) else { continue }
            let inputs = program.program.inputs.map { input in
                let shape = program.shape(of: input.value)
                let zeros = StoredTensor(name: "", floats: [Float](repeating: 0, count: shape.count), shape: shape)
                let type = program.program.type(of: input.value).elementType
                let tensor = HostTensor(zeros)
                return (
                    input.name,
                    type == .int64
                        ? HostTensor(tensor.integers, shape) : type == .bool ? HostTensor(tensor.flags, shape) : tensor
                )
            }
            _ = try? program.evaluate(Dictionary(inputs) { first, _ in first })
        }
    }

    private static func isSmall(_ program: FrozenProgram) -> Bool {
        program.program.nodes.count <= 64
            && program.program.types.allSatisfy { ($0.shape?.checkedCount ?? .max) <= 1 << 12 }
    }

    private static func seed(_ name: String) -> [UInt8]? {
        let folder = Fixtures.path("coreml/\(name).mlpackage/Data/com.apple.CoreML")
        guard let model = try? MappedFile("\(folder)/model.mlmodel").bytes else { return nil }
        var writer = ByteWriter()
        writer.append(UInt32(model.count))
        writer.append(model)
        if let blobs = try? MappedFile("\(folder)/weights/weight.bin").bytes { writer.append(blobs) }
        return writer.bytes
    }
}
