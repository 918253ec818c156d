import AccelByteIO
import AccelCalibration
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The schemes that a target chose, and those that rules of the recipe fixed.
struct TargetChoice {
    let target: String
    /// The chosen scheme of each weight, sorted by name.
    let chosen: [(name: String, scheme: String)]
    let pinned: [(name: String, scheme: String)]

    init(target: String, plan: CompressionPlan, rules: [PlannedWeight]) {
        self.target = target
        chosen = plan.codecs.sorted { $0.key < $1.key }.map { ($0.key, $0.value.specification) }
        pinned = rules.map { ($0.source.name, $0.choice.codec.specification) }
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

    /// A line for each weight.
    var lines: [String] {
        chosen.map { "  \($0.name): \($0.scheme)" } + pinned.map { "  \($0.name): \($0.scheme) (rule)" }
    }

    var json: JSON {
        func weight(_ weight: (name: String, scheme: String), isPinned: Bool) -> JSON {
            ["name": .string(weight.name), "compress": .string(weight.scheme), "pinned": .bool(isPinned)]
        }
        return .array(chosen.map { weight($0, isPinned: false) } + pinned.map { weight($0, isPinned: true) })
    }
}
