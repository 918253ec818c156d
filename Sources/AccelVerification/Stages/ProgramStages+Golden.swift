import AccelCPURuntime
import AccelPrograms

/// The outputs of a golden that no comparison reaches: else they would pass unseen.
extension ProgramStages {
    /// Returns the outputs of each sample of a golden that only functions have which do not take its inputs.
    /// - Parameter runs: the functions that run on the golden, with its samples.
    func unreached(in golden: Golden, running runs: [(function: Int, golden: Golden?)]) -> [NotCompared] {
        golden.samples.flatMap { sample in
            let own = runs.filter { $0.golden?.suffix == sample.suffix }
            let compared = Set(own.flatMap { program.functions[$0.function].results.map(\.name) })
            return sample.outputs.keys.sorted().filter { !compared.contains($0) }.compactMap { name -> NotCompared? in
                guard let reason = reasonAgainst(name, in: sample), let function = function(giving: name) else {
                    return nil
                }
                return NotCompared(
                    stage: .outputs, name: "\(function.name) out.\(name)\(sample.suffix)", reason: reason,
                    isRequired: true)
            }
        }
    }

    /// Returns the runs of functions beside the blocks of a golden, such as an encoder, that give outputs which no block gives.
    /// - Returns: the golden with the outputs' own names, the runs, and the outputs that are left.
    func rest(
        of golden: Golden, after result: DecodingStage.Result
    ) -> (golden: Golden, runs: [(function: Int, feed: FunctionFeed)], left: [NotCompared]) {
        var (golden, missing) = (golden, Set(result.missing))
        let encoder = program.functions.first { $0.interface.role == .encode }
        let hidden = encoder?.outputs.first { encoder?.interface.outputs[$0.name]?.kind == .hiddenStates }?.name
        if let hidden, missing.remove(GoldenDecoding.encoderHidden) != nil {
            golden = golden.renaming(GoldenDecoding.encoderHidden, to: hidden)
            missing.insert(hidden)
        }
        let runs = ((try? InputMatcher(golden: golden).functions(of: program)) ?? []).filter { run in
            !result.functions.contains(run.function)
                && !missing.isDisjoint(with: program.functions[run.function].results.map(\.name))
        }
        for (index, _) in runs { missing.subtract(program.functions[index].results.map(\.name)) }
        let left = missing.sorted().map { name in
            let reason = reasonAgainst(name, in: golden)
            return NotCompared(
                stage: .outputs, name: "out.\(name)", reason: reason ?? "no block of the package gives it",
                isRequired: reason != nil && options.stages.contains(.outputs))
        }
        return (golden, runs, left)
    }

    private func function(giving name: String) -> FunctionPlan? {
        program.functions.first { $0.results.contains { $0.name == name } }
    }

    /// Returns why no function computes an output from a golden's inputs; nil if none has the output.
    private func reasonAgainst(_ name: String, in golden: Golden) -> String? {
        let functions = program.functions.filter { $0.results.contains { $0.name == name } }
        guard let first = functions.first else { return nil }
        let longer = functions.compactMap { $0.longerTokens(in: golden) }
        if longer.count == functions.count { return longer[0] }
        if let state = missingState(of: first, in: golden) {
            return
                "its function reads the state \"\(state)\" of an encoder, which the golden does not give: add in.\(state) and the "
                + "others, or compare with the model on inputs alone"
        }
        return Golden.lacksInputs(first.unfitting(in: golden))
    }

    /// Returns a state that another function makes of an encoder's outputs, and that a golden does not give: without it the function
    /// would run on zeros.
    func missingState(of function: FunctionPlan, in golden: Golden) -> String? {
        function.states(.crossAttention).map(\.name).first { name in
            golden.inputs[name] == nil && !function.outputs.contains { $0.name == name }
        }
    }
}
