/// Texts for HTML.
enum HTMLText {
    private static let escapes: [Unicode.Scalar: Text] = [
        "&": Text("&amp;"), "<": Text("&lt;"), ">": Text("&gt;"), "'": Text("&#39;"), "\"": Text("&#34;"),
    ]

    /// Returns what a value prints with the marks of HTML escaped, unless it is safe already.
    static func escaped(_ value: Value) -> Text {
        if case .markup(let text) = value { return text }
        return escaped(value.printed)
    }

    static func escaped(_ text: Text) -> Text { text.flatMap { escapes[$0] ?? [$0] } }
}
