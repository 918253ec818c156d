import AccelByteIO
import AccelPackages
import AccelTensors

/// The files of an export: weights in one or more safetensors files, their index, the configuration and the tokenizer.
struct MLXFolder {
    let weights: [MLXWeight]
    /// Tensors in a file of their own, which MLX does not read.
    let aside: [MLXWeight]
    let configuration: String
    /// The files that are copied; a config.json or an index among them is replaced.
    let assets: [Asset]
    let provenance: [(key: String, text: String)]
    /// The name of the only file of weights; nil for the usual names of one or several.
    var fileName: String?

    private static let asideName = "computed.safetensors"
    /// The index of the weights. It lists the other files, and its last member is its own digest.
    static let index = ExportIndex(name: "model.safetensors.index.json")

    /// Writes all files.
    /// - Parameters:
    ///   - path: an empty or absent folder, which the caller publishes.
    ///   - shardBytes: the size at which a new file of weights begins.
    func write(to path: String, shardBytes: Int) throws {
        try Files.makeFolder(path)
        let shards = shards(of: fileName == nil ? shardBytes : .max)
        var (names, digests, map) = ([String](), [String: Digest](), [JSON.Member]())
        for (index, shard) in (shards + (aside.isEmpty ? [] : [aside])).enumerated() {
            let usual =
                fileName ?? (shards.count == 1 ? "model.safetensors" : Self.name(ofShard: index + 1, of: shards.count))
            let name = index < shards.count ? usual : Self.asideName
            let tensors = shard.flatMap(\.tensors)
            digests[name] = try SafetensorsWriter.write(
                tensors, to: "\(path)/\(name)", as: .part, metadata: [("format", "mlx")], isListed: true)
            names.append(name)
            map += tensors.map { JSON.Member($0.name, .string(name)) }
        }
        try AtomicFile.write(configuration, to: "\(path)/\(MLXConfiguration.fileName)", as: .internal)
        names.append(MLXConfiguration.fileName)
        names += try assets.write(to: path, besides: [MLXConfiguration.fileName, Self.index.name])
        let index = [
            JSON.Member("metadata", metadata),
            JSON.Member("weight_map", .object(map.sorted { $0.key < $1.key })),
        ]
        try AtomicFile.write(
            WrittenDocument.text(of: index, listing: names, digests: digests, in: path),
            to: "\(path)/\(Self.index.name)", as: .internal)
    }

    private var metadata: JSON {
        .object(
            [
                JSON.Member("total_size", .integer(Int64(byteCount))),
                JSON.Member("total_parameters", .integer(Int64(weights.reduce(0) { $0 + $1.count }))),
            ] + record.members + provenance.map { JSON.Member($0.key, .string($0.text)) })
    }

    private var record: ExportRecord {
        var record = ExportRecord()
        for weight in weights + aside {
            if let scheme = weight.specification {
                (record.schemes[weight.name], record.types[weight.name]) = (scheme, weight.elementType)
            }
            record.names[weight.name] = weight.ownName
        }
        return record
    }

    /// Bytes of all weights, with those that MLX does not read.
    var byteCount: Int { (weights + aside).reduce(0) { $0 + $1.byteCount } }

    /// The weights in files of at most `bytes`, unless one weight is larger. The tensors of a weight stay together.
    private func shards(of bytes: Int) -> [[MLXWeight]] {
        var (shards, size): ([[MLXWeight]], Int) = ([[]], 0)
        for weight in weights {
            if size > 0, size + weight.byteCount > bytes {
                shards.append([])
                size = 0
            }
            shards[shards.count - 1].append(weight)
            size += weight.byteCount
        }
        return shards
    }

    private static func name(ofShard index: Int, of count: Int) -> String {
        func digits(_ number: Int) -> String { String(String(100_000 + number).dropFirst()) }
        return "model-\(digits(index))-of-\(digits(count)).safetensors"
    }
}

extension OutputKind {
    /// An unchanged MLX folder of accelc. Models of mlx-lm are not replaced.
    static let mlxFolder = OutputKind.folder("an MLX model") { try MLXFolder.index.rejectionReason(for: $0) }
}
