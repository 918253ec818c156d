import Accel
import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// S2 to S4 of a decoder on sequences of blocks, those of a golden or of samples: by the package, and by the reference implementation with
/// the stored and with the original weights. What functions make for others is handed on in each of them, as `run` does it.
struct DecodingStage {
    struct Result {
        var operators: [OperatorFinding] = []
        var outputs: [OutputFinding] = []
        var notCompared: [NotCompared] = []
        /// The golden's outputs that no block gives.
        var missing: [String] = []
        /// The functions of the blocks.
        var functions: Set<Int> = []
        /// The functions whose operators were not compared, because their inputs are outputs of another function.
        var fed: Set<Int> = []
        /// The number of runs of the package.
        var runs = 0

        /// Adds the comparison of an output. Those of samples are joined as they come: as if they were one tensor.
        mutating func add(_ finding: OutputFinding, isSample: Bool) {
            let index = isSample ? outputs.firstIndex { $0.isSame(as: finding) } : nil
            if let index { outputs[index] = outputs[index].joining(finding) } else { outputs.append(finding) }
        }
    }
    let sides: PackageSides
    let sequences: [SampleDecoding.Sequence]
    /// Where the sequences are from; nil for samples.
    let golden: Golden?
    let options: Parity.Options

    func run() throws -> Result {
        var result = Result()
        result.functions = Set(sequences.flatMap(\.blocks).map(\.step.function))
        result.runs = sequences.reduce(0) { $0 + $1.blocks.count }
        // Those of samples are compared on their first blocks, with states that an encoder has made.
        if golden != nil, options.stages.contains(.operators) { try compareOperators(&result) }
        guard !options.stages.isDisjoint(with: [.graph, .outputs]) else { return result }
        var compared: Set<String> = []
        let functions = sides.program.functions.indices.map(function)
        for sequence in sequences {
            let findings = try findings(sequence, functions)
            result.notCompared += findings.notCompared
            for row in findings.outputs {
                compared.insert(row.name)
                result.add(row, isSample: golden == nil)
            }
        }
        result.missing = (golden?.outputs.keys.sorted() ?? []).filter { !compared.contains($0) }
        return result
    }

    /// Compares the operators of each function once, on its first block.
    private func compareOperators(_ result: inout Result) throws {
        var seen: Set<Int> = []
        for block in sequences.flatMap(\.blocks) where seen.insert(block.step.function).inserted {
            let call = FeedCall(block)
            let feed = FunctionFeed(inputs: call.inputs, states: call.states)
            let run = sides.run(block.step.function, feed, golden: golden)
            guard run.frozen != nil else {
                result.notCompared.append(
                    .init(stage: .operators, name: run.function.name, reason: "there is no model to compare with"))
                continue
            }
            guard block.step.carried.isEmpty else {
                result.fed.insert(block.step.function)
                continue
            }
            result.operators += try RunComparison(
                run: run, stages: [.operators], budget: options.budget, seed: options.inputs.samplingSeed
            ).result().operators
        }
    }

    /// A function with its sides, and the shapes of its results that noise is measured in.
    private func function(_ index: Int) -> (compared: ComparedFunction, shapes: [Shape]) {
        let run = sides.run(index, golden: golden)
        let graph = run.ofGraph.frozen
        let model = run.frozen?.program
        let compared = ComparedFunction(
            name: run.function.name,
            // The model's outputs, whether the package has them or not.
            outputs: model?.outputs.map(\.name) ?? run.function.outputs.map(\.name),
            states: model?.states.filter { $0.next != $0.value }.map(\.name) ?? run.function.changedStates.map(\.name),
            role: { run.interface.outputs[$0] },
            original: graph.map { ModelSide(run.original ?? $0, FunctionRun.originalOperand) },
            stored: graph.map { ModelSide($0, run.storedOperand) },
            isLossless: run.lossyWeights.isEmpty && !run.roundsStates,
            rounded: run.unrounded == nil ? nil : run.frozen.map { ModelSide($0, run.storedOperand) },
            graphLimit: run.rounding, limit: { run.tolerance($0, against: $1, strict: $2, at: $3) })
        return (compared, run.results.filter(\.elementType.isFloatingPoint).map(\.shape))
    }

    private func findings(
        _ sequence: SampleDecoding.Sequence, _ functions: [(compared: ComparedFunction, shapes: [Shape])]
    ) throws -> OutputFindings {
        let comparison = SequenceComparison(
            options: options, goldenLimit: golden.map { golden in { golden.tolerance(for: $0) ?? .unstatedNoise } },
            unexpected: { [golden] title in
                golden == nil ? "there is no model to compare with" : "the golden has no out.\(title)"
            })
        let executable = PackageExecutable(
            sequence: sequence, golden: golden, functions: functions, program: sides.program,
            own: try SessionSequence(sides.program, threads: options.threads),
            graph: try sides.floats.map { try SessionSequence($0.program, threads: options.threads) })
        return try comparison.compare(executable)
    }
}
