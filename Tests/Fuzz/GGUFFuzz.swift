import AccelByteIO
import AccelWeightCompression
import TestSupport

@testable import AccelFormats

extension FuzzTarget {
    static let gguf = FuzzTarget(name: "gguf", seeds: Attack.gguf.map(\.bytes)) { bytes in
        let file = try GGUFFile(bytes, file: "fuzz")
        var position = file.header.count
        for tensor in file.tensors {
            precondition(tensor.bytes.count == tensor.type.byteCount(tensor.shape))
            position += tensor.bytes.count
            precondition(position <= bytes.count)
        }
        for (key, value) in file.metadata { precondition(file[key] == value || value != value) }
        let tensors = Dictionary(uniqueKeysWithValues: file.tensors.map { ($0.name, $0) })
        _ = try GGUFConfiguration(of: file, tensors)
    }

    static let importance = FuzzTarget(name: "importance", seeds: Attack.gguf.map(\.bytes) + [importanceSeed]) {
        bytes in
        let matrix = try ImportanceMatrix(bytes, file: "fuzz")
        for (_, known) in try matrix.statistics(of: ["blk.0.attn_q.weight": 2, "a": 1], family: "llama") {
            precondition(known.meanSquares.count == known.columns)
            precondition(known.meanSquares.allSatisfy { $0.isFinite && $0 >= 0 })
        }
    }

    /// A file of before GGUF.
    private static let importanceSeed: [UInt8] = [1, 0, 0, 0, 1, 0, 0, 0, 97, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x80, 0x3F]
}
