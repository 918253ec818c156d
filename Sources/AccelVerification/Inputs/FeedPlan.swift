import Accel
import AccelCPURuntime
import AccelPrograms

/// The calls of functions on the inputs of a comparison: sequences of blocks of a decoder's tokens over shared states, and runs of single
/// functions. Functions that have neither run on random inputs: see `DrawnInputs`.
struct FeedPlan {
    /// A run of a single function, from states of its own.
    struct Run {
        let function: Int
        var feed: FunctionFeed
        /// The golden that the inputs are from, reduced to one sample; nil for other inputs.
        var golden: Golden?
        /// The original encoder made some of the feed.
        var isMade = false
    }
    let program: ModelPlan
    /// The file that the inputs are from; nil for others.
    private(set) var file: InputMatcher?
    private(set) var sequences: [SampleDecoding.Sequence] = []
    /// The runs, those of a function in the order of the samples. Functions of sequences have runs too, unless the sequences are a golden's.
    var runs: [Run] = []

    /// - Parameters:
    ///   - decodesSamples: decoders take the samples of a file in blocks.
    ///   - requiresRuns: a golden whose inputs no function takes is an error.
    /// - Throws: `RequestError` (unavailable) if no function takes the inputs; `RequestError` for more tokens than a cache has positions, and
    ///   for tokens of another model.
    init(
        _ program: ModelPlan, on source: InputSource, decodesSamples: Bool = true, requiresRuns: Bool = true
    ) throws {
        self.program = program
        switch source {
        case .seeded: break
        case .file(let file):
            let matcher = try InputMatcher(file, for: program.functions.map(\.interface))
            self.file = matcher
            runs = try matcher.functions(of: program).map { Run(function: $0.function, feed: $0.feed) }
            if decodesSamples, let samples = matcher.samples {
                sequences = try SampleDecoding(program, samples)?.sequences ?? []
            }
        case .golden(let golden) where golden.isDecoding && program.functions.contains { !$0.states.isEmpty }:
            sequences = try GoldenDecoding(program, golden: golden).sequences
            let decoded = decoded
            runs = ((try? runs(on: golden)) ?? []).filter { !decoded.contains($0.function) }
        case .golden(let golden):
            runs = try golden.samples.flatMap { sample in
                requiresRuns ? try runs(on: sample) : (try? runs(on: sample)) ?? []
            }
        }
    }

    /// The runs of all functions that take the inputs of a golden, without decoders that would run on zeros.
    private func runs(on golden: Golden) throws -> [Run] {
        try InputMatcher(golden: golden).functions(of: program)
            .filter { program.functions[$0.function].missingState(in: golden) == nil }
            .map { Run(function: $0.function, feed: $0.feed, golden: golden) }
    }

    /// The functions of the sequences.
    var decoded: Set<Int> { Set(sequences.flatMap(\.blocks).map(\.step.function)) }

    /// The runs of functions that are in no sequence.
    var single: [Run] {
        let decoded = decoded
        return runs.filter { !decoded.contains($0.function) }
    }

    /// For each function that is in no sequence, and that some samples of a file are too long for, the samples that it takes of all.
    var leftOut: [(function: String, taken: Int, samples: Int)] {
        Dictionary(grouping: single, by: \.function).sorted { $0.key < $1.key }.compactMap { index, runs in
            let taken = runs.compactMap(\.feed.rows?.own).reduce(0, +)
            guard let samples = runs.first?.feed.samples, taken < samples else { return nil }
            return (program.functions[index].name, taken, samples)
        }
    }
}

/// The outputs of a golden that no run reaches: else they would pass unseen.
extension FeedPlan {
    /// Returns the outputs of each sample of a golden that only functions have which do not take its inputs.
    /// - Parameter compared: the names of the outputs that are compared, with the suffixes of their samples.
    func unreached(in golden: Golden, besides compared: Set<String>) -> [NotCompared] {
        golden.samples.flatMap { sample in
            sample.outputs.keys.sorted().compactMap { name -> NotCompared? in
                guard !compared.contains(name + sample.suffix), let reason = reasonAgainst(name, in: sample),
                    let function = function(giving: name)
                else { return nil }
                return NotCompared(
                    stage: .outputs, name: "\(function.name) out.\(name)\(sample.suffix)", reason: reason,
                    isRequired: true)
            }
        }
    }

    private func function(giving name: String) -> FunctionPlan? {
        program.functions.first { $0.results.contains { $0.name == name } }
    }

    /// Returns why no function computes an output from a golden's inputs; nil if none has the output.
    func reasonAgainst(_ name: String, in golden: Golden) -> String? {
        let functions = program.functions.filter { $0.results.contains { $0.name == name } }
        guard let first = functions.first else { return nil }
        let longer = functions.compactMap { $0.longerTokens(in: golden) }
        if longer.count == functions.count { return longer[0] }
        if let state = first.missingState(in: golden) {
            return
                "its function reads the state \"\(state)\" of an encoder, which the golden does not give: add in.\(state) and the "
                + "others, or compare with the model on inputs alone"
        }
        return Golden.lacksInputs(first.unfitting(in: golden))
    }
}

extension FunctionPlan {
    /// Returns a state that another function makes of an encoder's outputs, and that a golden does not give: without it the function
    /// would run on zeros.
    fileprivate func missingState(in golden: Golden) -> String? {
        states(.crossAttention).map(\.name).first { name in
            golden.inputs[name] == nil && !outputs.contains { $0.name == name }
        }
    }
}
