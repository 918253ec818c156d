import AccelByteIO
import AccelPackages
import AccelTensors

extension ParityReport {
    /// The line that marks a page as a report, so that a later run may replace it.
    static let pageMark = "<meta name=\"generator\" content=\"accelc parity report\"/>"

    /// The report as one self-contained page: no script, font or picture from elsewhere.
    public var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8"/>
        \(Self.pageMark)
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <title>accelc parity report: \(XML.escaped(headline))</title>
        <style>
        \(PageStyle.text)</style>
        </head>
        <body>
        <main>
        \(sections.joined())</main>
        </body>
        </html>

        """
    }

    /// The verdict, then pictures, then tables.
    private var sections: [String] {
        [
            banner, qualitySection, keyFigures, sizeSection, charts, failureSection, outputSection, rankingSection,
            stageSection,
            structureSection, selfTestSection, coverageSection, detailSection,
        ]
    }

    private var banner: String {
        let name = verdict == .nothingCompared ? "open" : verdict.rawValue
        let sentence = headline.split(separator: ":", maxSplits: 1).last.map(String.init) ?? ""
        let digest = packageDigest.map { "<p class=\"soft\">package <code>\($0)</code></p>\n" } ?? ""
        let beyond = failures.prefix(3).map { "<p class=\"bad\">\(XML.escaped("\($0.name): \($0.reason)"))</p>\n" }
            .joined()
        let more = failures.count > 3 ? "<p><a href=\"#failures\">All \(Wording.grouped(failures.count))</a></p>\n" : ""
        let remarks = ((runtime.map { ["runtime: \($0.words)"] } ?? []) + limitRemarks)
            .map { "<p class=\"soft\">\(XML.escaped($0))</p>\n" }.joined()
        let foreign = foreignModel.map { "<p class=\"bad\">\(XML.escaped($0))</p>\n" } ?? ""
        return """
            <div class="verdict \(name)">
            <h1>Parity: <span>\(verdict.rawValue)</span></h1>
            <p>\(XML.escaped(sentence.trimmingPrefix(" ").capitalizedFirst)).</p>
            \(foreign)\(beyond)\(more)\
            <p class="soft">inputs: \(XML.escaped(inputs)); functions: \(XML.escaped(functions.joined(separator: ", ")))</p>
            \(digest)\(remarks)</div>

            """
    }

    private var keyFigures: String {
        var cells =
            storedElements == 0
            ? []
            : [
                (FigureText.bytes(storedBytes), "stored weights"),
                (FigureText.fixed(bitsPerWeight, digits: 2), "bits per weight"),
            ]
        if !weights.isEmpty {
            let all = weightMetrics
            cells.append(("\(FigureText.decibels(all.sqnr))\(all.isExact ? "" : " dB")", "SQNR of all weights"))
        }
        if let worst = outputs.filter({ $0.stage == .outputs }).map(\.metrics.sqnr).min() {
            cells.append(("\(FigureText.decibels(worst))\(worst.isFinite ? " dB" : "")", "SQNR of the worst output"))
        }
        cells.append(("\(failures.count)", failures.count == 1 ? "failure" : "failures"))
        cells.append(("\(notCompared.count)", "not compared"))
        return "<div class=\"figures\">\n"
            + cells.map { "<div><b>\(XML.escaped($0.0))</b><span>\($0.1)</span></div>\n" }.joined() + "</div>\n"
    }

    private var sizeSection: String {
        guard !limits.isEmpty else { return "" }
        var table = HTMLTable("limit", "")
        for limit in limits { table.add([.text(limit.summary), .state(limit.failure.map { _ in "failed" })]) }
        return "<h2>Limits of the whole package</h2>\n" + table.html
    }

    private var qualitySection: String {
        guard let quality else { return "" }
        var table = HTMLTable("figure", "package#", "original#")
        for row in quality.rows { table.add([.text(row[0]), .number(row[1]), .number(row[2])]) }
        return "<h2>On text</h2>\n<p class=\"soft\">\(XML.escaped(quality.text))</p>\n" + table.html
    }

    private var charts: String { operatorCharts + sizeChart + errorCharts }

    private var failureSection: String {
        var html = ""
        if !failures.isEmpty {
            var table = HTMLTable("stage", "name", "what is wrong")
            for row in failures {
                table.add([.text("\(row.stage.code) \(row.stage.title)"), .name(row.name), .state(row.reason)])
            }
            html += "<h2 id=\"failures\">Failures</h2>\n"
            html += table.folded(Wording.count(failures.count, "failure"))
        }
        if !notCompared.isEmpty {
            var table = HTMLTable("stage", "name", "why")
            let groups = FoldedNames.all(notCompared, name: \.name) { "\($0.stage.code) \($0.reason)" }
            for group in groups {
                guard let row = group.elements.first else { continue }
                table.add([.text("\(row.stage.code) \(row.stage.title)"), .name(group.name), .text(row.reason)])
            }
            html += "<h2>Not compared</h2>\n<p class=\"soft\">What is listed here never counts as passed.</p>\n"
            html += table.folded(Wording.count(notCompared.count, "item"))
        }
        return html
    }

    private var stageSection: String {
        var table = HTMLTable("stage", "compared#", "beyond their limits#", "what it shows")
        for stage in stages {
            table.add([
                .text("\(stage.code) \(stage.title)"), .number(Wording.grouped(comparisons(in: stage))),
                .number(Wording.grouped(failures(in: stage))), .text(Self.explanation(of: stage)),
            ])
        }
        return "<h2>Stages</h2>\n" + table.html
    }

    private var structureSection: String {
        guard let structure else { return "" }
        let notes = structure.remarks + structure.allowed.map { "allowed by the budget: \($0.name): \($0.reason)" }
        return "<h2>Structure</h2>\n<p>Compared with a second conversion of the model: "
            + "\(XML.escaped(structure.summary)). \(Wording.count(structure.differences.count, "difference")).</p>\n"
            + notes.map { "<p class=\"soft\">\(XML.escaped($0))</p>\n" }.joined()
    }

    private static func explanation(of stage: Stage) -> String {
        switch stage {
        case .container: "every file of the package has the digest that was written"
        case .structure: "interface, calls, wiring, files and provenance against a second conversion of the model"
        case .weights: "stored tensors, decoded from the written bytes, against the checkpoint"
        case .operators: "each kernel call on the reference's inputs, and its value in the real run"
        case .graph: "whole functions against the reference meaning with the weights as stored"
        case .outputs: "whole functions against the original model or its framework"
        }
    }

    private var selfTestSection: String {
        guard let selfTest else { return "" }
        var table = HTMLTable("fault", "injected into", "must catch", "caught by", "")
        for trial in selfTest.trials {
            let caught = (trial.caught ?? [:]).keys.sorted().map(\.code).joined(separator: ", ")
            table.add([
                .text(trial.detail), .name(trial.target.isEmpty ? "the package" : trial.target),
                .text(trial.claimed?.code ?? "none"), .text(caught),
                trial.isFailure ? .state(trial.outcome.rawValue) : .text(trial.outcome.rawValue),
            ])
        }
        return "<h2>Self test</h2>\n<p>\(XML.escaped(selfTest.headline.capitalizedFirst)). "
            + "<span class=\"soft\">Faults are put into a copy in memory, to show that a verification would notice.</span></p>\n"
            + table.folded("Detection matrix", isOpen: !selfTest.failures.isEmpty)
    }

    private var outputSection: String {
        guard !outputs.isEmpty else { return "" }
        let lines = lines(of: outputs)
        var html = "<h2>Outputs</h2>\n" + outputTable(lines).folded(Wording.count(lines.count, "line"))
        if lines.count < outputs.count {
            let all = outputs.flatMap { self.lines(of: [$0]) }
            html += outputTable(all).folded("Each of \(Wording.count(outputs.count, "comparison"))", isOpen: false)
        }
        return html + togetherLines.map { "<p class=\"soft\">\(XML.escaped($0))</p>\n" }.joined()
    }

    private func outputTable(_ lines: [OutputLine]) -> HTMLTable {
        var table = HTMLTable(
            "output", "against", "SQNR dB#", "PSNR dB#", "max abs#", "p99.9 abs#", "rel L2#", "cosine#", "limit", "")
        for line in lines {
            let (row, metrics) = (line.row, line.row.metrics)
            table.add([
                .name(line.title), .text("\(row.stage.code) \(row.reference.rawValue)"),
                .number(FigureText.decibels(metrics.sqnr)), .number(FigureText.decibels(metrics.psnr)),
                .number(FigureText.small(metrics.largestError)), .number(FigureText.small(metrics.percentile999)),
                .number(FigureText.small(metrics.relativeL2)), .number(FigureText.cosine(metrics.cosine)),
                .text("\(row.tolerance.summary) (\(row.tolerance.origin))"), .state(line.failure),
            ])
        }
        return table
    }

    private var operatorCharts: String {
        let charts = functions.compactMap { function -> String? in
            let rows = operators.filter { $0.function == function }
            return rows.isEmpty ? nil : "<p><code>\(XML.escaped(function))</code></p>\n\(LayerChart(rows: rows).html)\n"
        }
        guard !charts.isEmpty else { return "" }
        return
            "<h2>Error by layer</h2>\n<p class=\"soft\">SQNR of each call in order, higher is better.<i class=\"key i\"></i>injected: "
            + "this call alone, on the reference's inputs<i class=\"key p\"></i>propagated: in the real run</p>\n"
            + charts.joined()
    }

    private var sizeChart: String {
        weights.isEmpty
            ? ""
            : "<h2>Size by tensor</h2>\n<p class=\"soft\"><i class=\"key s\"></i>stored<i class=\"key o\"></i>in the checkpoint</p>\n"
                + SizeChart(rows: weights).html + "\n"
    }

    /// Histograms of the errors of the first outputs, and of all weights.
    private var errorCharts: String {
        let compared = outputs.filter { $0.stage == .outputs && $0.reference != .modelAgainstGolden }
        var charts = lines(of: compared).prefix(4).map { line in
            HistogramChart(
                title: "\(line.title) against \(line.row.reference.rawValue)",
                distribution: line.row.metrics.distribution)
        }
        if !weights.isEmpty {
            charts.append(HistogramChart(title: "all weights", distribution: weightMetrics.distribution))
        }
        guard !charts.isEmpty else { return "" }
        let figures = charts.map { "<div><p class=\"caption\">\(XML.escaped($0.title))</p>\($0.html)</div>" }
        return "<h2>Absolute errors</h2>\n<p class=\"soft\">Share of elements by power of ten.</p>\n"
            + "<div class=\"pair\">\(figures.joined(separator: "\n"))</div>\n"
            + rowBounds.map { "<p class=\"soft\">\(XML.escaped($0))</p>\n" }.joined()
    }

    private var coverageSection: String {
        guard !coverage.isEmpty || !unused.isEmpty else { return "" }
        var table = HTMLTable("tensor", "stored as", "bytes#", "read by", "why not as the recipe says")
        let groups = FoldedNames.all(coverage, name: \.name) { row in
            [row.codec, row.readers.joined(separator: ", "), row.reason ?? ""]
        }
        for group in groups {
            guard let row = group.elements.first else { continue }
            table.add([
                .name(group.name), .text(row.codec),
                .number(Wording.grouped(group.elements.reduce(0) { $0 + $1.byteCount })),
                .text(row.readers.joined(separator: ", ")), .text(row.reason ?? ""),
            ])
        }
        for group in FoldedNames.all(unused, name: \.name, kind: \.reason) {
            table.add([
                .name(group.name), .text("not stored"), .number("0"), .text(""),
                .text(group.elements.first?.reason ?? ""),
            ])
        }
        let exceptions = coverage.count { $0.reason != nil }
        return "<h2>Coverage</h2>\n"
            + table.folded(
                "\(Wording.count(coverage.count, "tensor")) stored, \(exceptions) not as the recipe says, "
                    + "\(unused.count) unused")
    }

    private var detailSection: String {
        var html = ""
        if !weights.isEmpty {
            var table = HTMLTable("weight", "shape", "codec", "bits#", "SQNR dB#", "rel L2#", "max abs#", "limit", "")
            for row in weights {
                table.add([
                    .name(row.name), .text(row.shape.description), .text(row.codec),
                    .number(FigureText.fixed(row.bitsPerWeight, digits: 2)),
                    .number(FigureText.decibels(row.metrics.sqnr)),
                    .number(FigureText.small(row.metrics.relativeL2)),
                    .number(FigureText.small(row.metrics.maximumError)),
                    .text(row.tolerance.summary), .state(row.failure),
                ])
            }
            html += "<h2>Weights</h2>\n" + table.folded(Wording.count(weights.count, "stored tensor"), isOpen: false)
        }
        if !operators.isEmpty {
            var table = HTMLTable("call", "operator", "shape", "kernel dB#", "injected dB#", "propagated dB#", "")
            for row in operators {
                table.add([
                    .name(title(of: row)), .text(row.kind), .text(row.shape.description),
                    .number(FigureText.decibels(row.kernel.sqnr)), .number(FigureText.decibels(row.injected.sqnr)),
                    .number(row.propagated.map { FigureText.decibels($0.sqnr) } ?? "-"), .state(row.failure),
                ])
            }
            if let samplingWords {
                html += "<p>Compared: \(Wording.count(operators.count, "call")), \(samplingWords).</p>\n"
            }
            html += "<h2>Calls</h2>\n" + table.folded(Wording.count(operators.count, "call"), isOpen: false)
        }
        return html
    }
}

extension StringProtocol {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
