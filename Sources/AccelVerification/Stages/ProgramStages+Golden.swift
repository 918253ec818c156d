import AccelCPURuntime
import AccelPrograms

/// The functions beside the blocks of a golden, such as an encoder.
extension ProgramStages {
    /// Returns the runs of functions beside the blocks of a golden that give outputs which no block gives.
    /// - Returns: the runs, with the golden under the outputs' own names, and the outputs that are left.
    func rest(
        of golden: Golden, _ feeds: FeedPlan, after result: DecodingStage.Result
    ) -> (runs: [FeedPlan.Run], left: [NotCompared]) {
        var (golden, missing) = (golden, Set(result.missing))
        let encoder = program.functions.first { $0.interface.role == .encode }
        let hidden = encoder?.outputs.first { encoder?.interface.outputs[$0.name]?.kind == .hiddenStates }?.name
        if let hidden, missing.remove(GoldenDecoding.encoderHidden) != nil {
            golden = golden.renaming(GoldenDecoding.encoderHidden, to: hidden)
            missing.insert(hidden)
        }
        let runs = feeds.runs.filter { run in
            !missing.isDisjoint(with: program.functions[run.function].results.map(\.name))
        }
        for run in runs { missing.subtract(program.functions[run.function].results.map(\.name)) }
        let left = missing.sorted().map { name in
            let reason = feeds.reasonAgainst(name, in: golden)
            return NotCompared(
                stage: .outputs, name: "out.\(name)", reason: reason ?? "no block of the package gives it",
                isRequired: reason != nil && options.stages.contains(.outputs))
        }
        return (runs.map { .init(function: $0.function, feed: $0.feed, golden: golden) }, left)
    }
}
