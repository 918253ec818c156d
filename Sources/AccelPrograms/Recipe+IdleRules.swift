import AccelByteIO
import AccelTensors
public import AccelWeightCompression

extension Recipe {
    /// A part of a recipe without effect, such as a rule that chooses the codec of no weight.
    public struct IdleRule: Equatable, Sendable {
        /// The location in the recipe, such as `rules[0].match`.
        public let field: String
        /// The cause, with a suggestion if a name is misspelled.
        public let reason: String
    }

    /// Returns the parts of the recipe without effect: rules that no weight uses, and statistics that no scheme uses.
    /// - Parameter plan: the compression plan that this recipe makes for all weights.
    public func idleRules(in plan: [PlannedWeight]) -> [IdleRule] {
        let chosen = Set(plan.compactMap(\.choice.rule))
        let idle = rules.indices.filter { !chosen.contains($0) }.map { index in
            let (part, reason) = idleness(of: index, plan)
            return IdleRule(field: "rules[\(index)]\(part.map { ".\($0)" } ?? "")", reason: reason)
        }
        let vectors = rules.indices.compactMap { index -> IdleRule? in
            let own = plan.filter { $0.choice.rule == index }
            guard let first = own.first,
                own.allSatisfy({ $0.choice.reason != nil && !$0.source.shape.hasOutputChannels })
            else { return nil }
            return IdleRule(
                field: "rules[\(index)]",
                reason:
                    "the rule compresses nothing: what it matches are vectors, such as \"\(first.source.name)\", which stay as they are"
            )
        }
        let unused = idle + vectors
        guard statistics != nil, !needsCalibration else { return unused }
        return unused + [
            IdleRule(field: "statistics", reason: "no scheme of the recipe has a method that needs calibration")
        ]
    }

    private func idleness(of index: Int, _ plan: [PlannedWeight]) -> (part: String?, reason: String) {
        let rule = rules[index]
        if let name = rule.operator, Operators.byName[name] == nil {
            let hint = suggestion(for: name, among: Operators.byName.keys)
            return ("operator", "unknown operator \"\(name)\"\(hint)")
        }
        let named = plan.filter { rule.glob?.matches($0.source.name) ?? true }
        let pattern = rule.match.map { "\"\($0)\"" } ?? "the rule"
        guard !named.isEmpty else {
            let names = plan.map(\.source.name)
            return ("match", Glob.unused(rule.match ?? "*", among: names, of: "converted weight").text)
        }
        let read = named.filter { weight in rule.operator.map(weight.readers.contains) ?? true }
        guard !read.isEmpty else {
            let readers = Set(named.flatMap(\.readers)).sorted().joined(separator: ", ")
            return (
                "operator",
                "no weight that \(pattern) matches is read by \(rule.operator ?? "")"
                    + (readers.isEmpty ? "" : ", only by \(readers)")
            )
        }
        guard let first = read.first(where: { rule.fits($0.source, readBy: $0.readers) }) else {
            let largest = read.map(\.source.shape.count).max() ?? 0
            return (
                "atLeast",
                "the largest weight that \(pattern) matches has \(largest) elements, fewer than \(rule.atLeast ?? 0)"
            )
        }
        let earlier = first.choice.rule ?? 0
        return (
            nil,
            "the rule is never reached: an earlier rule, such as rules[\(earlier)] for \"\(first.source.name)\", comes first for every weight that it matches"
        )
    }
}
