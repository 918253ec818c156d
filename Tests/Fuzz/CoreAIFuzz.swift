import AccelByteIO
import AccelFormats
import AccelTensors
import TestSupport

extension FuzzTarget {
    /// A program of a Core AI model: what is read is written, and reads back with the same bytes; every weight is decompressed.
    static let coreAI = FuzzTarget(
        name: "coreai",
        seeds: [
            try? MappedFile("\(Fixtures.path("coreai/llama_int4.aimodel"))/main.mlirb").bytes.withBytes { Array($0) }
        ]
        .compactMap(\.self)
    ) { bytes in
        let package = try CoreAIPackage(module: bytes, metadata: nil, hash: nil, path: "fuzz")
        let written = package.encodedModule
        guard let again = try? CoreAIPackage(module: ByteView(written), metadata: nil, hash: nil, path: "fuzz") else {
            preconditionFailure("a written program does not read back")
        }
        precondition(again.encodedModule == written, "a written program does not read back equal")
        for weight in (try? CoreAISource(package).weights) ?? [] where (weight.shape.checkedCount ?? .max) <= 1 << 16 {
            _ = try? weight.values()
        }
    }
}
