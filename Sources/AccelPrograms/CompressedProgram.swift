import AccelByteIO
public import AccelTensors
public import AccelWeightCompression

/// A weight as it is stored, with what the coverage table says of it.
public struct CompressedWeight: Sendable {
    public var tensor: CompressedTensor
    public let distortion: Distortion
    /// Why it is not stored as the recipe's codec would; nil when it is.
    public let reason: String?
    /// The operators that read it.
    public let readers: [String]

    public init(tensor: CompressedTensor, distortion: Distortion, reason: String? = nil, readers: [String]) {
        (self.tensor, self.distortion, self.reason, self.readers) = (tensor, distortion, reason, readers)
    }
}

/// Frozen functions that share one set of stored weights.
public struct CompressedProgram: Sendable {
    public let functions: [FrozenProgram]
    /// Sorted by name; each is read by at least one function.
    public let weights: [CompressedWeight]

    public init(functions: [FrozenProgram], weights: [CompressedWeight]) {
        self.functions = functions
        self.weights = weights
    }
}

/// A weight that functions read, and how a recipe wants it stored.
public struct PlannedWeight: Sendable {
    public let source: StoredTensor
    /// The operators that read it.
    public let readers: [String]
    public let choice: Recipe.Choice

    public init(source: StoredTensor, readers: [String], choice: Recipe.Choice) {
        (self.source, self.readers, self.choice) = (source, readers, choice)
    }
}

extension Recipe {
    /// How every weight that `functions` read will be stored; each once, sorted by name.
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

    /// Stores every weight that `functions` read, each once. See `[PlannedWeight].compressing`.
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
