import AccelByteIO
package import AccelPrograms
import AccelTensors
package import AccelWeightCompression

/// The matrices of a model by their modules in GGUF files, for which mixes choose types.
struct GGUFMix {
    struct Matrix {
        let module: GGUFArchitecture.Module
        let shape: Shape
    }

    private let architecture: GGUFArchitecture
    private let layers: Int
    private let headsPerKey: Int
    private let isTied: Bool

    init(_ matrices: [Matrix], of architecture: GGUFArchitecture) {
        self.architecture = architecture
        layers = (matrices.compactMap(\.module.layer).max() ?? -1) + 1
        isTied = !matrices.contains { $0.module.gguf == GGUFArchitecture.head.gguf }
        func shape(_ name: String) -> Shape? {
            matrices.first { $0.module.layer == 0 && $0.module.gguf == name }?.shape
        }
        // Heads of queries and keys have the same width. A joined matrix has rows of queries, keys and values.
        var (queries, keys) = (shape("attn_q")?.rows ?? 1, shape("attn_k")?.rows ?? 1)
        if let joined = shape("attn_qkv"), let output = shape("attn_output") {
            (queries, keys) = (output.columns, (joined.rows - output.columns) / 2)
        }
        headsPerKey = keys > 0 ? queries / keys : 1
    }

    /// Returns the scheme of a matrix; nil for one that llama.cpp does not quantize.
    /// - Parameter isWeighted: whether the types are fitted with an importance matrix.
    func scheme(of matrix: Matrix, in mix: GGMLMix, isWeighted: Bool) -> String? {
        guard !architecture.floatModules.contains(matrix.module.gguf) else { return nil }
        let isGrouped = architecture.name == "qwen2" || architecture.name == "llama" && headsPerKey > 1
        let model = GGMLMix.Model(
            layers: layers, headsPerKey: headsPerKey, isTied: isTied, isLarge: layers == 80 && isGrouped,
            isWeighted: isWeighted)
        return mix.scheme(
            of: matrix.module.gguf, layer: matrix.module.layer ?? 0, columns: matrix.shape.columns, in: model)
    }

    /// llama.cpp's number for a file with these types: that of the mix that chooses them, or else of files whose matrices are mostly of
    /// one type.
    static func fileType(of matrices: [(matrix: Matrix, tensor: GGUFTensor)], _ architecture: GGUFArchitecture)
        -> UInt32
    {
        let model = GGUFMix(matrices.map(\.matrix), of: architecture)
        let coded = matrices.filter { !architecture.floatModules.contains($0.matrix.module.gguf) }
        var counts: [UInt32: Int] = [:]
        for (_, tensor) in coded { counts[tensor.type.id, default: 0] += tensor.shape.count }
        let usual = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }.flatMap { GGMLType.numbered($0.key) }
        guard case .codec(let base)? = usual?.storage else {
            return ["F16": 1, "BF16": 32][usual?.name ?? ""] ?? 0
        }
        let mix = GGMLMix.all.first { mix in
            [false, true].contains { isWeighted in
                coded.allSatisfy { matrix, tensor in
                    guard let scheme = model.scheme(of: matrix, in: mix, isWeighted: isWeighted) else { return false }
                    return tensor.type.name == scheme.uppercased() || scheme == "float16" && tensor.type.name == "F16"
                }
            }
        }
        return (mix ?? GGMLMix.all.first { $0.base == base })?.fileType ?? 0
    }
}

extension Recipe {
    /// Returns the recipe with a rule for each matrix whose scheme in the recipe's mix is not the mix's base; the recipe itself if it
    /// has no mix.
    /// - Parameters:
    ///   - plan: the plan of this recipe for all weights. Weights that a rule fits keep its scheme.
    ///   - family: the model's family.
    /// - Throws: `RequestError` if llama.cpp has no architecture for the family, so that nothing says what modules the weights are of.
    package func resolvingMix(in plan: [PlannedWeight], of family: String) throws -> Recipe {
        guard let mix else { return self }
        guard let architecture = GGUFArchitecture.all.first(where: { $0.family == family }) else {
            throw RequestError(
                "\(mix.name) is a mix of llama.cpp for its architectures, and the family \(quoted(family)) has none (there is "
                    + "\(GGUFArchitecture.all.map(\.family).joined(separator: ", "))): use \(mix.base), or for rows that are not multiples "
                    + "of 256 columns int4:block=32")
        }
        let matrices = plan.compactMap { weight -> (weight: PlannedWeight, matrix: GGUFMix.Matrix)? in
            guard weight.source.shape.hasOutputChannels, let (module, _) = architecture.module(of: weight.source.name)
            else { return nil }
            return (weight, GGUFMix.Matrix(module: module, shape: weight.source.shape))
        }
        let model = GGUFMix(matrices.map(\.matrix), of: architecture)
        var resolved = self
        resolved.mix = nil
        func add(_ weight: PlannedWeight, _ scheme: String?) throws {
            let codec = try scheme.map { try mix.codec($0, like: defaultCodec) } ?? Codecs.codec(Codecs.keep)
            guard codec.values != defaultCodec.values else { return }
            resolved.rules.append(try Rule(weight: weight.source.name, codec: codec))
        }
        for (weight, matrix) in matrices where weight.choice.rule == nil {
            try add(weight, model.scheme(of: matrix, in: mix, isWeighted: defaultCodec.method.usesStatistics))
        }
        // Matrices that files of the architecture lack, such as a pooler's, are not written to them; their rows are whole blocks all the same.
        for weight in plan where weight.choice.rule == nil && weight.source.shape.hasOutputChannels {
            guard architecture.module(of: weight.source.name) == nil else { continue }
            try add(weight, GGMLFormat.fitting(mix.base, columns: weight.source.shape.columns))
        }
        return resolved
    }
}
