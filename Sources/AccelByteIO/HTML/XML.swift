/// Text for HTML and SVG. Names come from files, so all text that is not our own markup has to go through `escaped`.
package enum XML {
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // XML does not allow control characters.
            case "\u{0}"..<"\u{20}" where scalar != "\n": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns a coordinate with at most two decimals.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "0" }
        let text = NumberText.fixed(value, digits: 2)
        let trimmed = text.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed()
        return trimmed.isEmpty || String(trimmed) == "-0" ? "0" : String(trimmed)
    }

    package static func element(_ name: String, _ attributes: [(String, String)] = [], _ content: String = "") -> String
    {
        let list = attributes.map { " \($0)=\"\(escaped($1))\"" }.joined()
        return content.isEmpty ? "<\(name)\(list)/>" : "<\(name)\(list)>\(content)</\(name)>"
    }
}
