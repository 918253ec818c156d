import AccelByteIO
import AccelTensors

/// The changes of a model's tensors by adapters. All shapes are checked; values are computed one tensor at a time.
///
/// Changes of several adapters are added up, each times its weight: as merges of one after the other in peft, each with
/// its scale times its weight.
struct AdapterMerge: Sendable {
    /// A changed tensor.
    struct Change: Sendable {
        /// The tensor in place of the model's, before other changes; nil for the model's own.
        var replacement: StoredTensor?
        /// The word embeddings that it starts from: of a tied head, which the checkpoint does not have.
        var words: String?
        var merge = LowRankMerge()
        /// The adapters that change it, by their numbers.
        var adapters: Set<Int> = []
    }
    /// By the name of the tensor in the checkpoint. A name that the checkpoint does not have is that of a replacement, or of a tied head.
    private(set) var changes: [String: Change] = [:]
    /// The names of all tensors of the adapters.
    let tensorNames: Set<String>
    private let names: AdaptedNames
    private let weights: [String: SourceWeight]
    /// The class has a head, and the configuration may tie it to the word embeddings.
    private let hasTiedHead: Bool

    /// - Parameters:
    ///   - weights: the decoded weights of the model.
    ///   - configuration: the model's config.json.
    /// - Throws: `FormatError` for a tensor that does not fit; `RequestError` for what cannot be merged.
    init(_ adapters: [Adapter], into weights: [SourceWeight], _ configuration: JSONField) throws {
        self.weights = Dictionary(weights.map { ($0.name, $0) }) { first, _ in first }
        hasTiedHead = try Self.hasHead(configuration) && Self.isTied(configuration) != false
        names = AdaptedNames(weights.map(\.name))
        tensorNames = Set(adapters.flatMap(\.files.tensors).map(\.name))
        for (index, adapter) in adapters.enumerated() {
            for (name, tensor) in adapter.replacements.sorted(by: { $0.key < $1.key }) {
                try replace(name, by: tensor, of: adapter, index)
            }
            let squares = areSquaresTransposed(in: adapter)
            for (name, module) in adapter.modules.sorted(by: { $0.key < $1.key }) {
                try change(name, by: module, of: adapter, index, areSquaresTransposed: squares)
            }
        }
        try requireHeads(configuration)
    }

    private mutating func replace(_ name: String, by tensor: StoredTensor, of adapter: Adapter, _ index: Int) throws {
        let isBase = adapter.baseLayers.contains(name)
        let found = try names.find(name, for: tensor)
        // peft saves the layer below the change of a tied head, too: these are the word embeddings.
        if isBase, found == nil, let words = tiedWords(of: name), weights[words]?.shape == tensor.shape,
            try weights[words]?.values().floats() == tensor.floats()
        {
            return
        }
        guard let target = found ?? (isBase ? nil : name) else { throw names.missing(name, for: tensor) }
        if let weight = weights[target] {
            guard weight.shape == tensor.shape else {
                throw tensor.error(
                    "expected shape \(weight.shape) of the model's \(quoted(target)), found \(tensor.shape)")
            }
            // peft saves embeddings beside their changes, whether they were changed or not.
            if try weight.values().floats() == tensor.floats() { return }
        }
        var change = changes[target] ?? Change()
        guard change.adapters.isEmpty else {
            throw tensor.error("another adapter changes \(quoted(target)) too: whole tensors cannot be added")
        }
        guard adapter.request.weight == 1 else {
            throw tensor.error("is a whole tensor, which is used as it is: the adapter's weight has to be 1")
        }
        change.replacement = tensor.renamed(target)
        change.adapters = [index]
        changes[target] = change
    }

    private mutating func change(
        _ name: String, by module: Adapter.Module, of adapter: Adapter, _ index: Int, areSquaresTransposed: Bool
    ) throws {
        guard let down = module.down, let up = module.up else { return }
        let found = try names.find("\(name).weight", for: down)
        let words = found == nil ? tiedWords(of: "\(name).weight") : nil
        let target = found ?? "\(name).weight"
        guard let weight = weights[words ?? target] else { throw names.missing("\(name).weight", for: down) }
        guard let fit = module.fit(to: weight.shape, areSquaresTransposed: areSquaresTransposed) else {
            throw down.error(
                "\(down.shape) and \(up.shape) are not the factors of a change of \(quoted(target)), which is "
                    + "\(weight.shape)")
        }
        let scale = Float(
            try adapter.configuration.scale(of: name, rank: down.shape.dimensions[0], in: down)
                * Double(adapter.request.weight))
        guard scale.isFinite else { throw down.error("its scale is out of range") }
        var change = try self.change(of: target, by: index, down, addsLengths: module.lengths != nil)
        change.words = words
        change.merge.changes.append(
            LowRankChange(
                coefficients: fit.areTransposed ? down : up, directions: fit.areTransposed ? up : down,
                areTransposed: fit.areTransposed, scale: scale))
        if let lengths = module.lengths {
            guard lengths.shape.count == fit.outputs,
                lengths.shape.dimensions.allSatisfy({ $0 == 1 || $0 == fit.outputs })
            else { throw lengths.error("expected \(fit.outputs) lengths, found \(lengths.shape)") }
            guard adapter.request.weight == 1 else {
                throw lengths.error("lengths of output channels (DoRA) have no part: the adapter's weight has to be 1")
            }
            change.merge.lengths = lengths
            change.merge.hasOutputColumns = fit.areTransposed
        }
        changes[target] = change
        if let bias = module.bias { try add(bias, to: "\(name).bias", scale, fit.outputs, index) }
    }

    private mutating func add(
        _ bias: StoredTensor, to name: String, _ scale: Float, _ outputs: Int, _ index: Int
    ) throws {
        guard let target = try names.find(name, for: bias) else { throw names.missing(name, for: bias) }
        guard bias.shape == [outputs], weights[target]?.shape == bias.shape else {
            throw bias.error("expected shape [\(outputs)] of the model's \(quoted(target)), found \(bias.shape)")
        }
        var change = try self.change(of: target, by: index, bias, addsLengths: false)
        let one = StoredTensor(name: bias.name, floats: [1], shape: [1, 1])
        change.merge.changes.append(LowRankChange(coefficients: one, directions: bias, scale: scale))
        changes[target] = change
    }

    /// Returns the change of a tensor so far, with another adapter.
    private func change(of target: String, by index: Int, _ tensor: StoredTensor, addsLengths: Bool) throws -> Change {
        var change = changes[target] ?? Change()
        let isAlone = change.adapters.isSubset(of: [index])
        guard isAlone || change.replacement == nil else {
            throw tensor.error("another adapter has a whole tensor in place of \(quoted(target))")
        }
        guard isAlone || !addsLengths && change.merge.lengths == nil else {
            throw tensor.error(
                "another adapter changes \(quoted(target)) too: with lengths of output channels (DoRA) changes cannot be "
                    + "added")
        }
        guard isAlone && change.merge.changes.isEmpty || !isAlone else {
            throw tensor.error("the adapter changes \(quoted(target)) twice")
        }
        change.adapters.insert(index)
        return change
    }

    /// Returns whether square matrices of the model are [inputs, outputs], by those that are not square, or as the
    /// adapter's configuration says.
    private func areSquaresTransposed(in adapter: Adapter) -> Bool {
        var found: Set<Bool> = []
        for (name, module) in adapter.modules where !module.isEmbedding {
            guard let down = module.down, let target = try? names.find("\(name).weight", for: down),
                let shape = weights[target]?.shape, shape.rank == 2, shape != shape.transposed,
                let fit = module.fit(to: shape, areSquaresTransposed: false)
            else { continue }
            found.insert(fit.areTransposed)
        }
        return found.contains(true) || found.isEmpty && adapter.configuration.isTransposed
    }

    /// The model's weight that a change starts from; nil for a replacement under a name that the model does not have.
    func source(of name: String, _ change: Change) -> SourceWeight? { weights[change.words ?? name] }

    /// Returns the tensor that a change gives.
    /// - Parameter weight: the tensor that it starts from.
    func merged(_ change: Change, named name: String, of weight: StoredTensor) throws -> StoredTensor {
        let base = (change.replacement ?? weight).renamed(name)
        return change.merge.changes.isEmpty ? base : try change.merge.merged(base)
    }

    /// Returns the checkpoint with the changed tensors, which are computed when they are read.
    func merged(into checkpoint: Checkpoint) throws -> Checkpoint {
        let changed = try changes.sorted { $0.key < $1.key }.map { name, change in
            guard let weight = checkpoint[change.words ?? name] ?? change.replacement else {
                throw RequestError("the checkpoint has no tensor \(quoted(name))", status: .internalFailure)
            }
            return try merged(change, named: name, of: weight)
        }
        return checkpoint.changing(changed)
    }
}

extension AdapterMerge {
    private static let embeddings = ["embed_tokens", "word_embeddings", "wte", "shared"]
    private static let heads = ["lm_head", "proj_out", "decoder", "vocab_projector", "embed_out"]
    private static let tie = "tie_word_embeddings"

    private static func isOne(_ name: String, of modules: [String]) -> Bool {
        modules.contains { ".\(name)".hasSuffix(".\($0).weight") }
    }

    private static func isTied(_ configuration: JSONField) throws -> Bool? {
        configuration[tie].exists ? try configuration[tie].bool() : nil
    }

    /// Returns the name of the word embeddings for a head that the checkpoint does not have, since it is tied to them; nil for other names.
    private func tiedWords(of name: String) -> String? {
        guard hasTiedHead, weights[name] == nil, Self.isOne(name, of: Self.heads) else { return nil }
        let found = weights.keys.filter { Self.isOne($0, of: Self.embeddings) }
        return found.count == 1 ? found.first : nil
    }

    /// Rejects changed word embeddings that serve as the head, too, where the adapter leaves the head as it was: its tensor would have to
    /// be added.
    private func requireHeads(_ configuration: JSONField) throws {
        let hasHeads = (Array(weights.keys) + changes.keys).contains { Self.isOne($0, of: Self.heads) }
        guard hasTiedHead, !hasHeads else { return }
        for (name, change) in changes.sorted(by: { $0.key < $1.key })
        where Self.isOne(name, of: Self.embeddings) && weights[name] != nil {
            let verb = change.replacement == nil ? "changes" : "replaces"
            throw RequestError(
                "the adapter \(verb) \(quoted(name)), to which the model's head is tied, but not the head: save the "
                    + "head too, or set \(Self.tie) to false in config.json and store it", status: .unavailable)
        }
    }

    private static func hasHead(_ configuration: JSONField) -> Bool {
        let classes = (try? configuration["architectures"].array().map { try $0.string() }) ?? []
        return classes.contains { name in
            ["LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForConditionalGeneration"].contains(where: name.hasSuffix)
        }
    }
}

extension Adapter.Module {
    /// Returns how the factors make a change of a weight; nil if they do not fit its shape.
    fileprivate func fit(to shape: Shape, areSquaresTransposed: Bool) -> (areTransposed: Bool, outputs: Int)? {
        guard let down = down?.shape.dimensions, let up = up?.shape.dimensions, down.count == shape.rank,
            up.count == shape.rank, up.count >= 2, up[1] == down[0], down[0] > 0, up[2...].allSatisfy({ $0 == 1 })
        else { return nil }
        let plain = shape.dimensions == [up[0]] + down[1...]
        let transposed = shape.rank == 2 && shape.dimensions == [down[1], up[0]]
        if isEmbedding { return transposed ? (true, up[0]) : nil }
        guard plain || transposed else { return nil }
        return (transposed && (!plain || areSquaresTransposed), up[0])
    }
}
