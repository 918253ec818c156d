import AccelByteIO
import AccelTensors

extension CoreMLPackage {
    /// Writes every weight, decompressed to float32, as safetensors under the names that the program has for them.
    /// - Returns: how many there are.
    /// - Throws: `FormatError` for a package that is corrupt; `RequestError` when functions have different weights of one
    ///   name.
    public func decompress(to path: String) throws -> Int {
        try check()
        let weights = try weights
        let names = weights.map(\.name)
        guard Set(names).count == names.count else {
            throw RequestError(
                "\(self.path): its functions have different weights of one name", status: .unavailable)
        }
        var writer = try SafetensorsWriter(
            replacing: path, as: .weights,
            entries: weights.map { .init(name: $0.name, elementType: .float32, shape: $0.shape) })
        for weight in weights { try tensor(of: weight).floats().withUnsafeBytes { try writer.append($0) } }
        try writer.finish()
        return weights.count
    }
}
