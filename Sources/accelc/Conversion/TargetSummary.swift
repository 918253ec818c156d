import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelVerification

/// The result of a target, in the summaries of conversions and exports.
struct TargetSummary {
    let result: TargetResult

    var lines: [String] {
        let size = Wording.bytes(result.weightBytes, digits: 2)
        let weights =
            result.byteLimit.map { "weights \(size) of \(Wording.bytes($0, digits: 2))" }
            ?? "weights \(size), \(Text.decimals(result.bitsPerWeight, 2)) bits for each that the target chose for"
        let reached =
            "target \(result.target): \(weights), outputs \(Text.decimals(result.outputSQNR, 2)) dB over the samples"
            + (result.outputs.heldOutText.map { ", \($0), by which the schemes were chosen" }
                ?? ", \(SampledOutputs.fitted)")
        let rest = (result.byteLimit ?? 0) - result.weightBytes
        let larger = result.largerChoice.map { choice in
            "\(Wording.bytes(rest, digits: 2)) are left: the best larger choice that was measured, of "
                + "\(Wording.bytes(choice.weightBytes, digits: 2)), has \(Text.decimals(choice.sqnr, 2)) dB"
                + (result.outputs.heldOut == nil ? "" : " over what is held out")
        }
        let lines = [reached, larger].compactMap(\.self)
        guard let plan = result.plan else { return lines }
        return lines + [
            "plan: \(plan), \(Wording.bytes(result.planBytes)) (\(Wording.bytes(result.statisticsBytes)) of statistics); "
                + "--recipe \(plan)/recipe.json makes the same without samples"
        ]
    }

    var json: JSON {
        [
            "target": .string(result.target), "weight_bytes": .int(result.weightBytes),
            "limit_bytes": .int(result.byteLimit),
            "bits_per_weight": .number(result.bitsPerWeight), "outputs_sqnr": .figure(result.outputSQNR),
            "held_out_sqnr": result.outputs.heldOut.map { .figure($0) } ?? .null,
            "held_out_samples": .int(result.outputs.heldOutCount), "outputs": result.outputs.json,
            "uniform": .bool(result.isUniform),
            "plan": result.plan.map { plan in
                [
                    "path": .string(plan), "bytes": .int(result.planBytes),
                    "statistics_bytes": .int(result.statisticsBytes),
                ]
            } ?? .null,
            "ranking": .array(result.losses.map { $0.json(figure: JSON.figure) }),
        ]
    }
}

extension SampledOutputs {
    /// The note on figures over samples if no sample is held out.
    fileprivate static let fitted = "to which the weights are fitted: verify --inputs tells of others"

    /// Returns sentences on the outputs, and on the result of the target; `target` is nil without one.
    func lines(onlyMeasuresSamples: Bool, _ target: TargetSummary?) -> [String] {
        [line].compactMap(\.self) + (target?.lines ?? [heldOutLine(onlyMeasuresSamples)])
    }

    /// The SQNR over all samples, and over those that no weight is fitted to.
    private func heldOutLine(_ onlyMeasuresSamples: Bool) -> String {
        let sqnr = "outputs \(sqnr.isFinite ? "\(Text.decimals(sqnr, 2)) dB" : "exact") over the samples"
        if onlyMeasuresSamples {
            return "\(sqnr), to which no weight is fitted, as no scheme has a method that uses them"
        }
        return "\(sqnr), \(heldOutText.map { "\($0), to which no weight is fitted" } ?? Self.fitted)"
    }

    /// The SQNR of each output, where there are several; those of layers share a line.
    private var line: String? {
        guard outputs.count > 1 else { return nil }
        let groups = FoldedNames.all(outputs, name: \.name) { _ in 0 }
        let figures = groups.map { group in
            let worst = group.elements.map(\.sqnr).min() ?? .infinity
            let figure = worst.isFinite ? "\(Text.decimals(worst, 1)) dB" : "exact"
            return "\(group.name) \(group.elements.count > 1 ? "at least " : "")\(figure)"
        }
        return "outputs over the samples: \(figures.joined(separator: ", "))"
    }

    /// The SQNR over samples that no weight is fitted to, in words; nil if there are none.
    var heldOutText: String? {
        heldOut.map { heldOut in
            let figure = heldOut.isFinite ? "\(Text.decimals(heldOut, 2)) dB" : "exact"
            return "\(figure) over the \(heldOutCount) held out (every \(CalibrationSamples.heldOutShare)th)"
        }
    }

    var json: JSON {
        .array(outputs.map { ["name": .string($0.name), "sqnr": .figure($0.sqnr)] })
    }
}
