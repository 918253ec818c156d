import AccelByteIO
import AccelTensors

/// Bytes of the largest tensors: stored, and in the checkpoint. Tensors of layers that are stored alike share a bar.
struct SizeChart: Chart {
    let rows: [WeightFinding]
    private static let shown = 16

    private struct Bar {
        var name: String
        /// The names without abbreviation.
        var detail: String
        var stored: Int
        var source: Int
    }

    private var bars: [Bar] {
        let groups = FoldedNames.all(rows, name: \.name) { [$0.codec, $0.shape.description] }.map { group in
            Bar(
                name: group.shortName,
                detail: group.elements.count == 1
                    ? group.name : "\(group.name) (\(Wording.count(group.elements.count, "tensor")))",
                stored: group.elements.reduce(0) { $0 + $1.byteCount },
                source: group.elements.reduce(0) { $0 + $1.sourceByteCount })
        }
        let sorted = groups.enumerated().sorted {
            ($1.element.source, $0.offset) < ($0.element.source, $1.offset)
        }.map(\.element)
        let rest = sorted.dropFirst(Self.shown)
        guard !rest.isEmpty else { return sorted }
        let name = "\(Wording.grouped(rest.count)) more"
        let (stored, source) = rest.reduce((0, 0)) { ($0.0 + $1.stored, $0.1 + $1.source) }
        let more = Bar(name: name, detail: name, stored: stored, source: source)
        return Array(sorted.prefix(Self.shown)) + [more]
    }

    /// On a wide screen names stand left of the bars, on a narrow one above them.
    func svg(_ screen: Screen) -> String {
        let bars = bars
        let isWide = screen == .wide
        let (left, line, top) = isWide ? (400.0, 22.0, 4.0) : (0.0, 40.0, 18.0)
        let letters = Int(((isWide ? left : screen.width) - 8) / AxisLabels.letterWidth)
        let largest = Double(bars.map { max($0.source, $0.stored) }.max() ?? 1)
        let scale = (screen.width - left - 140) / max(largest, 1)
        let content = bars.enumerated().map { index, bar in
            let y = Double(index) * line
            let name = bar.name.count > letters ? "…" + bar.name.suffix(letters - 1) : bar.name
            let length = max(Double(bar.source), Double(bar.stored)) * scale
            let text = "\(FigureText.bytes(bar.stored)) of \(FigureText.bytes(bar.source))"
            func rectangle(_ bytes: Int, _ style: String) -> String {
                SVG.rectangle(left, y + top, max(Double(bytes) * scale, 1), 14, style, corner: [("rx", "2")])
            }
            return XML.element(
                "g", [],
                SVG.title("\(bar.detail): \(text)")
                    + SVG.text(isWide ? left - 8 : 0, y + (isWide ? 15 : 12), isWide ? "axis end" : "axis", name)
                    + rectangle(bar.source, "source") + rectangle(bar.stored, "stored")
                    + SVG.text(left + length + 6, y + top + 11, text))
        }.joined()
        return SVG.picture(
            screen.width, Double(max(bars.count, 1)) * line + 4,
            label: "Bytes of each tensor, stored and in the checkpoint", content)
    }
}

/// A histogram of errors: a bar for each power of ten. Its title stands above it, in the page.
struct HistogramChart: Chart {
    let title: String
    let distribution: ErrorDistribution
    private let height = 204.0
    /// The largest number of decades with a bar of their own: a few outputs of nearly zero have errors of any size below.
    private static let decades = 12

    /// The bars, those far below the largest errors in one, and the lowest decade above these; nil if each decade has its bar.
    private var bars: (all: [ErrorDistribution.Bar], lowest: Int?) {
        let all = distribution.decades
        let exponents = all.compactMap(\.exponent)
        guard let low = exponents.min(), let high = exponents.max(), high - low >= Self.decades else {
            return (all, nil)
        }
        let lowest = high - Self.decades + 1
        let below = all.filter { $0.exponent ?? lowest < lowest }
        let sum = ErrorDistribution.Bar(exponent: lowest - 1, count: below.reduce(0) { $0 + $1.count })
        return (all.filter { $0.exponent == nil } + [sum] + all.filter { $0.exponent ?? low >= lowest }, lowest)
    }

    /// On a wide screen two charts stand side by side.
    func svg(_ screen: Screen) -> String {
        let width = screen == .wide ? 470 : screen.width
        let (bars, lowest) = self.bars
        func label(_ exponent: Int?) -> String {
            guard let exponent else { return "0" }
            if let lowest, exponent < lowest { return "<1e\(lowest)" }
            return "1e\(exponent)"
        }
        let plot = Plot(
            width: width, height: height, left: 44, right: 8, top: 10, bottom: 34, low: 0, high: top(bars))
        let slot = plot.innerWidth / Double(max(bars.count, 1))
        func center(_ index: Int) -> Double { plot.left + (Double(index) + 0.5) * slot }
        // What is far below has its name in the bar's title alone.
        let labelled = AxisLabels.decades(bars.map(\.exponent), center: center, width: width, text: label)
            .filter { (bars[$0].exponent ?? .max) >= lowest ?? .min }
        let content = bars.enumerated().map { index, bar in
            let share = Double(bar.count) / Double(max(distribution.count, 1)) * 100
            let y = plot.y(share)
            let name = label(bar.exponent)
            let text = "\(name): \(Wording.grouped(bar.count)) elements, \(FigureText.fixed(share, digits: 2)) %"
            return SVG.rectangle(
                center(index) - slot * 0.4, y, slot * 0.8, plot.top + plot.innerHeight - y, "stored", SVG.title(text))
                + (labelled.contains(index)
                    ? SVG.text(center(index), plot.height - plot.bottom + 16, "axis middle", name) : "")
        }.joined()
        let marks = [0, 0.5, 1].map { plot.gridLine(at: $0 * plot.high, label: "\(Int($0 * plot.high)) %") }.joined()
        return SVG.picture(
            width, height, label: "Histogram of absolute errors: \(title)", SVG.title(title) + marks + content)
    }

    /// Returns the end of the axis: the next 20 % above the highest bar.
    private func top(_ bars: [ErrorDistribution.Bar]) -> Double {
        let highest = Double(bars.map(\.count).max() ?? 0) / Double(max(distribution.count, 1)) * 100
        return min(100, max(20, (highest / 20).rounded(.up) * 20))
    }
}
