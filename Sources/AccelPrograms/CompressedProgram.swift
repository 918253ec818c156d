import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// A compressed weight, with its error figures for the coverage table.
public struct CompressedWeight: Sendable {
    /// The encoded weight.
    public var tensor: CompressedTensor
    /// The error of the encoding against the original weight.
    public let distortion: Distortion
    /// Why the weight does not have the encoding that the recipe asks for; nil if it has.
    public let reason: String?
    /// The names of the operators that read it, such as `linear`, in program order.
    public let readers: [String]

    /// Creates a compressed weight. See the properties for the meaning of the parameters.
    public init(tensor: CompressedTensor, distortion: Distortion, reason: String? = nil, readers: [String]) {
        (self.tensor, self.distortion, self.reason, self.readers) = (tensor, distortion, reason, readers)
    }
}

/// Frozen functions that share one set of compressed weights.
public struct CompressedProgram: Sendable {
    /// The functions in the order of the conversion request.
    public let functions: [FrozenProgram]
    /// The weights, sorted by name; each is read by at least one function.
    public let weights: [CompressedWeight]

    /// Creates a compressed program. Nothing is checked.
    public init(functions: [FrozenProgram], weights: [CompressedWeight]) {
        self.functions = functions
        self.weights = weights
    }

    /// Returns the program with other encodings of some weights, by name. An encoding of another shape is left out.
    package func replacing(_ encoded: [String: CompressedTensor]) -> CompressedProgram {
        CompressedProgram(
            functions: functions,
            weights: weights.map { weight in
                guard let other = encoded[weight.tensor.name], other.shape == weight.tensor.shape else { return weight }
                var changed = weight
                changed.tensor = other
                return changed
            })
    }
}

/// An entry of a compression plan: a weight and the codec that a recipe chooses for it.
public struct PlannedWeight: Sendable {
    /// The original weight.
    public let source: StoredTensor
    /// The names of the operators that read it, in program order.
    public let readers: [String]
    /// The chosen codec, and the rule that chose it.
    public let choice: Recipe.Choice

    /// Creates an entry of a compression plan.
    public init(source: StoredTensor, readers: [String], choice: Recipe.Choice) {
        (self.source, self.readers, self.choice) = (source, readers, choice)
    }
}

extension Recipe {
    /// Returns the compression plan for all weights that `functions` read: each weight once, sorted by name.
    public func plan(for functions: [FrozenProgram]) -> [PlannedWeight] {
        var readers: [String: [String]] = [:]
        var sources: [String: StoredTensor] = [:]
        for function in functions {
            for (name, operators) in function.program.constantReaders {
                for reader in operators where !readers[name, default: []].contains(reader) {
                    readers[name, default: []].append(reader)
                }
            }
            for constant in function.program.constants where constant.isWeight {
                sources[constant.name] = constant.tensor
            }
        }
        return sources.sorted { $0.key < $1.key }.map { name, source in
            let readers = readers[name] ?? []
            return PlannedWeight(source: source, readers: readers, choice: choice(for: source, readBy: readers))
        }
    }

    /// Compresses every weight that `functions` read, each once. See `[PlannedWeight].compressing` for the parameters.
    public func compressing(
        _ functions: [FrozenProgram], threads: Int,
        stored: (StoredTensor, any WeightCodec) throws -> (CompressedTensor, Distortion)? = { _, _ in nil },
        reading: @Sendable (StoredTensor, _ threads: Int) throws -> StoredTensor = { source, _ in source },
        store: @Sendable ([MadeWeight]) throws -> [CompressedTensor] = { $0.map(\.tensor) },
        calibrating: ([PlannedWeight], _ stored: [CompressedTensor]) throws -> [String: CompressedWeight] = { _, _ in
            [:]
        },
        progress: (_ tensor: StoredTensor, _ isFound: Bool) throws -> Void = { _, _ in }
    ) throws -> CompressedProgram {
        let weights = try plan(for: functions).compressing(
            threads: threads, stored: stored, reading: reading, store: store, calibrating: calibrating,
            progress: progress)
        return CompressedProgram(functions: functions, weights: weights)
    }
}
