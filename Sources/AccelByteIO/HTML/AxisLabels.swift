/// The choice of axis labels that do not overlap.
package enum AxisLabels {
    /// The smallest gap between neighbours, in SVG units.
    package static let gap = 6.0

    /// Returns an upper bound for the width of a label of the class `axis`: digits of DejaVu Sans, the widest of the
    /// page's fonts, take 0.64 em, and 1 em is 11 units.
    package static func width(of text: String) -> Double { Double(text.count) * letterWidth }
    /// The width of a digit of the class `axis`, which most letters of a name keep to.
    package static let letterWidth = 7.1

    /// Returns the horizontal range of a label centred at `center`.
    package static func range(of text: String, at center: Double) -> ClosedRange<Double> {
        let half = width(of: text) / 2
        return center - half...center + half
    }

    /// Returns the smallest step of 1, 2 or 5 times a power of ten that divides `span` into at most `count` parts.
    package static func step(spanning span: Double, atMost count: Int) -> Double {
        var power = 1.0
        while power < 1e12 {
            for factor in [1.0, 2, 5] where span / (power * factor) <= Double(max(count, 1)) { return power * factor }
            power *= 10
        }
        return power
    }

    /// Returns the slots that get a label: the one without an exponent, and those whose exponents are multiples of the
    /// smallest step of 1, 2, 5, 10 or 20 for which neighbours do not overlap.
    /// - Parameters:
    ///   - exponents: the exponent of each slot, ascending by one; nil only for the first.
    ///   - center: returns the centre of a slot.
    ///   - width: the width of the picture, which limits the labels.
    package static func decades(
        _ exponents: [Int?], center: (Int) -> Double, width: Double, text: (Int?) -> String
    ) -> [Int] {
        func box(_ index: Int) -> ClosedRange<Double> { range(of: text(exponents[index]), at: center(index)) }
        let zero = exponents.indices.filter { exponents[$0] == nil }
        let start = zero.last.map { box($0).upperBound + gap } ?? 0
        for step in [1, 2, 5, 10, 20] {
            let shown = exponents.indices.filter { index in
                guard let exponent = exponents[index], exponent % step == 0 else { return false }
                return box(index).lowerBound >= start && box(index).upperBound <= width
            }
            let fits = zip(shown, shown.dropFirst()).allSatisfy { box($0).upperBound + gap <= box($1).lowerBound }
            if fits { return zero + shown }
        }
        return zero
    }

    /// Returns the labels of neighbouring ranges, such as the calls of each layer, by index: all names where each fits into
    /// its range; else the numbers, or every second, fifth ... of them, and the names without a number that fit.
    /// - Parameter ranges: the name, its number if it has one, and the horizontal range of each.
    package static func layers(_ ranges: [(name: String, number: Int?, range: ClosedRange<Double>)]) -> [Int: String] {
        func fits(_ name: String, _ range: ClosedRange<Double>) -> Bool {
            width(of: name) + gap <= range.upperBound - range.lowerBound
        }
        func label(_ index: Int, _ name: String) -> (Int, String)? {
            fits(name, ranges[index].range) ? (index, name) : nil
        }
        let numbered = ranges.indices.filter { ranges[$0].number != nil }
        let names = Dictionary(
            ranges.indices.filter { ranges[$0].number == nil }.compactMap { label($0, ranges[$0].name) }
        ) { first, _ in first }
        let full = Dictionary(numbered.compactMap { label($0, ranges[$0].name) }) { first, _ in first }
        if full.count == numbered.count { return full.merging(names) { first, _ in first } }
        for step in [1, 2, 5, 10, 20, 50, 100] {
            let shown = numbered.filter { (ranges[$0].number ?? 0) % step == 0 }
            let boxes = (shown.map { ($0, "\(ranges[$0].number ?? 0)") } + names.map { ($0.key, $0.value) })
                .sorted { $0.0 < $1.0 }
                .map { index, text in
                    range(of: text, at: (ranges[index].range.lowerBound + ranges[index].range.upperBound) / 2)
                }
            guard zip(boxes, boxes.dropFirst()).allSatisfy({ $0.upperBound + gap <= $1.lowerBound }) else { continue }
            return Dictionary(shown.map { ($0, "\(ranges[$0].number ?? 0)") }) { first, _ in first }
                .merging(names) { first, _ in first }
        }
        return names
    }
}
