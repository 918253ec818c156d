import AccelByteIO
import AccelCalibration
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// What a target has chosen, and what it has left as rules say.
struct TargetChoice {
    let target: String
    /// By weight, sorted by name.
    let chosen: [(name: String, scheme: String)]
    let pinned: [(name: String, scheme: String)]

    init(target: String, plan: BudgetPlan, rules: [PlannedWeight]) {
        self.target = target
        chosen = plan.codecs.sorted { $0.key < $1.key }.map { ($0.key, $0.value.specification) }
        pinned = rules.map { ($0.source.name, $0.choice.codec.specification) }
    }

    /// The choice in a note, and each weight's in a remark.
    var events: [ConversionEvent] { [.note(summary)] + lines.map(ConversionEvent.remark) }

    /// In one sentence, by scheme.
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
