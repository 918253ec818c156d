import AccelByteIO
package import AccelCPURuntime
import AccelPrograms
package import AccelTensors

/// Plans for the samples of one file: each a sequence of its own, which begins with empty states.
extension RunPlan {
    /// Returns one plan, or one for each sample if the tensors have several times as many rows as a decoder of the model takes.
    /// - Throws: as `init`.
    package static func plans(
        _ program: ModelPlan, _ inputs: FunctionInputs, function: String? = nil,
        generating options: GenerationOptions = GenerationOptions(maxTokens: 0)
    ) throws -> [RunPlan] {
        func plan(_ inputs: FunctionInputs) throws -> RunPlan {
            try RunPlan(
                program, inputs, function: function, generating: options.maxTokens, until: options.stopTokens ?? [],
                by: Sampler(options.sampling, repetitionPenalty: options.repetitionPenalty))
        }
        do {
            return [try plan(inputs)]
        } catch let error as RequestError {
            let linked = inputs.followingLinks(of: program)
            guard let samples = linked.sequences(for: program) else { throw error }
            // An error names the row of the file.
            try linked.requireKnownNumbers(of: program.functions)
            return try samples.map(plan)
        }
    }
}

extension FunctionInputs {
    /// The tensors of each sample, or of as many as a decoder takes at once; nil if they are not that of several, or hold states, which
    /// are those of one sequence.
    fileprivate func sequences(for program: ModelPlan) -> [FunctionInputs]? {
        let decoders = program.functions.filter { $0.input(.position) != nil }
        let states = Set(program.functions.flatMap { $0.states.map(\.name) })
        guard let port = decoders.lazy.compactMap({ $0.input(.tokens) }).first, let tokens = tensors[port.name],
            tokens.holdsIndices, tokens.shape.rank == 2, states.isDisjoint(with: tensors.keys)
        else { return nil }
        let count = tokens.shape.dimensions[0]
        let batches = decoders.compactMap { $0.input(.tokens)?.shape.dimensions.first }
        guard let rows = batches.filter({ $0 > 0 && $0 < count && count % $0 == 0 }).max() else { return nil }
        return stride(from: 0, to: count, by: rows).map { start in
            replacing(
                tensors.mapValues { tensor in
                    guard tensor.shape.rank > 1, tensor.shape.dimensions[0] == count else { return tensor }
                    return tensor.rows(start..<start + rows)
                })
        }
    }
}

extension StoredTensor {
    /// The elements at some indices of the first axis, where they lie.
    package func rows(_ range: Range<Int>) -> StoredTensor {
        let size = bytes.count / max(shape.dimensions[0], 1)
        var own = shape
        own.dimensions[0] = range.count
        return StoredTensor(
            name: name, elementType: elementType, shape: own,
            bytes: bytes[range.lowerBound * size..<range.upperBound * size], file: file)
    }
}

extension RunPlan.Result {
    /// The results of samples as one, with the rows of generated tokens after each other. A row that has ended earlier repeats its stop
    /// token. Outputs are joined by `RunOutputs`.
    package init(joining results: [RunPlan.Result]) {
        self = results[0]
        guard results.count > 1 else { return }
        (runs, stops, next, outputs) = (results.flatMap(\.runs), results.flatMap(\.stops), [], [])
        let tokens = results.compactMap(\.generated)
        let width = tokens.map { $0.shape.dimensions[1] }.max() ?? 0
        guard width > 0 else { return }
        let rows = tokens.flatMap { tensor -> [[Int64]] in
            let (own, numbers) = (tensor.shape.dimensions[1], tensor.integers())
            return stride(from: 0, to: numbers.count, by: own).map { start in
                let row = Array(numbers[start..<start + own])
                return row + [Int64](repeating: row[own - 1], count: width - own)
            }
        }
        generated = StoredTensor(name: "generated", integers: rows.flatMap(\.self), shape: [rows.count, width])
    }
}
