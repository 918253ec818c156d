public import Tensors
public import WeightCompression

/// A weight as it is stored, with what the coverage table says of it.
public struct CompressedWeight: Sendable {
    public var tensor: CompressedTensor
    public let distortion: Distortion
    /// Why it is not stored as the recipe's codec would; nil when it is.
    public let reason: String?
    /// The operators that read it.
    public let readers: [String]
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
                sources[constant.tensor.name] = constant.tensor
            }
        }
        return sources.sorted { $0.key < $1.key }.map { name, source in
            let readers = readers[name] ?? []
            return PlannedWeight(source: source, readers: readers, choice: choice(for: source, readBy: readers))
        }
    }

    /// Stores every weight that `functions` read, each once, by name.
    /// - Parameter store: takes each finished weight, and may return the same one kept elsewhere (a cached file), so that
    ///   memory does not grow with the model. `nil` from `stored` means: not there yet, compress it.
    public func compressing(
        _ functions: [FrozenProgram], threads: Int,
        stored: (StoredTensor, any WeightCodec) throws -> (CompressedTensor, Distortion)? = { _, _ in nil },
        store: (StoredTensor, CompressedTensor, Distortion) throws -> CompressedTensor = { _, tensor, _ in tensor },
        progress: (_ tensor: StoredTensor) throws -> Void = { _ in }
    ) throws -> CompressedProgram {
        let weights = try plan(for: functions).map { planned in
            let (source, codec) = (planned.source, planned.choice.codec)
            try progress(source)
            let (tensor, distortion): (CompressedTensor, Distortion)
            if let found = try stored(source, codec) {
                (tensor, distortion) = found
            } else {
                let made = try CompressedTensor.compressing(source, with: codec, threads: threads)
                (tensor, distortion) = (try store(source, made.tensor, made.distortion), made.distortion)
            }
            return CompressedWeight(
                tensor: tensor, distortion: distortion, reason: planned.choice.reason, readers: planned.readers)
        }
        return CompressedProgram(functions: functions, weights: weights)
    }
}
