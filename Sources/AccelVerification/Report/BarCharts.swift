import AccelByteIO

/// Bytes of the largest tensors: stored, and in the checkpoint.
struct SizeChart {
    let rows: [WeightFinding]
    private static let shown = 16
    private let width = 960.0
    private let line = 22.0
    private let names = 400.0

    var svg: String {
        let sorted = rows.enumerated().sorted {
            ($1.element.sourceByteCount, $0.offset) < ($0.element.sourceByteCount, $1.offset)
        }.map(\.element)
        var bars = sorted.prefix(Self.shown).map { (name: $0.name, stored: $0.byteCount, source: $0.sourceByteCount) }
        let rest = sorted.dropFirst(Self.shown)
        if !rest.isEmpty {
            bars.append(
                (
                    "\(Wording.grouped(rest.count)) more", rest.reduce(0) { $0 + $1.byteCount },
                    rest.reduce(0) { $0 + $1.sourceByteCount }
                ))
        }
        let largest = Double(bars.map { max($0.source, $0.stored) }.max() ?? 1)
        let scale = (width - names - 170) / max(largest, 1)
        let content = bars.enumerated().map { index, bar in
            let y = Double(index) * line
            let name = bar.name.count > 60 ? "…" + bar.name.suffix(59) : bar.name
            let length = max(Double(bar.source), Double(bar.stored)) * scale
            return XML.element(
                "text", [("x", XML.number(names - 8)), ("y", XML.number(y + 15)), ("class", "axis end")],
                XML.escaped(name))
                + rectangle(names, y + 4, Double(bar.source) * scale, "source")
                + rectangle(names, y + 4, Double(bar.stored) * scale, "stored")
                + XML.element(
                    "text", [("x", XML.number(names + length + 6)), ("y", XML.number(y + 15)), ("class", "axis")],
                    "\(Figure.bytes(bar.stored)) of \(Figure.bytes(bar.source))")
        }.joined()
        return XML.element(
            "svg",
            [
                ("viewBox", "0 0 \(XML.number(width)) \(XML.number(Double(max(bars.count, 1)) * line + 4))"),
                ("role", "img"), ("aria-label", "Bytes of each tensor, stored and in the checkpoint"),
            ], content)
    }

    private func rectangle(_ x: Double, _ y: Double, _ width: Double, _ name: String) -> String {
        XML.element(
            "rect",
            [
                ("x", XML.number(x)), ("y", XML.number(y)), ("width", XML.number(max(width, 1))), ("height", "14"),
                ("rx", "2"), ("class", name),
            ])
    }
}

/// A histogram of errors: a bar for each power of ten.
struct HistogramChart {
    let title: String
    let distribution: ErrorDistribution
    private let width = 470.0
    private let height = 220.0

    var svg: String {
        let bars = distribution.decades
        let plot = Plot(
            width: width, height: height, left: 44, right: 8, top: 26, bottom: 34, low: 0, high: top(bars))
        let slot = plot.innerWidth / Double(max(bars.count, 1))
        func center(_ index: Int) -> Double { plot.left + (Double(index) + 0.5) * slot }
        let labelled = AxisLabels.decades(bars.map(\.exponent), center: center, width: width, text: Self.label)
        let content = bars.enumerated().map { index, bar in
            let share = Double(bar.count) / Double(max(distribution.count, 1)) * 100
            let y = plot.y(share)
            let name = Self.label(bar.exponent)
            let text = "\(name): \(Wording.grouped(bar.count)) elements, \(Figure.fixed(share, digits: 2)) %"
            return XML.element(
                "rect",
                [
                    ("x", XML.number(center(index) - slot * 0.4)), ("y", XML.number(y)),
                    ("width", XML.number(slot * 0.8)),
                    ("height", XML.number(plot.top + plot.innerHeight - y)), ("class", "stored"),
                ], XML.element("title", [], text))
                + (labelled.contains(index)
                    ? XML.element(
                        "text",
                        [
                            ("x", XML.number(center(index))), ("y", XML.number(plot.height - plot.bottom + 16)),
                            ("class", "axis middle"),
                        ], name) : "")
        }.joined()
        let marks = [0, 0.5, 1].map { plot.gridLine(at: $0 * plot.high, label: "\(Int($0 * plot.high)) %") }.joined()
        let caption = XML.element("text", [("x", "4"), ("y", "14"), ("class", "caption")], XML.escaped(title))
        return XML.element(
            "svg",
            [
                ("viewBox", "0 0 \(XML.number(width)) \(XML.number(height))"), ("role", "img"),
                ("aria-label", "Histogram of absolute errors: \(title)"),
            ], caption + marks + content)
    }

    private static func label(_ exponent: Int?) -> String { exponent.map { "1e\($0)" } ?? "0" }

    /// Returns the end of the axis: the next 20 % above the highest bar.
    private func top(_ bars: [ErrorDistribution.Bar]) -> Double {
        let highest = Double(bars.map(\.count).max() ?? 0) / Double(max(distribution.count, 1)) * 100
        return min(100, max(20, (highest / 20).rounded(.up) * 20))
    }
}
