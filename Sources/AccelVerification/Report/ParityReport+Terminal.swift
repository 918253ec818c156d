import AccelByteIO
import AccelCalibration
import AccelPrograms

extension ParityReport {
    /// Returns the report for a terminal: a table per stage, the worst lines first, the verdict last.
    /// - Parameter width: the columns of the terminal.
    /// - Parameter colour: adds ANSI sequences for red, green and dimmed text.
    public func terminal(width: Int = 100, colour: Bool = false) -> String {
        let style = TerminalStyle(isOn: colour)
        var lines = ["inputs: \(inputs)"]
        if let packageDigest { lines.append("package: \(packageDigest.description.prefix(16))") }
        if let runtime { lines.append("runtime: \(runtime.words)") }
        if let quality {
            lines += ["", "\(style.strong("on text")): \(quality.text)"]
            let rows = [["", "package", "original"]] + quality.rows
            let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
            lines += rows.map { row in
                "  "
                    + row.indices.map { index in
                        let space = String(repeating: " ", count: widths[index] - row[index].count)
                        return index == 0 ? row[index] + space : space + row[index]
                    }.joined(separator: "  ")
            }
        }
        if let foreignModel { lines.append(style.bad(foreignModel)) }
        for stage in stages { lines += [""] + section(stage, width: width, style) }
        if !limits.isEmpty {
            let bad = limits.count { $0.failure != nil }
            let state = bad == 0 ? style.good("passed") : style.bad("\(bad) failed")
            lines += ["", "\(style.strong("limits of the whole package")): \(state)"]
            lines += limits.map { $0.failure == nil ? "  \($0.summary)" : style.bad("  \($0.summary)") }
        }
        if !notCompared.isEmpty {
            lines += ["", style.strong("not compared (never counted as passed)")]
            lines += FoldedNames.all(notCompared, name: \.name) { "\($0.stage.code) \($0.reason)" }.flatMap { group in
                group.elements.prefix(1).map { "  \($0.stage.code) \(group.name): \($0.reason)" }
            }
        }
        if !failures.isEmpty {
            lines += ["", style.strong("beyond the limits")]
            lines += failedLines.prefix(Self.listed).map { style.bad("  \($0)") }
            if failures.count > Self.listed { lines.append("  and \(failures.count - Self.listed) more") }
        }
        if let selfTest {
            lines +=
                [""]
                + selfTest.terminal(width: width, colour: colour).split(
                    separator: "\n", omittingEmptySubsequences: false
                )
                .map(String.init).dropLast()
        }
        lines.append("")
        lines += limitRemarks
        lines.append(verdict == .passed ? style.good(headline) : style.bad(headline))
        return lines.joined(separator: "\n") + "\n"
    }

    /// Facts on the limits that the verdict does not state.
    var limitRemarks: [String] {
        let hasOutputs = outputs.contains { $0.stage == .outputs }
        let losesOutputs = outputs.contains { $0.stage == .outputs && !$0.metrics.isExact }
        let isLossy =
            weights.contains { !$0.metrics.isExact } || weights.isEmpty && outputs.contains { !$0.metrics.isExact }
        let least = outputs.compactMap(\.tolerance.sqnr).min() ?? .infinity
        // The container is always checked, and limits nothing.
        let compared = stages.filter { $0 != .container || stages.count == 1 }.map(\.title).joined(separator: ", ")
        let run =
            recordedLimit == nil
            ? "compares \(compared) only" : "compares outputs with recorded ones: verify checks the others"
        let remarks = [
            (
                least < recordedLimit ?? -.infinity,
                "limits: the budget's \(FigureText.decibels(least)) dB stand in place of the \(FigureText.decibels(recordedLimit ?? 0)) dB that "
                    + "rounding elsewhere has to keep"
            ),
            (
                drawnStates != nil && hasOutputs,
                "caches: their content before the step is drawn, too; real keys and values may lose more as "
                    + (drawnStates?.rawValue ?? "")
            ),
            (
                isUnranked && losesOutputs,
                "ranking: verify of a package, converted by the same recipe, tells which weights cost the outputs most"
            ),
            (
                rankingLacksOperators,
                "ranking: a run with each weight would take too long on inputs of this size; with the stage operators it is estimated"
            ),
            (
                verdict == .passed && budget == nil && isLossy,
                "limits: the defaults, which find errors of the tool; an evaluation on text shows what is lost"
            ),
        ]
        return uncheckedLimits.map { "limits: those of the budget's \($0) were not checked, since this run \(run)" }
            + remarks.filter(\.0).map(\.1)
    }

    /// A line for each failure: the stage, the name and the reason.
    public var failedLines: [String] {
        // What a user asked for comes first: the limits, and the outputs.
        let first = failures.filter { $0.stage == .outputs || isLimit($0.name) }
        let rest = failures.filter { $0.stage != .outputs && !isLimit($0.name) }
        return (first + rest).map {
            isLimit($0.name) ? "limit: \($0.reason)" : "\($0.stage.code) \($0.name): \($0.reason)"
        }
    }

    private static let listed = 12

    private func section(_ stage: Stage, width: Int, _ style: TerminalStyle) -> [String] {
        let count = comparisons(in: stage)
        let bad = failures(in: stage)
        let state = count == 0 ? "not compared" : bad == 0 ? style.good("passed") : style.bad("\(bad) failed")
        let title = style.strong("\(stage.code) \(stage.title)")
        switch stage {
        case .container:
            let what =
                count == 0
                ? "no container"
                : count == 1 ? "1 file equals its digest" : "\(Wording.count(count, "file")) equal their digests"
            return ["\(title): \(count == 0 ? "not compared" : style.good("passed")) (\(what))"]
        case .structure:
            let what = structure?.summary ?? StructureFinding().summary
            return ["\(title): \(state) (\(what))"] + (structure?.remarks ?? []).map { "  \($0)" }
                + (structure?.allowed ?? []).map { "  allowed by the budget: \($0.name): \($0.reason)" }
        case .weights:
            let tableCount = weights.count(where: \.isTable)
            let tables = tableCount == 0 ? "" : " and \(Wording.count(tableCount, "table")) of the graph"
            let what =
                "\(Wording.count(weights.count { !$0.isTable }, "weight"))\(tables), \(FigureText.bytes(storedBytes)), "
                + "\(FigureText.fixed(bitsPerWeight, digits: 2)) bits per weight"
            return ["\(title): \(state) (\(what))"] + rowBounds.map { "  \($0)" }
                + (weights.isEmpty ? [] : codecTable.lines(width: width))
                + (ranking(width).isEmpty ? worstWeights(width) : [])
        case .operators:
            let what = [Wording.count(operators.count, "call"), samplingWords].compactMap(\.self)
            return ["\(title): \(state) (\(what.joined(separator: ", ")))"] + worstOperators(width)
        case .graph, .outputs:
            let rows = outputs.filter { $0.stage == stage }
            return ["\(title): \(state)"] + (rows.isEmpty ? [] : outputTable(rows).lines(width: width))
                + rows.compactMap(labelLine) + rows.compactMap(choiceLine)
                + (stage == .outputs ? togetherLines + ranking(width) : [])
        }
    }

    /// The tensors, errors and bytes of each codec.
    private var codecTable: TextTable {
        var table = TextTable([
            .init("codec"), .init("tensors", number: true), .init("bytes", number: true),
            .init("bits/weight", number: true), .init("SQNR dB", number: true), .init("worst dB", number: true),
        ])
        func title(_ weight: WeightFinding) -> String { weight.isTable ? "tables of the graph" : weight.codec }
        for codec in Set(weights.map(title)).sorted() {
            let group = weights.filter { title($0) == codec }
            var all = Metrics()
            for weight in group { all.merge(weight.metrics) }
            let bytes = group.reduce(0) { $0 + $1.byteCount }
            let worst = group.map(\.metrics.sqnr).min() ?? .infinity
            table.add([
                codec, Wording.grouped(group.count), FigureText.bytes(bytes),
                FigureText.fixed(Double(bytes * 8) / Double(max(all.count, 1)), digits: 2),
                FigureText.decibels(all.sqnr),
                FigureText.decibels(worst),
            ])
        }
        return table
    }

    private func worstWeights(_ width: Int) -> [String] {
        let worst = weights.filter { !$0.metrics.isExact }.sorted { $0.metrics.sqnr < $1.metrics.sqnr }.prefix(3)
        guard !worst.isEmpty else { return [] }
        var table = TextTable([
            .init("weights that lose most"), .init("SQNR dB", number: true), .init("rel L2", number: true),
            .init("max abs", number: true), .init("limit"),
        ])
        for row in worst {
            table.add([
                row.name, FigureText.decibels(row.metrics.sqnr), FigureText.small(row.metrics.relativeL2),
                FigureText.small(row.metrics.maximumError), row.tolerance.summary,
            ])
        }
        return table.lines(width: width)
    }

    private func worstOperators(_ width: Int) -> [String] {
        let worst = operators.filter { $0.kernel.sqnr.isFinite || !$0.injected.isExact }
            .sorted { $0.injected.sqnr < $1.injected.sqnr }.prefix(6)
        guard !worst.isEmpty else { return [] }
        var table = TextTable([
            .init("calls that add most (SQNR in dB)"), .init("operator"), .init("kernel", number: true),
            .init("injected", number: true), .init("propagated", number: true),
        ])
        for row in worst {
            table.add([
                title(of: row), row.kind, FigureText.decibels(row.kernel.sqnr), FigureText.decibels(row.injected.sqnr),
                row.propagated.map { FigureText.decibels($0.sqnr) } ?? "-",
            ])
        }
        return table.lines(width: width)
    }

    private func labelLine(_ row: OutputFinding) -> String? {
        row.labels.map {
            "  \(title(of: row)): \($0.right) of \($0.count) labels right, \($0.originalRight) by the golden's own output"
        }
    }

    /// The rows of scores whose largest is another one, where there are any: a model would choose another token there.
    private func choiceLine(_ row: OutputFinding) -> String? {
        let metrics = row.metrics
        guard row.stage == .outputs, metrics.argmaxAgreements < metrics.argmaxRows else { return nil }
        return "  \(title(of: row)): the largest element is the same one in \(metrics.argmaxAgreements) of "
            + Wording.count(metrics.argmaxRows, "row")
    }

    /// The lines of the figure that a conversion chooses schemes by, where a function has several outputs. States do not count in it.
    var togetherLines: [String] {
        let rows = together
        return rows.filter { $0.outputs > 1 && $0.sqnr.isFinite }.map { row in
            let title = rows.count > 1 ? "\(row.function): all" : "all"
            return
                "  \(title) outputs together, by the mean of their relative squared errors: \(FigureText.decibels(row.sqnr)) dB"
        }
    }

    private func outputTable(_ rows: [OutputFinding]) -> TextTable {
        var table = TextTable([
            .init("output"), .init("against"), .init("SQNR dB", number: true), .init("max abs", number: true),
            .init("rel L2", number: true), .init("cosine", number: true), .init("limit"),
        ])
        for line in lines(of: rows) {
            let (metrics, tolerance) = (line.row.metrics, line.row.tolerance)
            table.add([
                line.title, line.row.reference.rawValue, FigureText.decibels(metrics.sqnr),
                FigureText.small(metrics.largestError), FigureText.small(metrics.relativeL2),
                FigureText.cosine(metrics.cosine), tolerance.summary,
            ])
        }
        return table
    }
}

/// ANSI colours, or none.
struct TerminalStyle {
    let isOn: Bool
    func strong(_ text: String) -> String { wrap(text, "1") }
    func good(_ text: String) -> String { wrap(text, "32") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    private func wrap(_ text: String, _ code: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
