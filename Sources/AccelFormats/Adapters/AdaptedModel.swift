import AccelByteIO
public import AccelPackages
public import AccelTensors
import AccelWeightCompression

/// A source whose programs a family builds from the tensors of a checkpoint.
protocol CheckpointSource: ModelSource {
    /// The configuration of the checkpoint.
    var configuration: JSONField { get }
    /// Returns the checkpoint with decoded weights.
    func decodedCheckpoint() throws -> Checkpoint
    /// Builds the functions from the decoded checkpoint, of which some tensors were changed.
    func model(
        of checkpoint: Checkpoint, changed: Set<String>, parts: [String], ignoredTensors: [String],
        allowsIdlePatterns: Bool
    ) throws -> SourceModel
}

/// A checkpoint with adapters merged into its weights. Weights are decoded before the merge, and compressed after it.
public struct AdaptedModel: ModelSource {
    private let base: any CheckpointSource
    private let merge: AdapterMerge
    private let adapters: [Adapter]

    /// Checks that every tensor of the adapters fits the model. Computes nothing.
    /// - Throws: `FormatError` for a tensor that does not fit; `RequestError` for what cannot be merged.
    init(_ base: any CheckpointSource, _ adapters: [Adapter]) throws {
        (self.base, self.adapters) = (base, adapters)
        merge = try AdapterMerge(adapters, into: base.weights, base.configuration)
    }

    public var format: any ModelFormat.Type { base.format }
    public var path: String { base.path }
    public var abilities: Set<SourceAbility> { base.abilities }
    public var files: ModelFiles { base.files }
    public var assets: [Asset] { get throws { try base.assets } }

    public var remarks: [String] {
        let tokenizers = adapters.map { "\($0.files.folder)/tokenizer.json" }.filter { Files.kind(of: $0) == .file }
        return base.remarks
            + tokenizers.map { "\($0) is not read: the tokenizer is the model's own" }
    }

    public var weights: [SourceWeight] {
        get throws {
            let known = try base.weights
            let names = Set(known.map(\.name))
            let added = merge.changes.filter { !names.contains($0.key) }.compactMap { name, change in
                if let weight = merge.source(of: name, change) { return merged(weight, change, named: name) }
                return change.replacement.map { SourceWeight($0) }
            }
            let all = known.map { weight in
                merge.changes[weight.name].map { merged(weight, $0, named: weight.name) } ?? weight
            }
            return (all + added).sorted { $0.name < $1.name }
        }
    }

    private func merged(_ weight: SourceWeight, _ change: AdapterMerge.Change, named name: String) -> SourceWeight {
        SourceWeight(
            name: name, shape: weight.shape, scheme: "\(weight.scheme) and adapter", storedBits: weight.storedBits,
            codeBits: weight.codeBits
        ) { [merge] in try merge.merged(change, named: name, of: weight.values()) }
    }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try base.model(
            of: merge.merged(into: base.decodedCheckpoint()), changed: Set(merge.changes.keys), parts: parts,
            ignoredTensors: ignoredTensors, allowsIdlePatterns: allowsIdlePatterns
        ).reading(merge.tensorNames)
    }
}
