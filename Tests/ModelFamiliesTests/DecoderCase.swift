import AccelByteIO
import AccelCPURuntime
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Testing

/// A decoder with goldens of a full forward, a prefill, and steps after it.
struct DecoderCase: CustomTestStringConvertible, Sendable {
    let files: ParityCase
    var testDescription: String { files.testDescription }

    static let all = ParityCase.all(["llama_", "mistral", "qwen2", "qwen3", "phi3_", "gemma_", "gemma3_"]).map(
        DecoderCase.init)

    enum Way: CaseIterable { case reference, executor }

    /// Everything that the goldens compare, by their names without `out.`: all tokens at once, then a prefill and single
    /// steps that share a longer cache.
    func outputs(of program: Program, by way: Way) throws -> [String: HostTensor] {
        let facts = try files.facts()
        let tokens = HostTensor(try #require(try files.golden()["in.input_ids"]))
        let (batch, count) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
        let (prefill, cache) = (try facts["prefill"].int(), try facts["kv_len"].int())
        var results: [String: HostTensor] = [:]
        var full = try DecoderRun(program, batch: batch, blocks: [count], cache: count, by: way)
        results["logits_full"] = try full.logits(tokens.columns(0..<count), at: 0)
        // Some frequencies follow from the length so far: then only the full forward can be compared.
        guard prefill > 0 else { return results }

        var run = try DecoderRun(program, batch: batch, blocks: [prefill, 1], cache: cache, by: way)
        results["prefill_logits"] = try run.logits(tokens.columns(0..<prefill), at: 0)
        for (name, tensor) in run.states { results["kv_prefill.\(name)"] = tensor }
        for place in prefill..<count {
            results["step\(place - prefill)_logits"] = try run.logits(tokens.columns(place..<place + 1), at: place)
        }
        for (name, tensor) in run.states { results["kv_final.\(name)"] = tensor }
        return results
    }

    func deviations(of program: Program, by way: Way) throws -> [ParityCase.Deviation] {
        try deviations(of: try outputs(of: program, by: way))
    }

    /// How far outputs are from the golden ones.
    func deviations(of outputs: [String: HostTensor]) throws -> [ParityCase.Deviation] {
        let (golden, noise) = (try files.golden(), try files.facts()["fp32_noise"])
        return try outputs.sorted { $0.key < $1.key }.map { name, tensor in
            guard let reference = golden["ref64.\(name)"], reference.shape == tensor.shape else {
                return ParityCase.Deviation(output: name, inNoise: .infinity)
            }
            let differences = zip(tensor.floats, reference.doubles()).map { abs(Double($0) - $1) }
            let largest = differences.allSatisfy(\.isFinite) ? differences.max() ?? 0 : .infinity
            return ParityCase.Deviation(
                output: name, inNoise: largest / (try noise[name]["max_abs_fp32_vs_64"].double()))
        }
    }
}

/// A decoder frozen for blocks of some lengths over one cache, fed block by block.
struct DecoderRun {
    private let functions: [Int: FrozenProgram]
    private let executors: [Int: Executor]
    private let memory: StateMemory?
    private var references: [String: HostTensor] = [:]

    init(_ program: Program, batch: Int = 1, blocks: [Int], cache: Int, by way: DecoderCase.Way) throws {
        let frozen = try Set(blocks).sorted().map { block in
            try program.freezing(ShapeBindings(["batch": batch, "tokens": block, "cache": cache]))
        }
        functions = Dictionary(uniqueKeysWithValues: zip(Set(blocks).sorted(), frozen))
        guard way == .executor else {
            (executors, memory) = ([:], nil)
            return
        }
        let planned = try CompressedProgram(functions: frozen, weights: []).planned()
        let memory = try StateMemory(planned)
        self.memory = memory
        executors = Dictionary(
            uniqueKeysWithValues: try Set(blocks).sorted().enumerated().map { index, block in
                (block, try Executor(planned, function: index, states: memory))
            })
    }

    /// - Parameter tokens: I64[batch, block]
    mutating func logits(_ tokens: HostTensor, at place: Int) throws -> HostTensor {
        let block = tokens.shape.dimensions[1]
        let inputs = ["input_ids": tokens, "position": HostTensor([Int64(place)], [1])]
        if let executor = executors[block] {
            let stored = inputs.reduce(into: [:]) { $0[$1.key] = $1.value.stored(name: $1.key) }
            return HostTensor(try #require(try executor.run(stored).first))
        }
        let function = try #require(functions[block])
        return try #require(try function.evaluate(inputs, states: &references).first).tensor
    }

    var states: [String: HostTensor] {
        guard let memory else { return references }
        return Dictionary(uniqueKeysWithValues: memory.copy().map { ($0.name, HostTensor($0)) })
    }
}

extension HostTensor {
    /// Some columns of a matrix of integers.
    func columns(_ range: Range<Int>) -> HostTensor {
        let (rows, width) = (shape.dimensions[0], shape.dimensions[1])
        let kept = (0..<rows).flatMap { row in integers[row * width + range.lowerBound..<row * width + range.upperBound]
        }
        return HostTensor(kept, [rows, range.count])
    }
}
