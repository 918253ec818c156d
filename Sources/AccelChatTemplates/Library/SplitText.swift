/// Splits a text as Python's `split` and `rsplit` do.
struct SplitText {
    private let text: Text
    /// The most splits.
    private let limit: Int

    init(_ text: Text, limit: Int) { (self.text, self.limit) = (text, limit) }

    /// Returns the parts between separators; nil stands for white space.
    func parts(separator: Text?, fromEnd: Bool) -> [Text] {
        switch (separator, fromEnd) {
        case (let separator?, false): forward(separator)
        case (let separator?, true): backward(separator)
        case (nil, false): words()
        case (nil, true): SplitText(text.reversed(), limit: limit).words().reversed().map { $0.reversed() }
        }
    }

    /// Returns how often a part occurs.
    func count(of part: Text) -> Int { forward(part).count - 1 }

    private func forward(_ separator: Text) -> [Text] {
        var (parts, position) = ([Text](), 0)
        while parts.count < limit, let index = text.firstIndex(of: separator, from: position) {
            parts.append(Array(text[position..<index]))
            position = index + separator.count
        }
        return parts + [Array(text[position...])]
    }

    private func backward(_ separator: Text) -> [Text] {
        var (parts, end) = ([Text](), text.count)
        while parts.count < limit, let index = text.lastIndex(of: separator, to: end) {
            parts.append(Array(text[(index + separator.count)..<end]))
            end = index
        }
        return (parts + [Array(text[..<end])]).reversed()
    }

    private func words() -> [Text] {
        var (parts, position) = ([Text](), 0)
        while true {
            while position < text.count, text[position].isPythonSpace { position += 1 }
            guard position < text.count else { return parts }
            guard parts.count < limit else {
                return parts + [Array(text[position...])]
            }
            let end = text[position...].firstIndex(where: \.isPythonSpace) ?? text.count
            parts.append(Array(text[position..<end]))
            position = end
        }
    }
}
