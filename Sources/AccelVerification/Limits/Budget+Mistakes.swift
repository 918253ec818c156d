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
    /// The names that a list of the budget could match.
    private struct Compared {
        let stage: Stage
        /// The kind of item, in the singular.
        let thing: String
        /// The names of all comparisons, and whether a budget may set the limit (integers and tables are compared
        /// exactly).
        var names: [(name: String, isOpen: Bool)] = []
        /// The items that were not compared, with the reason.
        var missing: [(name: String, reason: String)] = []
    }

    /// Returns the entries that apply to no comparison of `report`: a limit that applies to nothing always passes.
    /// - Parameters:
    ///   - stages: the requested stages.
    ///   - measured: the resources that are measured where the subject has them.
    func mistakes(
        in report: ParityReport, asked stages: Set<Stage>, measured: Set<Resource>
    ) -> [BudgetMistake] {
        // A report contains no folders.
        let name = Files.name(of: file)
        func missing(_ stages: Set<Stage>) -> [(name: String, reason: String)] {
            report.notCompared.filter { stages.contains($0.stage) }.map { ($0.name, $0.reason) }
        }
        let outputRows = report.outputs.filter { $0.stage == .outputs && $0.reference != .modelAgainstGolden }
        let outputs = Compared(
            stage: .outputs, thing: "output",
            names: outputRows.map { ($0.name, !$0.tolerance.isExact) }, missing: missing([.outputs]))
        let weights = Compared(
            stage: .weights, thing: "weight", names: report.weights.map { ($0.name, !$0.isTable) },
            missing: missing([.weights]))
        let calls = Compared(
            stage: .operators, thing: "call", names: report.operators.map { ($0.label, true) },
            missing: missing([.operators]))
        let throughout = Compared(
            stage: .operators, thing: "call of the model",
            names: report.operators.filter { $0.propagated != nil }.map { ($0.label, true) },
            missing: calls.names.map { ($0.name, "the model has no node of this name") } + calls.missing)

        let patterns = operators.map(\.match)
        func mistakes(
            _ list: String, _ patterns: [Pattern], _ compared: Compared, isUsed: (Int) -> Bool
        ) -> [BudgetMistake] {
            guard stages.contains(compared.stage) else { return [] }
            return patterns.indices.filter { !isUsed($0) }.map { index in
                BudgetMistake(
                    stage: compared.stage, location: "\(name), field \(list)[\(index)].match",
                    reason: reason(index, patterns, list, compared))
            }
        }
        func isFirst(_ index: Int, in names: [(name: String, isOpen: Bool)]) -> Bool {
            names.contains { name in patterns.firstIndex { $0.matches(name.name) } == index }
        }
        return resources.filter { limit in
            measured.contains(limit.resource)
                && !report.sizes.contains { $0.origin == SizeFinding.budget && $0.what == limit.resource.rawValue }
        }.map { BudgetMistake(stage: .weights, location: "\(name), field \($0.field)", reason: $0.resource.missing) }
            + allowances(in: report, name, stages)
            + mistakes("outputs", self.outputs.map(\.match), outputs) { index in
                outputRows.contains { $0.tolerance.origin == self.outputs[index].tolerance.origin }
            }
            + mistakes("weights", self.weights.map(\.match), weights) { index in
                report.weights.contains { $0.tolerance.origin == self.weights[index].tolerance.origin }
            }
            + mistakes("operators", patterns, calls) { operators[$0].injected == nil || isFirst($0, in: calls.names) }
            + mistakes("operators", patterns, throughout) { index in
                operators[index].propagated == nil || isFirst(index, in: throughout.names)
                    // The list of calls has reported the entry already.
                    || operators[index].injected != nil && !isFirst(index, in: calls.names)
            }
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

    /// Returns the reason why an entry applies to no comparison.
    private func reason(_ index: Int, _ patterns: [Pattern], _ list: String, _ compared: Compared) -> String {
        let pattern = patterns[index]
        let rule = "\"\(pattern.text)\""
        if let name = compared.names.first(where: { $0.isOpen && pattern.matches(inAnyForm: $0.name) })?.name,
            let earlier = patterns[..<index].firstIndex(where: { $0.matches(inAnyForm: name) })
        {
            return "\(rule) is never reached: \(list)[\(earlier)] comes first for \"\(name)\" and all else that it fits"
        }
        if let name = compared.names.first(where: { pattern.matches(inAnyForm: $0.name) })?.name {
            return "\(rule) fits \"\(name)\", which is compared exactly: leave the rule out"
        }
        if let found = compared.missing.first(where: { pattern.matches(inAnyForm: $0.name) }) {
            return "\(rule) fits \"\(found.name)\", which was not compared: \(found.reason)"
        }
        if compared.names.isEmpty {
            let why = compared.missing.first.map { ": \($0.reason)" } ?? ""
            return "no \(compared.thing) was compared that it could fit\(why)"
        }
        let names = compared.names.map(\.name) + compared.missing.map(\.name)
        let hint = pattern.glob.nearest(among: names).map { "did you mean \"\($0)\"?" }
        return "\(rule) fits no \(compared.thing); \(hint ?? "there is \(Self.list(names))")"
    }

    private static func list(_ names: [String]) -> String {
        Wording.listed(Set(names).sorted().map { "\"\($0)\"" }, most: 5)
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
