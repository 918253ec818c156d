import AccelByteIO
import AccelModelFamilies
import AccelTensors
import AccelWeightCompression

/// The module and name of a weight in a GGUF file.
struct GGUFTarget {
    let architecture: GGUFArchitecture
    let module: GGUFArchitecture.Module
    let name: String
    /// A number that divides the rows' lengths of all matrices of the model, so that advice is good for each of them.
    let commonColumns: Int

    /// Returns the targets of weights, by their names. The pooler of BERT has none: llama.cpp pools by itself.
    /// - Throws: `RequestError` for a tensor that llama.cpp does not read.
    static func targets(
        of weights: [(name: String, shape: Shape)], in architecture: GGUFArchitecture, _ origins: TensorOrigins
    ) throws -> [String: GGUFTarget] {
        var targets: [String: GGUFTarget] = [:]
        let columns = commonColumns(of: weights.map(\.shape))
        for (weight, _) in weights where !isLeftOut(weight, architecture) {
            guard let (module, suffix) = architecture.module(of: weight) else {
                throw RequestError("GGUF: llama.cpp's \(architecture.name) reads no tensor like \(quoted(weight))")
            }
            if let rule = origins.derivations[weight]?.rule {
                guard rule == .transpose, architecture.transposed.contains(module.gguf) else {
                    throw RequestError(
                        "GGUF: \(quoted(weight)) is not a tensor of the checkpoint, as llama.cpp expects it")
                }
            }
            if suffix == "bias", let biases = architecture.biases, !biases.contains(module.gguf) {
                throw RequestError(
                    "GGUF: llama.cpp's \(architecture.name) has no bias in \(module.gguf), but the model has \(weight)")
            }
            if architecture.tiesHead, module.gguf == GGUFArchitecture.head.gguf {
                throw RequestError(
                    "GGUF: llama.cpp's \(architecture.name) has no head of its own, but the model has \(weight)")
            }
            targets[weight] = GGUFTarget(
                architecture: architecture, module: module, name: architecture.name(module, suffix),
                commonColumns: columns)
        }
        return targets
    }

    /// Returns the largest number that divides the rows' lengths of all matrices.
    static func commonColumns(of shapes: [Shape]) -> Int {
        shapes.filter { $0.rank == 2 }.reduce(0) { greatestCommonDivisor($0, $1.columns) }
    }

    static func isLeftOut(_ weight: String, _ architecture: GGUFArchitecture) -> Bool {
        architecture.name == "bert" && ["", architecture.prefix].contains { weight.hasPrefix("\($0)pooler.dense.") }
    }
}

extension GGUFTarget {
    /// How a GGUF file stores a weight.
    enum Storage {
        case type(GGMLType)
        /// As float32 in any case: llama.cpp reads vectors and some matrices in no other type.
        case floats
        /// Not at all; the candidate is the nearest scheme.
        case unsupported(UnsupportedScheme)
    }

    func storage(of codec: any WeightCodec, elementType: ElementType, shape: Shape) -> Storage {
        if shape.rank < 2 || architecture.floatModules.contains(module.gguf) { return .floats }
        if let type = codec.plainType(of: elementType) {
            guard type.isFloatingPoint, type != .float64, let plain = GGMLType.plain(type) else {
                return .unsupported(.init("llama.cpp reads no weights of type \(type.rawValue)", use: "float32"))
            }
            return .type(plain)
        }
        guard let type = GGMLType.holding(codec, shape) else {
            let nearest = Self.nearest(to: codec, columns: commonColumns)
            return .unsupported(.init("GGUF cannot express \(codec.specification)", use: nearest))
        }
        guard shape.columns % type.elements == 0 else {
            return .unsupported(
                .init(
                    "its rows of \(shape.columns) weights are not whole blocks of \(type.elements), as \(codec.name) has them",
                    use: GGMLFormat.fitting(codec.name, columns: shape.columns), "q4_k_m"))
        }
        return .type(type)
    }

    /// Returns the scheme of GGUF files that is nearest to a codec and fits rows of this many weights.
    static func nearest(to codec: any WeightCodec, columns: Int) -> String {
        let known = ["int8": 8, "float8": 8, "int4": 4, "nf4": 4]
        let bits = max(codec.values.integer("bits") ?? known[codec.name] ?? 4, 2)
        guard columns % 32 == 0 else { return "float16" }
        if bits <= 6, columns % 256 == 0 { return "q\(bits)_k" }
        return bits <= 4 ? "q4_0" : bits == 5 ? "q5_0" : "q8_0"
    }

    /// Returns a weight as the file has it.
    /// - Throws: `RequestError` if it cannot be expressed.
    func tensor(of weight: CompressedTensor, heads: Int, keyHeads: Int) throws -> GGUFTensor {
        var (type, bytes): (GGMLType, ByteView)
        switch storage(of: weight.codec, elementType: weight.elementType, shape: weight.shape) {
        case .unsupported(let scheme): throw scheme.error(of: weight.name, inPackage: true)
        case .floats:
            let gain: Float = architecture.storesWholeGains && weight.shape.rank == 1 ? 1 : 0
            (type, bytes) = (.float32, ByteView(weight.floats().map { gain == 0 ? $0 : $0 + gain }))
        case .type(let known):
            type = known
            if case .values(_, let plain)? = weight.encoding { bytes = plain } else { bytes = known.blocks(of: weight) }
        }
        if architecture.rotatesNeighbours, let count = ["attn_q": heads, "attn_k": keyHeads][module.gguf] {
            let rows = weight.shape.rank < 2 ? weight.shape.count : weight.shape.rows
            guard let ordered = GGUFRows(heads: count).interleaved(bytes, rows: rows) else {
                throw RequestError(
                    "GGUF: the \(rows) rows of \(quoted(weight.name)) are not \(count) heads of an even width")
            }
            bytes = ordered
        }
        return GGUFTensor(name: name, type: type, shape: weight.shape, bytes: bytes)
    }
}
