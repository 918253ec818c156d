import AccelByteIO

/// A picture that is drawn once for wide screens and once for narrow ones, so that its text has the size of other text on
/// both.
protocol Chart {
    func svg(_ screen: Screen) -> String
}

enum Screen: String, CaseIterable {
    case wide, narrow

    /// The width of a chart in its own units, which are about those of the screen.
    var width: Double { self == .wide ? 960 : 360 }
}

extension Chart {
    /// Both pictures; the style sheet shows one of them.
    var html: String {
        Screen.allCases.map { "<div class=\"\($0.rawValue)\">\(svg($0))</div>" }.joined(separator: "\n")
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
