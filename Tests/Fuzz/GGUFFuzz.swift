import AccelByteIO
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
}
