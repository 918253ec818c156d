/// The choice of axis labels that do not overlap.
package enum AxisLabels {
    /// The smallest gap between neighbours, in SVG units.
    package static let gap = 6.0

    /// Returns an upper bound for the width of a label of the class `axis`: digits of DejaVu Sans, the widest of the
    /// page's fonts, take 0.64 em, and 1 em is 11 units.
    package static func width(of text: String) -> Double { Double(text.count) * 7.1 }

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
}
