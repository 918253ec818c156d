/// Which labels of an axis are printed, so that none overlaps its neighbour.
package enum AxisLabels {
    /// Units between neighbours.
    package static let gap = 6.0

    /// The most units that a label of the class `axis` takes: digits of DejaVu Sans, the widest of the page's fonts, are
    /// 0.64 em, and 1 em is 11 units.
    package static func width(of text: String) -> Double { Double(text.count) * 7.1 }

    /// The horizontal range of a label that is centred at `center`.
    package static func range(of text: String, at center: Double) -> ClosedRange<Double> {
        let half = width(of: text) / 2
        return center - half...center + half
    }

    /// 1, 2 or 5 times a power of ten: the least step that marks `span` at most `count` times.
    package static func step(spanning span: Double, atMost count: Int) -> Double {
        var power = 1.0
        while power < 1e12 {
            for factor in [1.0, 2, 5] where span / (power * factor) <= Double(max(count, 1)) { return power * factor }
            power *= 10
        }
        return power
    }

    /// The places of a row of slots that get a label: the one without an exponent, and exponents that are multiples of the
    /// least step of 1, 2, 5, 10 or 20 at which neighbours fit.
    /// - Parameters:
    ///   - exponents: of each slot in order, ascending by one; nil only for the first.
    ///   - center: of a slot.
    ///   - width: the width of the picture, which labels do not leave.
    package static func decades(
        _ exponents: [Int?], center: (Int) -> Double, width: Double, text: (Int?) -> String
    ) -> [Int] {
        func box(_ place: Int) -> ClosedRange<Double> { range(of: text(exponents[place]), at: center(place)) }
        let zero = exponents.indices.filter { exponents[$0] == nil }
        let start = zero.last.map { box($0).upperBound + gap } ?? 0
        for step in [1, 2, 5, 10, 20] {
            let places = exponents.indices.filter { place in
                guard let exponent = exponents[place], exponent % step == 0 else { return false }
                return box(place).lowerBound >= start && box(place).upperBound <= width
            }
            let fits = zip(places, places.dropFirst()).allSatisfy { box($0).upperBound + gap <= box($1).lowerBound }
            if fits { return zero + places }
        }
        return zero
    }
}
