import AccelByteIO
import AccelFormats
import AccelPrograms
import AccelTensors
import TestSupport

extension FuzzTarget {
    /// A message of any kind, to its last field, and each field as everything that it might be.
    static let protobuf = FuzzTarget(name: "protobuf", seeds: Attack.protobuf.map(\.bytes)) { bytes in
        try read(ProtobufReader(bytes, file: "fuzz"), depth: 0)
    }

    private static func read(_ reader: ProtobufReader, depth: Int) throws {
        var reader = reader
        while let field = try reader.next() {
            _ = (
                try? field.integer(), try? field.integers(), try? field.floats(), try? field.doubles(),
                try? field.string()
            )
            if depth < 8, let message = try? field.message() { try? read(message, depth: depth + 1) }
        }
    }

    /// A model alone: what is read is written, reads back equal, and is linted.
    static let coreMLModel = FuzzTarget(
        name: "coreml-model",
        seeds: ["states", "functions", "weights_iOS16"].compactMap { name in
            try? MappedFile("\(Fixtures.path("coreml/\(name).mlpackage"))/Data/com.apple.CoreML/model.mlmodel")
                .bytes.withBytes { Array($0) }
        }
    ) { bytes in
        let package = try CoreMLPackage(model: bytes, weights: nil, path: "fuzz")
        guard let again = try? CoreMLPackage(model: ByteView(package.encodedModel), weights: nil, path: "fuzz") else {
            preconditionFailure("a written model does not read back")
        }
        precondition(again.model == package.model, "a written model does not read back equal")
        _ = try? package.lint()
    }

    /// A blob file under a model that is sound: every weight that it describes is decompressed.
    static let coreMLBlobs = FuzzTarget(
        name: "coreml-blobs",
        seeds: ["functions", "weights_iOS18"].compactMap { name in
            try? MappedFile("\(Fixtures.path("coreml/\(name).mlpackage"))/Data/com.apple.CoreML/weights/weight.bin")
                .bytes.withBytes { Array($0) }
        }
    ) { bytes in
        for model in blobModels {
            guard let package = try? model.replacingWeights(bytes) else { continue }
            for weight in (try? package.weights) ?? [] { _ = try? package.tensor(of: weight) }
        }
    }

    private static let blobModels: [CoreMLPackage] = ["functions", "weights_iOS18"].compactMap {
        try? CoreMLPackage(at: Fixtures.path("coreml/\($0).mlpackage"))
    }

    /// The length of a model in four bytes, the model, and a blob file: what is read is written, decompressed and run.
    static let coreML = FuzzTarget(
        name: "coreml",
        seeds: ["states", "functions"].compactMap { seed($0) }
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
        program.program.nodes.count <= 24
            && program.program.types.allSatisfy { ($0.shape?.checkedCount ?? .max) <= 1 << 9 }
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
