import AccelByteIO
import AccelTensors
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
    /// A list of the budget, beside what it could apply to.
    private struct List {
        /// The field of an entry, with `#` in place of its index.
        let field: String
        let stage: Stage
        /// The kind of item, in the singular.
        let things: String
        let patterns: [Pattern]
        /// The names of the items.
        let names: [String]
        /// Returns whether an entry applies to an item.
        let isUsed: (Int) -> Bool

        /// Returns why an entry applies to nothing: an earlier one does, or it matches no name.
        func reason(_ index: Int) -> String {
            let pattern = patterns[index]
            let taken = names.filter(pattern.matches).lazy.compactMap { name in
                patterns[..<index].firstIndex { $0.matches(name) }.map { (name: name, earlier: $0) }
            }.first
            guard let taken else { return Glob.unused(pattern.text, among: names, of: things).text }
            let list = field.prefix { $0 != "[" }
            return "\"\(pattern.text)\" is never reached: \(list)[\(taken.earlier)] comes first for \"\(taken.name)\""
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
        let unmeasured = resources.filter { limit in
            measured.contains(limit.resource)
                && !report.limits.contains { $0.origin == LimitFinding.budget && $0.what == limit.resource.rawValue }
        }
        let idle = lists(report, stages).filter { stages.contains($0.stage) }.flatMap { list in
            list.patterns.indices.filter { !list.isUsed($0) }.map { index in
                let field = list.field.replacing("#", with: "\(index)")
                return BudgetMistake(stage: list.stage, location: "\(file), field \(field)", reason: list.reason(index))
            }
        }
        return unmeasured.map {
            BudgetMistake(stage: .weights, location: "\(file), field \($0.field)", reason: $0.resource.missing)
        } + idle
    }

    private func lists(_ report: ParityReport, _ stages: Set<Stage>) -> [List] {
        let rows = report.outputs.filter { $0.stage == .outputs && $0.reference != .modelAgainstGolden }
        let limits = Set((rows.map(\.tolerance) + report.weights.map(\.tolerance)).map(\.origin))
        // The names of samples end in their numbers.
        let outputNames = rows.flatMap { row in
            [row.name] + (row.name.sampleNumber.map { [String(row.name.dropLast("\($0)".count + 1))] } ?? [])
        }
        /// The entries that limit a call.
        func first(_ calls: [OperatorFinding]) -> Set<Int> {
            Set(calls.compactMap { call in operators.firstIndex { $0.match.matches(call.label) } })
        }
        let (injected, propagated) = (first(report.operators), first(report.operators.filter { $0.propagated != nil }))
        let differences = report.structure?.allowed.map(\.name) ?? []
        let gaps = report.notCompared.filter(\.isAllowed).map(\.name)
        return [
            List(
                field: "allow.structure[#]", stage: .structure, things: "difference", patterns: allowedDifferences,
                names: differences
            ) { index in differences.contains(where: allowedDifferences[index].names) },
            List(
                field: "allow.notCompared[#]", stage: stages.max() ?? .outputs, things: "item that is not compared",
                patterns: allowedGaps, names: gaps
            ) { index in gaps.contains(where: allowedGaps[index].namesGap) },
            List(
                field: "outputs[#].match", stage: .outputs, things: "limited output", patterns: outputs.map(\.match),
                names: outputNames
            ) { limits.contains(outputs[$0].tolerance.origin) },
            List(
                field: "weights[#].match", stage: .weights, things: "limited weight", patterns: weights.map(\.match),
                names: report.weights.map(\.name)
            ) { limits.contains(weights[$0].tolerance.origin) },
            List(
                field: "operators[#].match", stage: .operators, things: "limited call",
                patterns: operators.map(\.match),
                names: report.operators.map(\.label)
            ) { index in
                (operators[index].injected == nil || injected.contains(index))
                    && (operators[index].propagated == nil || propagated.contains(index))
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
}
