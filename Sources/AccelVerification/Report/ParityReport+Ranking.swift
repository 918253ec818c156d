import AccelByteIO
import AccelCalibration

extension ParityReport {
    /// The number of weights that terminals list in any case, and that rules of estimated losses are for.
    private static let rankedLines = 3
    /// The largest number of rules that terminals advise.
    private static let advisedLines = 5
    /// A rule is advised if it saves at least this share of the loss of all weights.
    private static let advisedShare = 0.01
    /// The number of weights that pages list.
    private static let rankedRows = 20

    /// The weights that cost the outputs most, and the rules that would help, for a terminal; nothing if none costs anything.
    func ranking(_ width: Int) -> [String] {
        let worst = losses.prefix(Self.rankedLines).filter { $0.sqnr.isFinite }
        guard !worst.isEmpty else { return [] }
        var table = TextTable(
            [
                .init("weights that cost the \(rankedFigure) most"), .init("stored as"), .init("bytes", number: true),
            ] + (ranksParts ? [.init("outputs of")] : []) + rankedTitles.map { .init($0, number: true) })
        let advised = advisedLosses
        let shown = losses.filter { loss in (worst + advised).contains { $0.name == loss.name } }
        for loss in shown {
            let part = ranksParts ? [loss.part ?? "-"] : []
            table.add([loss.name, loss.scheme, FigureText.bytes(loss.bytes)] + part + rankedFigures(loss))
        }
        let rules = advised.compactMap(\.rule)
        let added = FigureText.bytes(advised.reduce(0) { $0 + $1.addition })
        let title = "\(isEstimated ? "rules for these" : "rules that help most for their bytes") (\(added) more):"
        let notes =
            (losses.count > shown.count ? ["all \(losses.count) are ranked in the report as JSON"] : []) + rankedNotes
            + (rules.isEmpty ? ["no rule is known by which these lose less"] : [title] + rules.map { "  \($0)" })
        return table.lines(width: width) + notes.map { "  \($0)" }
    }

    /// The weights whose rules save most of the error for the bytes that they add; of estimated losses, which no rule is measured for,
    /// the worst ones.
    private var advisedLosses: [WeightLoss] {
        if isEstimated { return losses.prefix(Self.rankedLines).filter { $0.sqnr.isFinite && $0.rule != nil } }
        let least = Self.advisedShare * losses.reduce(0) { $0 + $1.error }
        let gains = losses.compactMap { loss -> (loss: WeightLoss, perByte: Double)? in
            guard loss.rule != nil, let saved = loss.saving, saved > 0, saved >= least else { return nil }
            return (loss, saved / Double(max(loss.addition, 1)))
        }
        return gains.sorted { ($1.perByte, $0.loss.name) < ($0.perByte, $1.loss.name) }.prefix(Self.advisedLines)
            .map(\.loss)
    }

    /// The titles of the figures.
    private var rankedTitles: [String] { ["dB alone", "with the rule"] }

    private func rankedFigures(_ loss: WeightLoss) -> [String] {
        [FigureText.decibels(loss.sqnr), loss.remedy?.sqnr.map(FigureText.decibels) ?? "-"]
    }

    /// Some weights are by gptq, so that their figures are not those of the stored codes.
    private var isFitted: Bool { !isEstimated && losses.contains { $0.scheme.contains("method=gptq") } }

    /// Notes on the data and the method of the figures, where the title does not state them.
    private var rankedNotes: [String] {
        [
            isEstimated ? "-: not measured, as a run for each weight on inputs of this size would take too long" : nil,
            ranksParts
                ? "each weight is ranked by the outputs of its own part; what an encoder loses costs the decoder behind it, too"
                : nil,
            isFitted
                ? "of gptq: by gptq on these inputs alone, to which it is fitted, the more the fewer they are; the stored codes make up for "
                    + "errors of other weights too, so that a conversion by the rules tells what they bring" : nil,
            rankingDrawn.map {
                "measured on drawn inputs of \($0), of whose shapes the file has no inputs, or no states: give some for figures of yours"
            },
            rankingTokens.map {
                "measured on the first \($0) tokens of each text, as many as the decoder takes at once; a longer block sees more"
            },
            rankingRuns.flatMap { runs in
                runs.measured < runs.count
                    ? "measured over \(runs.measured) of \(Wording.count(runs.count, "run"))" : nil
            },
        ].compactMap(\.self)
    }

    /// The losses are those of several parts of the model, each of its own outputs.
    private var ranksParts: Bool { Set(losses.map(\.part)).count > 1 }

    /// The losses are those of calls, so that no rule is known to help the outputs.
    private var isEstimated: Bool { losses.contains(where: \.isEstimated) }

    /// The results that the losses are measured on, in words.
    private var rankedFigure: String { isEstimated ? "calls that read them" : "outputs" }

    /// The ranking for a page.
    var rankingSection: String {
        guard !losses.isEmpty else { return "" }
        var table = HTMLTable(
            ["weight", "stored as", "bytes#"] + (ranksParts ? ["outputs of"] : []) + rankedTitles.map { "\($0)#" } + [
                "a rule that would help"
            ])
        for loss in losses.prefix(Self.rankedRows) {
            table.add(
                [.name(loss.name), .text(loss.scheme), .number(Wording.grouped(loss.bytes))]
                    + (ranksParts ? [.text(loss.part ?? "-")] : []) + rankedFigures(loss).map { .number($0) } + [
                        .name(loss.rule ?? "")
                    ])
        }
        let rest = losses.count - Self.rankedRows
        let more =
            rest > 0 ? " \(Wording.count(rest, "more weight")) \(rest == 1 ? "is" : "are") in the JSON report." : ""
        let measured =
            isEstimated
            ? "SQNR of the calls that read each weight: a run for each weight on inputs of this size would take too long."
            : "SQNR of the outputs if only this weight is compressed, and all others are the model's."
        let notes = rankedNotes.map { "<p class=\"soft\">\(XML.escaped($0))</p>\n" }.joined()
        return "<h2>Which weights hurt</h2>\n<p class=\"soft\">\(measured)\(more)</p>\n" + notes + table.html
    }
}
