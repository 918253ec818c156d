import AccelByteIO
import AccelPackages
public import AccelTensors
public import AccelWeightCompression

/// A GGUF model as a source: the programs of its family with decoded weights, under the names of checkpoints.
public struct GGUFSource: SingleModelSource {
    public let path: String
    public let files: ModelFiles
    let configuration: JSONField
    let documents: [String: JSON]?
    let folder: String
    let encoded: [String: EncodedWeight]
    let fileBytes: [String: Int]
    let fileTypes: [String: ElementType]
    public let freeCodes: [String: any WeightCodec]
    let plain: [StoredTensor]
    let names: Set<String>
    let tokenizerAssets: [Asset]

    /// Opens a file, or the one of a folder, with the others that are parts of the model.
    /// - Throws: `FormatError` if a file is corrupt; `RequestError` for an architecture or a type that is not supported.
    init(_ path: String) throws {
        self.path = path
        let parts = try Self.parts(of: path)
        let tensors = parts.flatMap(\.tensors)
        let named = Dictionary(tensors.map { ($0.name, $0) }) { first, _ in first }
        guard named.count == tensors.count else {
            throw FormatError(file: path, reason: "a tensor is in two files of the model")
        }
        let read = try GGUFConfiguration(of: parts[0], named)
        folder = Files.kind(of: path) == .folder ? path : Files.parentFolder(of: path) ?? "."
        configuration = JSONField(read.json, file: parts[0].path)
        documents = read.documents
        names = Set(tensors.map(\.name))
        tokenizerAssets = GGUFTokenizerAssets.assets(of: parts[0])
        let reader = GGUFReader(read, configuration, try GGUFFolder.types(in: parts[0]))
        let schemes = try GGUFFolder.schemes(in: parts[0])
        var (encoded, plain) = ([String: EncodedWeight](), [StoredTensor]())
        var (bytes, free) = ([String: Int](), [String: any WeightCodec]())
        var types: [String: ElementType] = [:]
        for part in parts {
            for tensor in part.tensors where !read.tensorsRead.contains(tensor.name) {
                let scheme = schemes?[tensor.name]
                switch try reader.weight(tensor, by: scheme, of: part.path) {
                case .plain(let weight):
                    plain.append(weight)
                    if case .plain(let type) = tensor.type.storage { types[weight.name] = type }
                case .encoded(let weight):
                    (encoded[weight.name], bytes[weight.name]) = (weight, tensor.bytes.count)
                    let isKnown = schemes != nil && scheme?.method != .weighted
                    if !isKnown { free[weight.name] = scheme ?? weight.codec }
                }
            }
        }
        (self.encoded, self.plain, fileBytes, freeCodes) = (encoded, plain, bytes, free)
        fileTypes = types
        files = ModelFiles(in: folder, holding: parts.map(\.source))
    }

    /// Opens the files of a model.
    private static func parts(of path: String) throws -> [GGUFFile] {
        let first = try GGUFFile(Files.kind(of: path) == .folder ? file(in: path) : path)
        guard let given = first[GGUFFolder.split.count] else { return [first] }
        guard case .uint16(let count) = given else {
            throw FormatError(
                file: first.path, location: .field(GGUFFolder.split.count), reason: "expected a number of type u16")
        }
        guard count > 1 else { return [first] }
        let folder = Files.parentFolder(of: first.path) ?? "."
        let name = Files.name(of: first.path)
        let ending = GGUFFolder.name(ofShard: 1, of: Int(count), stem: "")
        guard name.hasSuffix(ending), first[GGUFFolder.split.number] == .uint16(0) else {
            throw FormatError(
                file: first.path,
                reason: "is one of \(count) files of a model: name the first, which ends with \(ending)")
        }
        let stem = String(name.dropLast(ending.count))
        let rest = try (2...Int(count)).map { number in
            let file = try GGUFFile("\(folder)/\(GGUFFolder.name(ofShard: number, of: Int(count), stem: stem))")
            for (key, expected) in [(GGUFFolder.split.number, number - 1), (GGUFFolder.split.count, Int(count))]
            where file[key] != .uint16(UInt16(clamping: expected)) {
                throw FormatError(file: file.path, location: .field(key), reason: "expected \(expected)")
            }
            try requireNoKeys(of: file, otherThan: first)
            return file
        }
        let parts = [first] + rest
        let found = parts.reduce(0) { $0 + $1.tensors.count }
        if case .int32(let expected)? = first[GGUFFolder.split.tensors], Int(expected) != found {
            throw FormatError(
                file: first.path, location: .field(GGUFFolder.split.tensors),
                reason: "the model has \(expected) tensors, but its files have \(found)")
        }
        return parts
    }

    /// Rejects keys of a further file that the first one does not have: llama.cpp reads those of the first file only.
    private static func requireNoKeys(of file: GGUFFile, otherThan first: GGUFFile) throws {
        for (key, value) in file.metadata where !key.hasPrefix("split.") && !GGUFKeys.isForeign(key) {
            guard key.hasPrefix("general.") || first[key] == value else {
                throw RequestError(
                    "\(file.path), field \(key): \(value.json.text().prefix(60)) is not supported: the first file of the model has "
                        + "another value, or none", status: .unavailable)
            }
        }
    }

    private static func file(in folder: String) throws -> String {
        let names = try Files.list(folder).filter { $0.hasSuffix(GGUFFolder.suffix) }
        guard !names.isEmpty else {
            throw RequestError("\(folder) has no file with a name like *\(GGUFFolder.suffix)", status: .unavailable)
        }
        let firsts = names.filter { $0.contains("-00001-of-") }
        guard let name = names.count == 1 ? names.first : firsts.count == 1 ? firsts.first : nil else {
            throw RequestError(
                "\(folder) has \(names.count) files with names like *\(GGUFFolder.suffix): name the one to read")
        }
        return "\(folder)/\(name)"
    }

    public var format: any ModelFormat.Type { GGUFFormat.self }
    /// The importer's version in cache keys: since 2 packages have the tokenizer.
    static let importer: String? = "gguf 2"

    func isTransposed(_ name: String) -> Bool { GGUFReader.isTransposed(name, configuration) }
}

/// Undoes what a GGUF file does to the tensors of checkpoints.
private struct GGUFReader {
    enum Weight {
        case plain(StoredTensor)
        case encoded(EncodedWeight)
    }

    private let architecture: GGUFArchitecture
    private let layers: Int
    private let configuration: JSONField
    /// The types in the checkpoint, by names in the file, where these are known and others.
    private let types: [String: ElementType]

    init(_ read: GGUFConfiguration, _ configuration: JSONField, _ types: [String: ElementType]) {
        (architecture, layers, self.configuration, self.types) = (read.architecture, read.layers, configuration, types)
    }

    /// Returns whether checkpoints of the family store a tensor transposed.
    static func isTransposed(_ name: String, _ configuration: JSONField) -> Bool {
        guard case .string(let family)? = configuration["model_type"].value,
            let architecture = GGUFArchitecture.all.first(where: { $0.family == family }),
            let (module, suffix) = architecture.module(of: name)
        else { return false }
        return suffix == "weight" && architecture.transposed.contains(module.gguf)
    }

    /// Returns a tensor under its name in checkpoints.
    /// - Parameter scheme: what made its codes, if the file says that it was not the one of the type's name.
    /// - Throws: `RequestError` for a tensor or a type that is not supported; `FormatError` for rows that are not whole heads.
    func weight(_ tensor: GGUFTensor, by scheme: (any WeightCodec)?, of file: String) throws -> Weight {
        guard let (module, name) = architecture.tensor(named: tensor.name), (module.layer ?? 0) < layers,
            !tensor.name.hasSuffix(".bias") || architecture.mayHaveBias(module)
        else {
            throw RequestError(
                "\(file), tensor \(quoted(tensor.name)): the family \(architecture.family) of accelc has no such tensor in \(layers) layers",
                status: .unavailable)
        }
        let bytes: @Sendable () throws -> ByteView
        if architecture.rotatesNeighbours, ["attn_q", "attn_k"].contains(module.gguf) {
            let heads = try configuration[module.gguf == "attn_q" ? "num_attention_heads" : "num_key_value_heads"].int()
            let rows = tensor.shape.rank < 2 ? tensor.shape.count : tensor.shape.rows
            let order = GGUFRows(heads: heads)
            guard order.fits(rows: rows) else {
                throw FormatError(
                    file: file, location: .tensor(tensor.name, index: nil),
                    reason: "its \(rows) rows are not \(heads) heads of an even width")
            }
            bytes = { order.inHalves(tensor.bytes, rows: rows) ?? tensor.bytes }
        } else {
            bytes = { tensor.bytes }
        }
        switch tensor.type.storage {
        case .plain(let type):
            var stored = StoredTensor(
                name: name, elementType: type, shape: tensor.shape, bytes: try bytes(), file: file)
            if architecture.storesWholeGains, tensor.shape.rank == 1 {
                let gains = ByteView(stored.floats().map { $0 - 1 })
                stored = StoredTensor(name: name, elementType: .float32, shape: tensor.shape, bytes: gains, file: file)
            }
            return .plain(types[tensor.name].flatMap(stored.narrowed) ?? stored)
        case .codec(let specification):
            let codec = try scheme ?? Codecs.codec(specification)
            let (type, shape) = (tensor.type, tensor.shape)
            guard let own = type.codec(of: tensor.bytes, shape, madeBy: codec) else {
                throw FormatError(
                    file: file, location: .tensor(tensor.name, index: nil),
                    reason: "blocks of \(type.name) are not codes of \(codec.specification)")
            }
            return .encoded(
                try EncodedWeight(
                    name: name, elementType: types[tensor.name] ?? .float32, shape: shape, codec: own, file: file
                ) { type.codes(try bytes(), of: shape, by: codec)?.sections ?? [] })
        case .unread:
            throw RequestError(
                "\(file), tensor \(quoted(tensor.name)): weights of type \(tensor.type.name) are not supported (supported: "
                    + "\(GGMLType.all.filter { $0.storage != .unread }.map(\.name).joined(separator: ", ")))",
                status: .unavailable)
        }
    }
}

extension GGUFFile {
    /// The file as a source of a model.
    fileprivate var source: ModelFiles.Source {
        ModelFiles.Source(
            name: Files.name(of: path), path: path, role: .weights, identity: identity, content: header,
            tensors: tensors.map { tensor in
                if case .plain(let type) = tensor.type.storage {
                    return StoredTensor(
                        name: tensor.name, elementType: type, shape: tensor.shape, bytes: tensor.bytes, file: path)
                }
                return StoredTensor(
                    name: tensor.name, elementType: .uint8, shape: [tensor.bytes.count], bytes: tensor.bytes, file: path
                )
            })
    }
}

extension StoredTensor {
    /// Returns float32 elements in 16 bits; nil if that loses anything.
    func narrowed(_ type: ElementType) -> StoredTensor? {
        guard elementType == .float32, type == .bfloat16 || type == .float16 else { return nil }
        var halves: [UInt16] = []
        for value in floats() {
            let bits = type == .bfloat16 ? UInt16(truncatingIfNeeded: value.bitPattern >> 16) : Half.bits(value)
            let back = type == .bfloat16 ? Float(bitPattern: UInt32(bits) << 16) : Half.value(bits)
            guard back.bitPattern == value.bitPattern else { return nil }
            halves.append(bits)
        }
        return StoredTensor(name: name, elementType: type, shape: shape, bytes: ByteView(halves), file: file)
    }
}
