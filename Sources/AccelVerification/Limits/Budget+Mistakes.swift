import AccelByteIO
import AccelWeightCompression

/// An entry of a budget that applies to no comparison.
public struct BudgetMistake: Equatable, Sendable {
    let stage: Stage
    /// The file and the field, e.g. `budget.json, field outputs[0].match`.
    let location: String
    /// The mistake, and a suggestion.
    let reason: String
}

extension Budget {
    /// A list of the budget, and what its entries could apply to.
    private struct List {
        let field: String
        let stage: Stage
        /// The kind of item, in the singular.
        let thing: String
        let patterns: [Pattern]
        /// The names of all comparisons, and whether a budget may set the limit (integers and tables are compared exactly).
        let names: [(name: String, isOpen: Bool)]
        /// The items that were not compared, with the reason.
        let missing: [(name: String, reason: String)]
        /// Returns whether an entry applies to a comparison.
        let isUsed: (Int) -> Bool

        /// Returns why an entry applies to no comparison.
        func reason(_ index: Int) -> String {
            let (pattern, rule) = (patterns[index], "\"\(patterns[index].text)\"")
            let fitting = names.first { pattern.matches(inAnyForm: $0.name) }
            if let name = names.first(where: { $0.isOpen && pattern.matches(inAnyForm: $0.name) })?.name,
                let earlier = patterns[..<index].firstIndex(where: { $0.matches(inAnyForm: name) })
            {
                return
                    "\(rule) is never reached: \(field)[\(earlier)] comes first for \"\(name)\" and all else that it fits"
            }
            if let fitting { return "\(rule) fits \"\(fitting.name)\", which is compared exactly: leave the rule out" }
            if let found = missing.first(where: { pattern.matches(inAnyForm: $0.name) }) {
                return "\(rule) fits \"\(found.name)\", which was not compared: \(found.reason)"
            }
            if names.isEmpty {
                return "no \(thing) was compared that it could fit" + (missing.first.map { ": \($0.reason)" } ?? "")
            }
            let all = names.map(\.name) + missing.map(\.name)
            let hint = pattern.glob.nearest(among: all).map { "did you mean \"\($0)\"?" }
            let known = Wording.listed(Set(all).sorted().map { "\"\($0)\"" }, most: 5)
            return "\(rule) fits no \(thing); \(hint ?? "there is \(known)")"
        }
    }

    /// Returns the entries that apply to no comparison of `report`: a limit that applies to nothing always passes.
    /// - Parameters:
    ///   - stages: the requested stages.
    ///   - measured: the resources that are measured where the subject has them.
    func mistakes(
        in report: ParityReport, asked stages: Set<Stage>, measured: Set<Resource>
    ) -> [BudgetMistake] {
        // A report contains no folders.
        let file = Files.name(of: file)
        let idle = lists(report).filter { stages.contains($0.stage) }.flatMap { list in
            list.patterns.indices.filter { !list.isUsed($0) }.map { index in
                BudgetMistake(
                    stage: list.stage, location: "\(file), field \(list.field)[\(index)].match",
                    reason: list.reason(index))
            }
        }
        return resources.filter { limit in
            measured.contains(limit.resource)
                && !report.sizes.contains { $0.origin == SizeFinding.budget && $0.what == limit.resource.rawValue }
        }.map { BudgetMistake(stage: .weights, location: "\(file), field \($0.field)", reason: $0.resource.missing) }
            + allowances(in: report, file, stages) + idle
    }

    private func lists(_ report: ParityReport) -> [List] {
        func missing(_ stage: Stage) -> [(name: String, reason: String)] {
            report.notCompared.filter { $0.stage == stage }.map { ($0.name, $0.reason) }
        }
        let rows = report.outputs.filter { $0.stage == .outputs && $0.reference != .modelAgainstGolden }
        let patterns = operators.map(\.match)
        let calls = report.operators.map { (name: $0.label, isOpen: true) }
        let propagated = report.operators.filter { $0.propagated != nil }.map { (name: $0.label, isOpen: true) }
        func isFirst(_ index: Int, in names: [(name: String, isOpen: Bool)]) -> Bool {
            names.contains { name in patterns.firstIndex { $0.matches(name.name) } == index }
        }
        return [
            List(
                field: "outputs", stage: .outputs, thing: "output", patterns: outputs.map(\.match),
                names: rows.map { ($0.name, !$0.tolerance.isExact) }, missing: missing(.outputs)
            ) { index in rows.contains { $0.tolerance.origin == outputs[index].tolerance.origin } },
            List(
                field: "weights", stage: .weights, thing: "weight", patterns: weights.map(\.match),
                names: report.weights.map { ($0.name, !$0.isTable) }, missing: missing(.weights)
            ) { index in report.weights.contains { $0.tolerance.origin == weights[index].tolerance.origin } },
            List(
                field: "operators", stage: .operators, thing: "call", patterns: patterns, names: calls,
                missing: missing(.operators)
            ) { operators[$0].injected == nil || isFirst($0, in: calls) },
            List(
                field: "operators", stage: .operators, thing: "call of the model", patterns: patterns,
                names: propagated,
                missing: calls.map { ($0.name, "the model has no node of this name") } + missing(.operators)
            ) { index in
                operators[index].propagated == nil || isFirst(index, in: propagated)
                    // The list of calls has reported the entry already.
                    || operators[index].injected != nil && !isFirst(index, in: calls)
            },
        ]
    }

    /// Returns the names of the lists with limits of stages that were not asked for, or of resources that were not measured.
    func unchecked(by stages: Set<Stage>, measured: Set<Resource>) -> [String] {
        let lists = [
            ("outputs", outputs.isEmpty, Stage.outputs), ("weights", weights.isEmpty, .weights),
            ("operators", operators.isEmpty, .operators),
        ].filter { !$0.1 && !stages.contains($0.2) }.map(\.0)
        return (lists + resources.filter { !measured.contains($0.resource) }.map(\.group)).distinct
    }

    /// Returns the entries of `allow` that are not needed.
    private func allowances(in report: ParityReport, _ file: String, _ stages: Set<Stage>) -> [BudgetMistake] {
        func unused(
            _ list: String, _ patterns: [Pattern], _ stage: Stage, _ names: [String],
            _ fits: (Pattern, String) -> Bool = { $0.names($1) }
        ) -> [BudgetMistake] {
            patterns.enumerated().filter { pattern in !names.contains { fits(pattern.element, $0) } }.map {
                index, pattern in
                BudgetMistake(
                    stage: stage, location: "\(file), field allow.\(list)[\(index)]",
                    reason: "nothing called \"\(pattern.text)\" has to be allowed: leave it out")
            }
        }
        let differences =
            stages.contains(.structure)
            ? unused("structure", allowedDifferences, .structure, report.structure?.allowed.map(\.name) ?? []) : []
        let gaps = report.notCompared.filter(\.isAllowed).map(\.name)
        return differences + unused("notCompared", allowedGaps, stages.max() ?? .outputs, gaps) { $0.namesGap($1) }
    }
}

extension Budget.Pattern {
    /// Returns whether the pattern matches any form of a name: reports call an output of the second sample `NAME.1`,
    /// and one that was not compared `FUNCTION NAME`.
    fileprivate func matches(inAnyForm name: String) -> Bool {
        let bare = name.split(separator: " ").last.map(String.init) ?? name
        return [name, bare].contains { form in
            let parts = form.split(separator: ".", omittingEmptySubsequences: false)
            let isSample = parts.count > 1 && parts.last.flatMap { Int($0) } != nil
            return matches(form) || isSample && matches(parts.dropLast().joined(separator: "."))
        }
    }
}

extension Tolerance {
    /// The comparison is exact, so that a budget cannot loosen it.
    fileprivate var isExact: Bool { maximumError == 0 && sqnr == nil && relativeL2 == nil && cosine == nil }
}
