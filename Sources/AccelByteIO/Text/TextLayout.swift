/// Lines of text within a number of columns. Lines break at blanks, and in words that are too long after a mark between
/// their parts (`encoder.layer.0.`). A part that is still too long stays whole, and so does JSON, which is to be copied.
package enum TextLayout {
    /// Returns a text in lines of at most `width` columns.
    /// - Parameter hanging: the indentation of all lines but the first.
    package static func wrapped(_ text: String, width: Int, hanging: Int = 0) -> [String] {
        guard columns(of: text) > width else { return [text] }
        let blanks = String(repeating: " ", count: max(0, min(hanging, width / 2)))
        var lines = [""]
        var isEmpty = true
        for word in words(of: text, width: width - blanks.count) {
            let fits = columns(of: lines[lines.count - 1]) + columns(of: word.trimmingBlanks) <= width
            if fits || isEmpty {
                lines[lines.count - 1] += word
            } else {
                lines.append(blanks + word.drop { $0 == " " })
            }
            isEmpty = false
        }
        return lines.map(\.trimmingBlanks)
    }

    /// Returns lines of text, each within `width` columns. Continued lines are indented by two more than their first.
    package static func wrappedLines(_ text: String, width: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            wrapped(String(line), width: width, hanging: line.prefix { $0 == " " }.count + 2)
        }.joined(separator: "\n")
    }

    /// Returns the number of columns of a text on a terminal, without ANSI sequences.
    package static func columns(of text: some StringProtocol) -> Int {
        guard text.contains("\u{1B}") else { return text.count }
        var (count, isSequence) = (0, false)
        for character in text {
            if character == "\u{1B}" { isSequence = true }
            if !isSequence { count += 1 }
            if character.isLetter { isSequence = false }
        }
        return count
    }

    /// Returns the columns of the longest part of a text that does not break.
    package static func longestPart(of text: String) -> Int {
        words(of: text, width: 1).map { columns(of: $0.trimmingBlanks.drop { $0 == " " }) }.max() ?? 0
    }

    /// Returns the pieces between which lines may break, each with the blanks around it. Words of at most `width` columns
    /// are whole.
    private static func words(of text: String, width: Int) -> [String] {
        var words: [String] = []
        var word = ""
        var isIndentation = true
        for character in text {
            if character == " ", !isIndentation, word.last != " " {
                words.append(word)
                word = ""
            }
            if character != " " { isIndentation = false }
            word.append(character)
        }
        if !word.isEmpty { words.append(word) }
        return words.flatMap { word in
            columns(of: word.drop { $0 == " " }) > width ? parts(of: word) : [word]
        }
    }

    /// Splits a word after marks that a letter follows, so that numbers, and a layer's number and its name, stay together.
    private static func parts(of word: String) -> [String] {
        // JSON to paste stays whole. `contains` of a text would bring regular expressions into the C library.
        if zip(word, word.dropFirst()).contains(where: { $0 == "{" && $1 == "\"" }) { return [word] }
        var parts = [""]
        for character in word {
            let part = parts[parts.count - 1]
            if character.isLetter, let last = part.last, "./,:_-+".contains(last), part.contains(where: \.isLetter) {
                parts.append("")
            }
            parts[parts.count - 1].append(character)
        }
        return parts
    }
}

extension StringProtocol {
    fileprivate var trimmingBlanks: String {
        var text = String(self)
        while text.last == " " { text.removeLast() }
        return text
    }
}
