import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// The files of an export: the model in one or more GGUF files, and a list of them with their digests.
struct GGUFFolder {
    let metadata: [(key: String, value: GGUFValue)]
    let tensors: [GGUFTensor]
    let provenance: [(key: String, text: String)]

    static let list = ExportList(format: GGUFExporter.name, title: "a GGUF model", suffixes: [suffix])
    static let suffix = ".gguf"
    /// A file that stands alone. Each has the types of weights.
    static let fileKind = OutputKind.file("a GGUF file of accelc", suffixes: [suffix]) { path in
        guard let file = try? GGUFFile(path), file[typesKey] != nil else { return "it is no GGUF file of accelc" }
        return nil
    }
    /// The keys of files that are parts of a model.
    static let split = (number: "split.no", count: "split.count", tensors: "split.tensors.count")

    /// The key of the types that weights have in the checkpoint, where files have other ones: a JSON object.
    static let typesKey = "accelc.types"

    /// Returns the types of weights whose type a file does not show.
    static func types(of weights: [CompressedTensor], _ targets: [String: GGUFTarget]) -> GGUFValue {
        let members = weights.compactMap { weight -> JSON.Member? in
            guard let target = targets[weight.name] else { return nil }
            let storage = target.storage(of: weight.codec, elementType: weight.elementType, shape: weight.shape)
            if case .type(let type) = storage, type.storage == .plain(weight.elementType) { return nil }
            if case .floats = storage, weight.elementType == .float32 { return nil }
            return JSON.Member(target.name, .string(weight.elementType.rawValue))
        }
        return .string(JSON.object(members.sorted { $0.key < $1.key }).text())
    }

    /// Reads the types of a file; none if another tool wrote it.
    /// - Throws: `FormatError` for other text than `types` gives.
    static func types(in file: GGUFFile) throws -> [String: ElementType] {
        guard case .string(let text)? = file[typesKey] else { return [:] }
        let place = "\(file.path), key \(typesKey)"
        let document = JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: place), file: place)
        let types = try document.members().map { name, field in
            guard let type = ElementType(rawValue: try field.string()), type.isFloatingPoint else {
                throw field.error("expected a floating-point type, such as BF16")
            }
            return (name, type)
        }
        return Dictionary(types) { first, _ in first }
    }

    /// The key of the schemes of weights whose codes their types do not tell: a JSON object.
    static let schemesKey = "accelc.schemes"

    /// Returns the schemes of weights whose codes another scheme made than the one of their type's name.
    static func schemes(of weights: [CompressedTensor], _ targets: [String: GGUFTarget]) -> GGUFValue {
        let members = weights.compactMap { weight -> JSON.Member? in
            guard let target = targets[weight.name],
                case .type(let type) = target.storage(
                    of: weight.codec, elementType: weight.elementType, shape: weight.shape),
                case .codec(let name) = type.storage,
                weight.codec.specification != (try? Codecs.codec(name))?.specification
            else { return nil }
            return JSON.Member(target.name, .string(weight.codec.specification))
        }
        return .string(JSON.object(members.sorted { $0.key < $1.key }).text())
    }

    /// Reads the schemes of a file; nil if another tool wrote it, or accelc before it wrote any.
    /// - Throws: `FormatError` for other text than `schemes` gives.
    static func schemes(in file: GGUFFile) throws -> [String: any WeightCodec]? {
        guard case .string(let text)? = file[schemesKey] else { return nil }
        let place = "\(file.path), key \(schemesKey)"
        let document = JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: place), file: place)
        let schemes = try document.members().map { name, field in
            do { return (name, try Codecs.codec(try field.string())) } catch let error as RequestError {
                throw field.error("names no scheme: \(error)")
            }
        }
        return Dictionary(schemes) { first, _ in first }
    }

    /// Writes all files.
    /// - Parameters:
    ///   - path: an empty or absent folder, which the caller publishes.
    ///   - shardBytes: the size at which a new file begins.
    func write(to path: String, shardBytes: Int) throws {
        try Files.makeFolder(path)
        let shards = shards(of: shardBytes)
        let names = shards.indices.map { Self.name(ofShard: $0 + 1, of: shards.count) }
        var digests: [String: Digest] = [:]
        let origin = provenance.map { (key: $0.key, value: GGUFValue.string($0.text)) }
        for (index, shard) in shards.enumerated() {
            var pairs = index == 0 ? metadata + origin : []
            if shards.count > 1 {
                pairs += [
                    (Self.split.number, .uint16(UInt16(clamping: index))),
                    (Self.split.count, .uint16(UInt16(clamping: shards.count))),
                    (Self.split.tensors, .int32(Int32(clamping: tensors.count))),
                ]
            }
            digests[names[index]] = try GGUFWriter.write(pairs, shard, to: "\(path)/\(names[index])")
        }
        try Self.list.write(provenance, listing: names, digests: digests, in: path)
    }

    /// Bytes of all tensors.
    var byteCount: Int { tensors.reduce(0) { $0 + $1.bytes.count } }

    /// The tensors in files of at most `bytes`, unless one tensor is larger.
    private func shards(of bytes: Int) -> [[GGUFTensor]] {
        var (shards, size): ([[GGUFTensor]], Int) = ([[]], 0)
        for tensor in tensors {
            if size > 0, size + tensor.bytes.count > bytes {
                shards.append([])
                size = 0
            }
            shards[shards.count - 1].append(tensor)
            size += tensor.bytes.count
        }
        return shards
    }

    /// Returns the name of a file as llama.cpp expects it.
    static func name(ofShard number: Int, of count: Int, stem: String = "model") -> String {
        func digits(_ number: Int) -> String { String(String(100_000 + number).dropFirst()) }
        return count == 1 ? "\(stem)\(suffix)" : "\(stem)-\(digits(number))-of-\(digits(count))\(suffix)"
    }
}
