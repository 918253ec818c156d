import AccelByteIO

/// SQNR of every call of a function in order: injected as dots, propagated as a line. Calls that
/// lose nothing lie on the top edge.
struct LayerChart {
    let rows: [OperatorFinding]

    var svg: String {
        let values = rows.flatMap { [$0.injected.sqnr, $0.propagated?.sqnr ?? .infinity] }.filter(\.isFinite)
        // Compared with errors of compression, float32 rounding is as good as exact: both are drawn at the top edge.
        let lossy = values.filter { $0 < SchemeTolerance.rounding }
        let top = ((lossy.max() ?? values.max() ?? SchemeTolerance.rounding) / 10).rounded(.up) * 10 + 10
        let lowest = min(0, ((values.min() ?? 0) / 10).rounded(.down) * 10)
        let highest = max(lowest + 20, top)
        let plot = Plot(
            width: 960, height: 306, left: 48, right: 12, top: 20, bottom: 32, low: lowest, high: highest)
        return XML.element(
            "svg",
            [
                ("viewBox", "0 0 \(XML.number(plot.width)) \(XML.number(plot.height))"), ("role", "img"),
                ("aria-label", "SQNR of each call, injected and propagated"),
            ],
            grid(plot) + groups(plot) + line(plot) + dots(plot))
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
            + XML.element("text", [("x", "4"), ("y", "9"), ("class", "axis")], "dB")
    }

    /// Bands and names for stretches of calls that belong to one layer.
    private func groups(_ plot: Plot) -> String {
        var groups: [(name: String, start: Int, end: Int)] = []
        for (index, row) in rows.enumerated() {
            let name = Self.group(of: row.label)
            if groups.last?.name == name {
                groups[groups.count - 1].end = index + 1
            } else {
                groups.append((name, index, index + 1))
            }
        }
        return groups.enumerated().map { number, group in
            let from = plot.left + Double(group.start) / Double(rows.count) * plot.innerWidth
            let to = plot.left + Double(group.end) / Double(rows.count) * plot.innerWidth
            let band =
                number % 2 == 1
                ? XML.element(
                    "rect",
                    [
                        ("x", XML.number(from)), ("y", XML.number(plot.top)), ("width", XML.number(to - from)),
                        ("height", XML.number(plot.innerHeight)), ("class", "band"),
                    ]) : ""
            // A name that does not fit is only in the table below.
            func fits(_ name: String) -> Bool { AxisLabels.width(of: name) + AxisLabels.gap <= to - from }
            let name = fits(group.name) ? group.name : Self.number(in: group.name)
            guard !name.isEmpty, fits(name) else { return band }
            return band
                + XML.element(
                    "text",
                    [
                        ("x", XML.number((from + to) / 2)), ("y", XML.number(plot.height - plot.bottom + 18)),
                        ("class", "axis middle"),
                    ], XML.escaped(name))
        }.joined()
    }

    /// Returns the label up to its first number, e.g. `encoder.layer.3`; else its first part.
    private static func group(of label: String) -> String {
        let parts = label.split(separator: ".")
        // A number at the end only makes labels unique.
        let end = parts.dropLast().firstIndex { Int($0) != nil } ?? 0
        return parts.prefix(end + 1).joined(separator: ".")
    }

    private static func number(in group: String) -> String {
        group.split(separator: ".").last.flatMap { Int($0) }.map(String.init) ?? ""
    }

    private func line(_ plot: Plot) -> String {
        let points = rows.enumerated().compactMap { index, row in
            row.propagated.map { "\(XML.number(x(index, plot))),\(XML.number(plot.y($0.sqnr)))" }
        }
        return points.isEmpty
            ? "" : XML.element("polyline", [("points", points.joined(separator: " ")), ("class", "propagated")])
    }

    private func dots(_ plot: Plot) -> String {
        rows.enumerated().map { index, row in
            let propagated = row.propagated.map { Figure.decibels($0.sqnr) } ?? "-"
            let text =
                "\(row.label) (\(row.kind)): injected \(Figure.decibels(row.injected.sqnr)) dB, "
                + "propagated \(propagated) dB"
            return XML.element(
                "circle",
                [
                    ("cx", XML.number(x(index, plot))), ("cy", XML.number(plot.y(row.injected.sqnr))), ("r", "3"),
                    ("class", row.failure == nil ? "injected" : "failed"),
                ], XML.element("title", [], XML.escaped(text)))
        }.joined()
    }
}

/// A plotting area with a linear vertical axis.
struct Plot {
    let width: Double
    let height: Double
    let left: Double
    let right: Double
    let top: Double
    let bottom: Double
    let low: Double
    let high: Double

    var innerWidth: Double { width - left - right }
    var innerHeight: Double { height - top - bottom }

    /// The height of a value; values beyond the axis are clamped to its edge.
    func y(_ value: Double) -> Double {
        let share = (min(max(value.isNaN ? low : value, low), high) - low) / (high - low)
        return top + (1 - share) * innerHeight
    }

    func gridLine(at value: Double, label: String) -> String {
        let height = XML.number(y(value))
        return XML.element(
            "line",
            [
                ("x1", XML.number(left)), ("x2", XML.number(width - right)), ("y1", height), ("y2", height),
                ("class", "grid"),
            ])
            + XML.element(
                "text", [("x", XML.number(left - 6)), ("y", XML.number(y(value) + 4)), ("class", "axis end")], label)
    }
}
