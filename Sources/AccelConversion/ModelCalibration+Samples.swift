import AccelByteIO
import AccelCalibration
import AccelPrograms
import AccelWeightCompression

extension ModelCalibration {
    /// A sentence on samples without a mask, if padding could be among them.
    var notes: [String] {
        let open = samples.filter { samples in
            !samples.hasMask && (samples.part.input(.attentionMask) ?? samples.part.input(.tokens)) != nil
        }
        // What is made of a text has its mask, or no padding.
        guard let first = open.first, let file, !TextSamples.recognises(file) else { return [] }
        let own = first.part.input(.attentionMask)?.name
        let number = first.positions.map { "\(Wording.grouped($0)) " } ?? ""
        let tokens = own == nil ? first.part.input(.tokens).map { " over \"\($0.name)\"" } ?? "" : ""
        return [
            "\(file) has no \"\(own ?? CalibrationSamples.maskName)\"\(tokens): all \(number)positions count, those of padding too"
        ]
    }

    /// Sentences on samples that are too few for the methods that use them.
    /// - Parameters:
    ///   - plan: every weight with its scheme.
    ///   - target: a target chooses the schemes, and stores by gptq.
    func warnings(_ plan: [PlannedWeight], target: Bool) -> [String] {
        guard let file else { return [] }
        let all = samples.flatMap { samples -> [String] in
            let multiplied = samples.part.multipliedWeights
            let weights = plan.filter { multiplied.contains($0.source.name) }
            func uses(_ method: CalibrationMethod) -> Bool {
                weights.contains { $0.choice.codec.method == method }
            }
            let methods = CalibrationMethod.allCases.filter { $0 == .gptq && target || $0 != .nearest && uses($0) }
            guard !methods.isEmpty else { return [] }
            let names = methods.map { "method=\($0.rawValue)" }.joined(separator: " and ")
            let columns =
                weights.filter { target || $0.choice.codec.method == .gptq }
                .map(\.source.shape.columns).max() ?? 0
            if methods.contains(.gptq), let positions = samples.positions, positions < columns {
                return [
                    "\(file) has \(Wording.count(positions, "position")) that count, and weights of \(samples.part.name) "
                        + "have up to \(Wording.grouped(columns)) columns: fewer positions than columns are too few for "
                        + "method=gptq, and the dB over them are more than other inputs get; give more or longer samples, of the kind that the model will see"
                ]
            }
            let share = CalibrationSamples.heldOutShare
            guard samples.isDivided, samples.count < share, methods != [.weighted] else { return [] }
            return [
                "\(file) has \(Wording.count(samples.count, "sample")): \(names) wants "
                    + "\(share) or more, so that a whole one can be held out to judge by"
            ]
        }
        return all.distinct
    }

    /// Returns the outputs over the samples with a package's weights.
    func outputs(with tensors: [CompressedTensor]) throws -> SampledOutputs {
        let weights = samples.flatMap(\.part.constants).filter(\.isWeight).map { ($0.name, $0.shape) }
        let shapes = Dictionary(weights) { first, _ in first }
        return try samples.outputs(
            with: tensors.filter { shapes[$0.name] == $0.shape }, after: finishedRuns, threads: threads)
    }
}
