import AccelByteIO
package import AccelCalibration

/// A chart of bits per weight against SQNR (dB) for the candidates of a target: estimates as a line, measurements as dots.
package struct ParetoChart: Sendable {
    private let points: [ParetoPoint]
    private let chosen: (bits: Double, sqnr: Double)
    private let losses: [WeightLoss]

    /// - Parameter losses: the ranking of the weights on the page.
    package init(points: [ParetoPoint], chosen: (bits: Double, sqnr: Double), losses: [WeightLoss] = []) {
        self.losses = losses
        self.points = points.filter { $0.bits.isFinite && $0.sqnr.isFinite }
        self.chosen = chosen
    }

    package var svg: String {
        let values = points.map(\.sqnr) + [chosen.sqnr, 0]
        let low = ((values.min() ?? 0) / 10).rounded(.down) * 10
        let high = max(low + 20, ((values.max() ?? 0) / 10).rounded(.up) * 10)
        let most = max(1, (points.map(\.bits) + [chosen.bits]).max() ?? 1).rounded(.up)
        let (width, height, left, right, bottom) = (960.0, 320.0, 62.0, 28.0, 32.0)
        func x(_ bits: Double) -> Double { left + bits / most * (width - left - right) }
        func y(_ sqnr: Double) -> Double { 14 + (high - sqnr) / (high - low) * (height - 14 - bottom) }
        var marks = ""
        for value in stride(from: low, through: high, by: max(AxisLabels.step(spanning: high - low, atMost: 10), 10)) {
            marks += XML.element(
                "path",
                [("class", "grid"), ("d", "M\(XML.number(left)) \(XML.number(y(value)))H\(XML.number(width - right))")])
            marks += XML.element(
                "text", [("class", "axis end"), ("x", XML.number(left - 6)), ("y", XML.number(y(value) + 4))],
                "\(Int(value)) dB")
        }
        for bits in stride(from: 0, through: Int(most), by: Int(AxisLabels.step(spanning: most, atMost: 10))) {
            marks += XML.element(
                "text", [("class", "axis middle"), ("x", XML.number(x(Double(bits)))), ("y", XML.number(height - 12))],
                "\(bits) bits")
        }
        let line = points.filter { !$0.isMeasured }.map { "\(XML.number(x($0.bits))) \(XML.number(y($0.sqnr)))" }
        if !line.isEmpty {
            marks += XML.element("path", [("class", "propagated"), ("d", "M" + line.joined(separator: "L"))])
        }
        var measured = points.filter(\.isMeasured)
        func isPlan(_ point: ParetoPoint) -> Bool { point.bits == chosen.bits && point.sqnr == chosen.sqnr }
        if !measured.contains(where: isPlan) {
            measured.append(ParetoPoint(bytes: 0, bits: chosen.bits, sqnr: chosen.sqnr, isMeasured: true))
        }
        for point in measured {
            let isChosen = isPlan(point)
            let held = point.heldOut.map { ", \(figure($0)) dB over held-out samples" } ?? ""
            marks += XML.element(
                "circle",
                [
                    ("class", "injected"), ("cx", XML.number(x(point.bits))), ("cy", XML.number(y(point.sqnr))),
                    ("r", isChosen ? "6" : "3.5"),
                ], XML.element("title", [], "\(figure(point.sqnr)) dB, \(figure(point.bits)) bits a weight\(held)"))
        }
        return XML.element(
            "svg",
            [
                ("xmlns", "http://www.w3.org/2000/svg"), ("viewBox", "0 0 \(XML.number(width)) \(XML.number(height))"),
                ("role", "img"), ("aria-label", "SQNR of the outputs against bits a weight"),
            ], marks)
    }

    private func figure(_ value: Double) -> String { NumberText.fixed(value, digits: 2) }

    /// A table of the weights that cost most, with the rules of the next larger schemes.
    private var ranking: String {
        guard !losses.isEmpty else { return "" }
        let rows = losses.prefix(Self.ranked).map { loss in
            func decibels(_ value: Double) -> String {
                value.isFinite ? NumberText.fixed(value, digits: 1) : "exact"
            }
            let cells = [
                ("name", loss.name), ("", loss.scheme), ("n", Wording.grouped(loss.bytes)),
                ("n", decibels(loss.sqnr)), ("n", loss.remedy?.sqnr.map(decibels) ?? ""), ("name", loss.rule ?? ""),
            ]
            return XML.element(
                "tr", [], cells.map { XML.element("td", [("class", $0.0)], XML.escaped($0.1)) }.joined())
        }
        let head = ["weight", "stored as", "bytes", "dB alone", "with the rule", "the rule of the next larger scheme"]
        return
            "<h2>Which weights hurt</h2>\n<p class=\"soft\">SQNR of the outputs if only this weight is compressed, without gptq and over "
            + "some of the samples.</p>\n"
            + XML.element(
                "table", [],
                XML.element("tr", [], head.map { XML.element("th", [], $0) }.joined()) + rows.joined(separator: "\n"))
            + (losses.count > Self.ranked
                ? "\n<p class=\"soft\">and \(losses.count - Self.ranked) more, in the member ranking of front.json</p>"
                : "")
    }

    private static let ranked = 20

    /// A self-contained HTML page with the chart.
    /// - Parameter facts: sentences on the whole of the plan.
    package func page(title: String, facts: [String] = []) -> String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>\(XML.escaped(title))</title><style>\(PageStyle.text)</style></head>
        <body><main><h1>\(XML.escaped(title))</h1>
        \(facts.map { XML.element("p", [], XML.escaped($0)) }.joined(separator: "\n"))
        <p class="soft">SQNR of all outputs over the samples, by the mean of their relative squared errors, against bits of a weight that the target
        chose for. The line adds up what each weight costs
        alone; dots were measured with all weights stored so, the large one is the plan. Where samples are held out, choices are
        compared by the SQNR over those (the text of a dot, and held_out in front.json).</p>
        \(svg)
        \(ranking)
        </main></body></html>

        """
    }
}
