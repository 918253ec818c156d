import AccelByteIO
import AccelTensors

/// Writes GGUF files of version 3.
enum GGUFWriter {
    /// Writes a file.
    /// - Parameters:
    ///   - metadata: keys and values; no key twice.
    ///   - tensors: in the order of the file.
    ///   - path: the file.
    ///   - kind: what the file may replace; without it, the file is within a folder that the caller publishes.
    /// - Returns: the digest of the file, for a list of the folder's files.
    @discardableResult
    static func write(
        _ metadata: [(key: String, value: GGUFValue)], _ tensors: [GGUFTensor], to path: String,
        as kind: OutputKind? = nil
    ) throws -> Digest? {
        var file = try AtomicFile(
            replacing: path, as: kind ?? .internal, isSynced: kind != nil, isLarge: true,
            isListed: kind == nil)
        try file.write(ByteView(header(metadata, tensors)))
        for tensor in tensors {
            try file.write(tensor.bytes)
            try file.pad(to: GGUFFile.defaultAlignment)
        }
        return try file.commitListed()
    }

    /// Returns the bytes before the first tensor, with the padding.
    static func header(_ metadata: [(key: String, value: GGUFValue)], _ tensors: [GGUFTensor]) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(GGUFFile.magic)
        writer.append(UInt32(3))
        writer.append(UInt64(tensors.count))
        writer.append(UInt64(metadata.count))
        for (key, value) in metadata {
            writer.append(gguf: key)
            writer.append(value)
        }
        var offset = 0
        for tensor in tensors {
            writer.append(gguf: tensor.name)
            writer.append(UInt32(tensor.shape.rank))
            for dimension in tensor.shape.dimensions.reversed() { writer.append(UInt64(dimension)) }
            writer.append(tensor.type.id)
            writer.append(UInt64(offset))
            offset = aligned(offset + tensor.bytes.count)
        }
        writer.pad(to: GGUFFile.defaultAlignment)
        return writer.bytes
    }

    private static func aligned(_ count: Int) -> Int {
        let alignment = GGUFFile.defaultAlignment
        return (count + alignment - 1) / alignment * alignment
    }
}
