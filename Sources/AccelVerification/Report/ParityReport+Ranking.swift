import AccelByteIO
import AccelCalibration

extension ParityReport {
    /// The number of weights that terminals list.
    private static let rankedLines = 3
    /// The largest number of rules in a terminal for weights that stay as they are.
    private static let keptLines = 12
    /// The number of weights that pages list.
    private static let rankedRows = 20

    /// The weights that cost the outputs most, and the rules that would help, for a terminal; nothing if no rule would.
    func ranking(_ width: Int) -> [String] {
        let worst = losses.prefix(Self.rankedLines).filter(\.isCostly)
        let rules = worst.compactMap(\.rule)
        guard !rules.isEmpty else { return [] }
        var table = TextTable([
            .init("weights that cost the \(rankedFigure) most"), .init("stored as"), .init("bytes", number: true),
            .init(rankedTitle, number: true), .init("with the rule", number: true),
        ])
        for loss in worst {
            table.add([
                loss.name, loss.scheme, Figure.bytes(loss.bytes), Figure.decibels(loss.sqnr),
                loss.remedy?.sqnr.map(Figure.decibels) ?? "-",
            ])
        }
        let usual = usualScheme
        let kept =
            recipeDefault != nil
            ? []
            : losses.filter { loss in
                loss.scheme != usual && !worst.contains { $0.name == loss.name && $0.rule != nil }
            }
        let shown = kept.count <= Self.keptLines ? kept.compactMap(\.keepingRule) : []
        let left = kept.count - shown.count
        let more = worst.reduce(0) { $0 + ($1.remedy.map { $0.bytes } ?? $1.bytes) - $1.bytes }
        let base = recipeDefault ?? usual
        let samples = (rules + shown + [base]).contains { $0.contains("method=") } ? " and --calibrate" : ""
        let all = losses.count > worst.count ? ["  (all \(losses.count) are ranked in --report and --json)"] : []
        return table.lines(width: width) + all + rankedNotes.map { "  \($0)" }
            + [
                "  \(isEstimated ? "rules for these" : "rules that would help") (\(Figure.bytes(more)) more), "
                    + (recipeHasRules
                        ? "before those of its recipe, or in place of one with the same match (recipe of inspect --json), in a file for "
                            + "convert --recipe\(samples):"
                        : "in a file for convert --recipe\(samples): {\"default\":\"\(base)\",\"rules\":[...]}")
            ]
            + (rules + shown).enumerated().map { "    \($1)\($0 < rules.count + shown.count - 1 ? "," : "")" }
            + [
                "  a few rules bring a part of the way; convert --min-sqnr or --target-size, with --calibrate, chooses for all weights"
            ]
            + (left == 0
                ? []
                : [
                    "  and a rule for each of the \(Wording.count(left, "other weight")) that \(left == 1 ? "is" : "are") not stored as "
                        + "\(usual) (ranking of --report)"
                ])
    }

    /// The title of the figures.
    private var rankedTitle: String { losses.contains { $0.whole != nil } ? "dB uncompressed" : "dB alone" }

    /// What the figures are measured on, where the title does not say it.
    private var rankedNotes: [String] {
        let whole = losses.compactMap(\.whole).first
        return [
            isEstimated ? "-: not measured, as a run for each weight on inputs of this size would take too long" : nil,
            whole.map {
                "dB uncompressed: of the outputs with this weight as in the model and all others as stored; all as stored give "
                    + "\(Figure.decibels($0)) (gptq makes up for errors of other weights; a conversion by the rule gives them other codes)"
            },
            rankingDrawn.map {
                "measured on drawn inputs of \($0), which the file does not fit: give inputs of its shape for figures of yours"
            },
            rankingRuns.flatMap { runs in
                runs.measured < runs.count
                    ? "measured over \(runs.measured) of \(Wording.count(runs.count, "run"))" : nil
            },
        ].compactMap(\.self)
    }

    /// The scheme of most weights that lose something.
    private var usualScheme: String {
        let counts = losses.reduce(into: [:]) { $0[$1.scheme, default: 0] += 1 }
        return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? ""
    }

    /// The losses are those of calls, so that no rule is known to help the outputs.
    private var isEstimated: Bool { losses.contains(where: \.isEstimated) }

    /// What the losses are measured on, in words.
    private var rankedFigure: String { isEstimated ? "calls that read them" : "outputs" }

    /// The ranking for a page.
    var rankingSection: String {
        guard !losses.isEmpty else { return "" }
        var table = HTMLTable(
            "weight", "stored as", "bytes#", "\(rankedTitle)#", "with the rule#", "a rule that would help")
        for loss in losses.prefix(Self.rankedRows) {
            table.add([
                .name(loss.name), .text(loss.scheme), .number(Wording.grouped(loss.bytes)),
                .number(Figure.decibels(loss.sqnr)), .number(loss.remedy?.sqnr.map(Figure.decibels) ?? ""),
                .name(loss.rule ?? ""),
            ])
        }
        let rest = losses.count - Self.rankedRows
        let more =
            rest > 0 ? " \(Wording.count(rest, "more weight")) \(rest == 1 ? "is" : "are") in the JSON report." : ""
        let measured =
            isEstimated
            ? "SQNR of the calls that read each weight: a run for each weight on inputs of this size would take too long."
            : losses.contains { $0.whole != nil }
                ? "SQNR of the outputs if this weight is the model's, and all others are stored."
                : "SQNR of the outputs if only this weight is compressed, and all others are the model's."
        let notes = rankedNotes.map { "<p class=\"soft\">\(XML.escaped($0))</p>\n" }.joined()
        return "<h2>Which weights hurt</h2>\n<p class=\"soft\">\(measured)\(more)</p>\n" + notes + table.html
    }
}
