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

/// The elements that pictures are made of.
enum SVG {
    static func picture(_ width: Double, _ height: Double, label: String, _ content: String) -> String {
        XML.element(
            "svg",
            [
                ("viewBox", "0 0 \(XML.number(width)) \(XML.number(height))"), ("role", "img"), ("aria-label", label),
            ], content)
    }

    static func text(_ x: Double, _ y: Double, _ text: String) -> String { self.text(x, y, "axis", text) }

    static func text(_ x: Double, _ y: Double, _ style: String, _ text: String) -> String {
        XML.element("text", [("x", XML.number(x)), ("y", XML.number(y)), ("class", style)], XML.escaped(text))
    }

    static func title(_ text: String) -> String { XML.element("title", [], XML.escaped(text)) }

    static func rectangle(
        _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ style: String,
        corner: [(String, String)] = [], _ content: String = ""
    ) -> String {
        let numbers = [("x", x), ("y", y), ("width", width), ("height", height)].map { ($0, XML.number($1)) }
        return XML.element("rect", numbers + corner + [("class", style)], content)
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
            + SVG.text(left - 6, y(value) + 4, "axis end", label)
    }
}
