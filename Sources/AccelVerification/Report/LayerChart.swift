import AccelByteIO

/// SQNR of every call of a function in order: injected as dots, propagated as a line. Calls that
/// lose nothing lie on the top edge.
struct LayerChart: Chart {
    let rows: [OperatorFinding]

    func svg(_ screen: Screen) -> String {
        let values = rows.flatMap { [$0.injected.sqnr, $0.propagated?.sqnr ?? .infinity] }.filter(\.isFinite)
        // Compared with errors of compression, float32 rounding is as good as exact: both are drawn at the top edge.
        let lossy = values.filter { $0 < SchemeTolerance.rounding }
        let top = ((lossy.max() ?? values.max() ?? SchemeTolerance.rounding) / 10).rounded(.up) * 10 + 10
        let lowest = min(0, ((values.min() ?? 0) / 10).rounded(.down) * 10)
        let highest = max(lowest + 20, top)
        let plot = Plot(
            width: screen.width, height: screen == .wide ? 306 : 240, left: 48, right: 8, top: 20, bottom: 32,
            low: lowest,
            high: highest)
        return SVG.picture(
            plot.width, plot.height, label: "SQNR of each call, injected and propagated",
            grid(plot) + bands(plot) + line(plot) + dots(plot))
    }

    private func x(_ index: Int, _ plot: Plot) -> Double {
        plot.left + (Double(index) + 0.5) / Double(max(rows.count, 1)) * plot.innerWidth
    }

    private func grid(_ plot: Plot) -> String {
        let step = max(AxisLabels.step(spanning: plot.high - plot.low, atMost: 8), 10)
        var marks = ""
        var value = (plot.low / step).rounded(.up) * step
        while value < plot.high - step / 2 {
            marks += plot.gridLine(at: value, label: "\(Int(value))")
            value += step
        }
        return marks + plot.gridLine(at: plot.high, label: "\u{2265} \(Int(plot.high))")
            + SVG.text(4, 9, "dB")
    }

    /// Bands for stretches of calls that belong to one layer, and names for those where they fit.
    private func bands(_ plot: Plot) -> String {
        let groups = layers
        func edge(_ index: Int) -> Double { plot.left + Double(index) / Double(max(rows.count, 1)) * plot.innerWidth }
        let labels = AxisLabels.layers(
            groups.map { ($0.name, $0.number, edge($0.calls.lowerBound)...edge($0.calls.upperBound)) })
        let isNumbered = labels.contains { Int($0.value) != nil }
        return groups.enumerated().map { index, group in
            let (from, to) = (edge(group.calls.lowerBound), edge(group.calls.upperBound))
            let worst = rows[group.calls].min { $0.injected.sqnr < $1.injected.sqnr }
            let text = worst.map {
                "\(group.name): worst is \($0.label), injected \(FigureText.decibels($0.injected.sqnr)) dB"
            }
            return SVG.rectangle(
                from, plot.top, to - from, plot.innerHeight, index % 2 == 1 ? "band" : "bare",
                SVG.title(text ?? group.name))
                + (labels[index].map { SVG.text((from + to) / 2, plot.height - plot.bottom + 18, "axis middle", $0) }
                    ?? "")
        }.joined() + (isNumbered ? SVG.text(4, plot.height - plot.bottom + 18, "layer") : "")
    }

    /// The stretches of calls whose labels are equal up to their first number, e.g. `encoder.layer.3`; else in their first
    /// part. The number is nil without one.
    private var layers: [(name: String, number: Int?, calls: Range<Int>)] {
        var groups: [(name: String, number: Int?, calls: Range<Int>)] = []
        for (index, row) in rows.enumerated() {
            let parts = row.label.split(separator: ".")
            // A number at the end only makes labels unique.
            let end = parts.dropLast().firstIndex { Int($0) != nil }
            let name = parts.prefix((end ?? 0) + 1).joined(separator: ".")
            if let last = groups.last, last.name == name {
                groups[groups.count - 1].calls = last.calls.lowerBound..<index + 1
            } else {
                groups.append((name, end.flatMap { Int(parts[$0]) }, index..<index + 1))
            }
        }
        return groups
    }

    private func line(_ plot: Plot) -> String {
        let points = rows.enumerated().compactMap { index, row in
            row.propagated.map { "\(XML.number(x(index, plot))),\(XML.number(plot.y($0.sqnr)))" }
        }
        return points.isEmpty
            ? "" : XML.element("polyline", [("points", points.joined(separator: " ")), ("class", "propagated")])
    }

    private func dots(_ plot: Plot) -> String {
        let radius = plot.innerWidth / Double(max(rows.count, 1)) < 5 ? 2.0 : 3.0
        return rows.enumerated().map { index, row in
            let propagated = row.propagated.map { FigureText.decibels($0.sqnr) } ?? "-"
            let text =
                "\(row.label) (\(row.kind)): injected \(FigureText.decibels(row.injected.sqnr)) dB, "
                + "propagated \(propagated) dB"
            return XML.element(
                "circle",
                [
                    ("cx", XML.number(x(index, plot))), ("cy", XML.number(plot.y(row.injected.sqnr))),
                    ("r", XML.number(radius)), ("class", row.failure == nil ? "injected" : "failed"),
                ], SVG.title(text))
        }.joined()
    }
}
