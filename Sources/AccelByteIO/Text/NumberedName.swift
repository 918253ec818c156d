/// A name with numbers in it, such as that of a layer's tensor or of a key/value cache. Names sort by their numbers:
/// `k.2` before `k.10`.
package struct NumberedName: Hashable, Comparable, Sendable {
    /// The texts before, between and after the numbers.
    let texts: [String]
    /// Numbers of at most nine digits, without a leading zero. Digits after a leading zero are text, so that the parts determine the name.
    let numbers: [Int]

    package init(_ name: String) {
        var texts = [""]
        var numbers: [Int] = []
        var rest = Substring(name)
        while !rest.isEmpty {
            let text = rest.prefix { !($0.isASCII && $0.isNumber) }
            texts[texts.count - 1] += text
            rest = rest.dropFirst(text.count)
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            if digits.count <= 9, digits == "0" || digits.first != "0", let number = Int(digits) {
                numbers.append(number)
                texts.append("")
            } else {
                texts[texts.count - 1] += digits
            }
        }
        (self.texts, self.numbers) = (texts, numbers)
    }

    package static func < (left: NumberedName, right: NumberedName) -> Bool {
        for index in 0..<max(left.texts.count, right.texts.count) {
            guard left.texts.indices.contains(index), right.texts.indices.contains(index) else {
                return left.texts.count < right.texts.count
            }
            if left.texts[index] != right.texts[index] { return left.texts[index] < right.texts[index] }
            guard left.numbers.indices.contains(index), right.numbers.indices.contains(index) else { continue }
            if left.numbers[index] != right.numbers[index] { return left.numbers[index] < right.numbers[index] }
        }
        return false
    }
}

extension Sequence where Element == String {
    /// The names in their order by numbers.
    package func sortedByNumbers() -> [String] { sortedByNumbers { $0 } }
}

extension Sequence {
    /// Returns the elements in the order of their names by numbers.
    package func sortedByNumbers(_ name: (Element) -> String) -> [Element] {
        map { (NumberedName(name($0)), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}

/// Elements of a listing that share a line: they are of one kind, and their names differ in consecutive numbers only.
/// Numbers in brackets, which are sizes (`model[batch=1]`), never share one.
package struct FoldedNames<Element> {
    /// The name, or `k.0 to k.23`: the first name and the last one.
    package let name: String
    /// The name with each number replaced by its range: `layers.0…23.weight`.
    package let shortName: String
    /// The elements by their numbers.
    package let elements: [Element]

    /// Folds the elements of a listing. Each group stands where its first element was.
    /// - Parameter kind: returns what has to be equal for elements of one line.
    package static func all<Kind: Hashable>(
        _ elements: [Element], name: (Element) -> String, kind: (Element) -> Kind
    ) -> [FoldedNames] {
        var boxes = elements.enumerated().map { index, element in
            let name = NumberedName(name(element))
            return Box(texts: name.texts, ranges: name.numbers.map { $0...$0 }, kind: kind(element), members: [index])
        }
        for position in (0..<(boxes.map(\.ranges.count).max() ?? 0)).reversed() {
            boxes = merged(boxes, at: position)
        }
        return boxes.sorted { ($0.members.min() ?? 0) < ($1.members.min() ?? 0) }.map { box in
            FoldedNames(name: box.name, shortName: box.shortName, elements: box.members.map { elements[$0] })
        }
    }

    /// The names with each number in a range.
    private struct Box<Kind: Hashable>: Hashable {
        let texts: [String]
        var ranges: [ClosedRange<Int>]
        let kind: Kind
        /// The indices of the elements.
        var members: [Int]

        /// The box without its range at a position, and without its members.
        func key(without position: Int) -> Box {
            var key = self
            key.members = []
            key.ranges[position] = 0...0
            return key
        }

        /// Whether the number at a position is outside of brackets.
        func changes(at position: Int) -> Bool {
            guard ranges.indices.contains(position) else { return false }
            let before = texts.prefix(position + 1).joined()
            return before.count { $0 == "[" } <= before.count { $0 == "]" }
        }

        var shortName: String {
            zip(texts, ranges).map { text, range in
                range.count == 1 ? "\(text)\(range.lowerBound)" : "\(text)\(range.lowerBound)…\(range.upperBound)"
            }.joined() + (texts.last ?? "")
        }

        var name: String {
            func text(_ end: (ClosedRange<Int>) -> Int) -> String {
                zip(texts, ranges).map { "\($0)\(end($1))" }.joined() + (texts.last ?? "")
            }
            let (first, last) = (text(\.lowerBound), text(\.upperBound))
            return first == last ? first : "\(first) to \(last)"
        }
    }

    private static func merged<Kind>(_ boxes: [Box<Kind>], at position: Int) -> [Box<Kind>] {
        func rank(_ box: Box<Kind>) -> (Int, Int) { (box.ranges[position].lowerBound, box.members.min() ?? 0) }
        let fixed = boxes.filter { !$0.changes(at: position) }
        let groups = Dictionary(grouping: boxes.filter { $0.changes(at: position) }) { $0.key(without: position) }
        return fixed
            + groups.values.flatMap { group in
                var runs: [Box<Kind>] = []
                for box in group.sorted(by: { rank($0) < rank($1) }) {
                    if let last = runs.last, last.ranges[position].upperBound + 1 == box.ranges[position].lowerBound {
                        let range = last.ranges[position].lowerBound...box.ranges[position].upperBound
                        runs[runs.count - 1].ranges[position] = range
                        runs[runs.count - 1].members += box.members
                    } else {
                        runs.append(box)
                    }
                }
                return runs
            }
    }
}
