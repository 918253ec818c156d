import AccelByteIO
public import AccelCalibration
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The schemes that a target chose, those that rules of the recipe fixed, and the measurements.
struct TargetChoice {
    /// The mark of the document.
    static let mark = "compression plan"
    let target: String
    /// The chosen scheme of each weight, sorted by name.
    let chosen: [(name: String, scheme: String)]
    let pinned: [(name: String, scheme: String)]
    /// The losses that the chosen schemes cause, the largest first.
    let losses: [WeightLoss]
    /// The measured schemes of each weight, as the document has them.
    private let sensitivities: JSON
    /// The predicted and the measured choices.
    let points: [ParetoPoint]
    /// Bytes of the weights that the target chose for.
    private let chosenBytes: Int
    /// Bytes of all stored weights, the pinned ones included.
    let weightBytes: Int
    /// The most bytes that the target allows for all stored weights; nil if it is no size.
    let byteLimit: Int?
    /// The bits per weight of the chosen ones.
    let bits: Double
    /// The outputs over the samples.
    let outputs: SampledOutputs
    let isUniform: Bool

    /// - Parameters:
    ///   - givenBytes: the bytes of the weights that the target does not choose for.
    ///   - limit: as `byteLimit`.
    init(target: String, _ choice: CompressionChoice, rules: [PlannedWeight], givenBytes: Int, limit: Int?) {
        self.target = target
        let plan = choice.plan
        chosen = plan.codecs.sorted { $0.key < $1.key }.map { ($0.key, $0.value.specification) }
        pinned = rules.map { ($0.source.name, $0.choice.codec.specification) }
        (losses, points) = (choice.losses, choice.front)
        sensitivities = .array(
            choice.candidates.map { weight, losses in
                let schemes = losses.map { loss -> JSON in
                    [
                        "compress": .string(loss.scheme), "bytes": .integer(Int64(loss.bytes)),
                        "sqnr": .sqnr(loss.sqnr),
                    ]
                }
                return ["name": .string(weight), "schemes": .array(schemes)]
            })
        (chosenBytes, weightBytes, byteLimit) = (plan.bytes, givenBytes + plan.bytes, limit)
        (bits, outputs, isUniform) = (plan.bits, plan.outputs, plan.isUniform)
    }

    /// Reads the document that has `members`.
    /// - Throws: `FormatError` for anything else.
    init(_ document: JSONField) throws {
        guard try document["accelc"].string() == Self.mark else { throw document.error("is not a compression plan") }
        target = try document["target"].string()
        let weights = try document["weights"].array().map { field in
            (
                name: try field["name"].string(), scheme: try field["compress"].string(),
                isPinned: try field["pinned"].bool()
            )
        }
        chosen = weights.filter { !$0.isPinned }.map { ($0.name, $0.scheme) }
        pinned = weights.filter(\.isPinned).map { ($0.name, $0.scheme) }
        losses = try document["ranking"].array().map { try WeightLoss($0) }
        sensitivities = .array(try document["sensitivities"].array().compactMap(\.value))
        points = try document["points"].array().map {
            ParetoPoint(
                bytes: try $0["bytes"].int(), bits: try $0["bits_per_weight"].double(),
                sqnr: try $0["sqnr"].sqnr(), isMeasured: try $0["measured"].bool(),
                heldOut: $0["held_out"].exists ? try $0["held_out"].sqnr() : nil)
        }
        chosenBytes = try document["bytes"].int()
        weightBytes = try document["weight_bytes"].int()
        byteLimit = document["limit_bytes"].value == .null ? nil : try document["limit_bytes"].int()
        bits = try document["bits_per_weight"].double()
        outputs = try SampledOutputs(document)
        isUniform = try document["uniform"].bool()
    }

    /// The best of the measured choices that take more of what a size allows, where at least a hundredth of it is left; nil if there are
    /// none.
    var largerChoice: (weightBytes: Int, sqnr: Double)? {
        guard let byteLimit, byteLimit - weightBytes >= byteLimit / 100 else { return nil }
        let others = weightBytes - chosenBytes
        return points.filter { $0.isMeasured && $0.bytes > chosenBytes && $0.bytes + others <= byteLimit }
            .map { (weightBytes: $0.bytes + others, sqnr: $0.heldOut ?? $0.sqnr) }
            .max { ($0.sqnr, $0.weightBytes) < ($1.sqnr, $1.weightBytes) }
    }

    /// The members of front.json.
    var members: [JSON.Member] {
        let points: [JSON] = points.map {
            .object(
                [
                    .init("bytes", .integer(Int64($0.bytes))), .init("bits_per_weight", .number($0.bits)),
                    .init("sqnr", .sqnr($0.sqnr)), .init("measured", .bool($0.isMeasured)),
                ] + ($0.heldOut.map { [.init("held_out", .sqnr($0))] } ?? []))
        }
        return [
            .init("accelc", .string(Self.mark)), .init("target", .string(target)),
            .init("bytes", .integer(Int64(chosenBytes))), .init("bits_per_weight", .number(bits)),
            .init("weight_bytes", .integer(Int64(weightBytes))),
            .init("limit_bytes", byteLimit.map { .integer(Int64($0)) } ?? .null),
        ] + outputs.members + [
            .init("uniform", .bool(isUniform)), .init("points", .array(points)), .init("weights", weights),
            .init("ranking", .array(losses.map { $0.json(figure: JSON.sqnr) })),
            .init("sensitivities", sensitivities),
        ]
    }

    /// The size and the SQNR of outputs that the whole compression plan reaches, in sentences.
    var facts: [String] {
        func decibels(_ value: Double) -> String {
            value.isFinite ? "\(NumberText.fixed(value, digits: 2)) dB" : "exact"
        }
        let limit = byteLimit.map { " of \(Wording.grouped($0)) allowed" } ?? ""
        let held =
            outputs.heldOut.map {
                "; over \(Wording.count(outputs.heldOutCount, "sample")), every \(CalibrationSamples.heldOutShare)th, to which no weight "
                    + "is fitted: \(decibels($0)). The schemes were chosen by these, so that other inputs get a little less, and the less "
                    + "the fewer they are"
            } ?? ", to which the weights are fitted: other inputs get less"
        let each = outputs.outputs.map { "\($0.name) \(decibels($0.sqnr))" }.joined(separator: ", ")
        return [
            "Stored weights: \(Wording.grouped(weightBytes)) bytes\(limit).",
            "Outputs over the samples: \(decibels(outputs.sqnr))\(held).", "Each output over the samples: \(each).",
        ]
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

    private var weights: JSON {
        func weight(_ weight: (name: String, scheme: String), isPinned: Bool) -> JSON {
            ["name": .string(weight.name), "compress": .string(weight.scheme), "pinned": .bool(isPinned)]
        }
        return .array(chosen.map { weight($0, isPinned: false) } + pinned.map { weight($0, isPinned: true) })
    }
}

/// The result of a target: the figures that its compression plan reaches, and the folder of the plan.
public struct TargetResult: Sendable {
    /// The target, e.g. `size 12MB`.
    public let target: String
    /// Bytes of all stored weights.
    public let weightBytes: Int
    /// The most bytes that the target allows for all stored weights; nil if it is no size.
    public let byteLimit: Int?
    /// The best of the measured choices that take more of the bytes that the target allows, and the SQNR in dB that choices are compared
    /// by; nil if hardly any are left, or none was measured.
    public let largerChoice: (weightBytes: Int, sqnr: Double)?
    /// The mean bits per weight, over the weights that the target chose schemes for.
    public let bitsPerWeight: Double
    /// The outputs over the samples, with all weights compressed.
    public let outputs: SampledOutputs
    /// The SQNR in dB of the outputs.
    public var outputSQNR: Double { outputs.sqnr }
    /// All weights that the target chose for have one scheme, but for bytes that were left.
    public let isUniform: Bool
    /// The weights in the order of the losses that their schemes cause in the outputs.
    public let losses: [WeightLoss]
    /// The folder of the compression plan; nil if none was written.
    public let plan: String?
    /// Bytes of all files of the compression plan.
    public let planBytes: Int
    /// Bytes of the plan's activation statistics.
    public let statisticsBytes: Int

    init(_ choice: TargetChoice, in folder: PlanFolder?) {
        (target, weightBytes, byteLimit) = (choice.target, choice.weightBytes, choice.byteLimit)
        (bitsPerWeight, outputs, isUniform) = (choice.bits, choice.outputs, choice.isUniform)
        (losses, largerChoice) = (choice.losses, choice.largerChoice)
        plan = folder?.path
        (planBytes, statisticsBytes) = (folder?.byteCount ?? 0, folder?.statisticsBytes ?? 0)
    }
}
