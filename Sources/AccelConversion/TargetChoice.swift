import AccelByteIO
public import AccelCalibration
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The schemes that a target chose, and those that rules of the recipe fixed.
struct TargetChoice {
    let target: String
    /// The chosen scheme of each weight, sorted by name.
    let chosen: [(name: String, scheme: String)]
    let pinned: [(name: String, scheme: String)]
    /// What the chosen schemes cost, the largest loss first.
    let losses: [WeightLoss]
    private let candidates: [(weight: String, losses: [WeightLoss])]
    /// Bytes of all stored weights, the pinned ones included.
    let weightBytes: Int
    /// The most bytes that the target allows for all stored weights; nil if it is no size.
    let byteLimit: Int?
    /// The bits per weight of the chosen ones.
    let bits: Double
    /// The SQNR in dB of the outputs over the samples.
    let sqnr: Double
    let isUniform: Bool

    /// - Parameters:
    ///   - givenBytes: the bytes of the weights that the target does not choose for.
    ///   - limit: as `byteLimit`.
    init(target: String, _ choice: CompressionChoice, rules: [PlannedWeight], givenBytes: Int, limit: Int?) {
        self.target = target
        let plan = choice.plan
        chosen = plan.codecs.sorted { $0.key < $1.key }.map { ($0.key, $0.value.specification) }
        pinned = rules.map { ($0.source.name, $0.choice.codec.specification) }
        (losses, candidates) = (choice.losses, choice.candidates)
        (weightBytes, byteLimit) = (givenBytes + plan.bytes, limit)
        (bits, sqnr, isUniform) = (plan.bits, plan.sqnr, plan.isUniform)
    }

    /// The summary as a note, and one remark for each weight.
    var events: [ConversionEvent] { [.note(summary)] + lines.map(ConversionEvent.remark) }

    /// One sentence with the number of weights for each scheme.
    var summary: String {
        let counts = Dictionary(grouping: chosen, by: \.scheme).sorted {
            ($1.value.count, $0.key) < ($0.value.count, $1.key)
        }
        let schemes = counts.map { "\($0.key) for \($0.value.count)" }.joined(separator: ", ")
        let rules = pinned.isEmpty ? "" : "; \(Wording.count(pinned.count, "tensor")) as rules of the recipe say"
        return "target \(target): chose \(schemes)\(rules)"
    }

    /// A line for each weight, those that cost the outputs most first.
    var lines: [String] {
        let schemes = Dictionary(chosen.map { ($0.name, $0.scheme) }) { first, _ in first }
        return losses.map { loss in
            let alone = loss.sqnr.isFinite ? ", \(NumberText.fixed(loss.sqnr, digits: 1)) dB alone" : ""
            return "  \(loss.name): \(schemes[loss.name] ?? loss.scheme)\(alone)"
        } + pinned.map { "  \($0.name): \($0.scheme) (rule)" }
    }

    var json: JSON {
        func weight(_ weight: (name: String, scheme: String), isPinned: Bool) -> JSON {
            ["name": .string(weight.name), "compress": .string(weight.scheme), "pinned": .bool(isPinned)]
        }
        return .array(chosen.map { weight($0, isPinned: false) } + pinned.map { weight($0, isPinned: true) })
    }

    /// The chosen schemes in the order of their loss, with the rule that would help each.
    var ranking: JSON { .array(losses.map { $0.json(figure: Self.figure) }) }

    /// The measured schemes of each weight.
    var sensitivities: JSON {
        .array(
            candidates.map { weight, losses in
                [
                    "name": .string(weight),
                    "schemes": .array(
                        losses.map {
                            [
                                "compress": .string($0.scheme), "bytes": .integer(Int64($0.bytes)),
                                "sqnr": Self.figure($0.sqnr),
                            ]
                        }),
                ]
            })
    }

    /// JSON has no infinity: null stands for a weight that costs nothing.
    private static func figure(_ value: Double) -> JSON { value.isFinite ? .number(value) : .null }
}

/// The result of a target: what its compression plan reaches, and where the plan is.
public struct TargetResult: Sendable {
    /// The target, e.g. `size 12MB`.
    public let target: String
    /// Bytes of all stored weights.
    public let weightBytes: Int
    /// The most bytes that the target allows for all stored weights; nil if it is no size.
    public let byteLimit: Int?
    /// The mean bits per weight, over the weights that the target chose schemes for.
    public let bitsPerWeight: Double
    /// The SQNR in dB of the outputs over the samples, with all weights compressed.
    public let outputSQNR: Double
    /// All weights that the target chose for have one scheme, but for bytes that were left.
    public let isUniform: Bool
    /// The weights in the order of what their schemes cost the outputs.
    public let losses: [WeightLoss]
    /// The folder of the compression plan; nil if none was written.
    public let plan: String?
    /// Bytes of all files of the compression plan.
    public let planBytes: Int
    /// Bytes of the plan's activation statistics.
    public let statisticsBytes: Int

    init(_ choice: TargetChoice, in folder: PlanFolder?) {
        (target, weightBytes, byteLimit) = (choice.target, choice.weightBytes, choice.byteLimit)
        (bitsPerWeight, outputSQNR, isUniform) = (choice.bits, choice.sqnr, choice.isUniform)
        losses = choice.losses
        plan = folder?.path
        (planBytes, statisticsBytes) = (folder?.byteCount ?? 0, folder?.statisticsBytes ?? 0)
    }
}
