import CAccelKernels

/// Ascending entries, with a search for the nearest one.
struct Palette {
    let entries: [Float]
    /// The bounds between entries i and i + 1: x belongs to i + 1 or later if and only if x > bounds[i]. Each is the
    /// largest float32 that is not above the middle, so that comparisons of float32 values are exact.
    let bounds: [Float]
    /// Each entry is above the one before it; equal ones are side by side where there are fewer values than entries.
    private let isStrict: Bool

    init(_ entries: [Float]) {
        self.entries = entries
        isStrict = zip(entries, entries.dropFirst()).allSatisfy { $0 < $1 }
        bounds = zip(entries, entries.dropFirst()).map { low, high in
            let middle = (Double(low) + Double(high)) / 2
            let rounded = Float(middle)
            return Double(rounded) > middle ? rounded.nextDown : rounded
        }
    }

    func entry(_ code: UInt8) -> Float { entries[Int(code)] }

    /// Finds the codes of the entries nearest to `values` divided by `scale`; of two equally near entries, the lower.
    func encode(
        _ values: UnsafeBufferPointer<Float>, scale: Float, into codes: UnsafeMutableBufferPointer<UInt8>
    ) -> Distortion {
        guard let source = values.baseAddress, let target = codes.baseAddress else { return Distortion() }
        bounds.withUnsafeBufferPointer { bounds in
            if scale == 1 {
                ck_nearest_codes(source, values.count, bounds.baseAddress, bounds.count, target)
            } else {
                withUnsafeTemporaryAllocation(of: Float.self, capacity: values.count) { divided in
                    for index in values.indices { divided[index] = values[index] / scale }
                    ck_nearest_codes(divided.baseAddress, values.count, bounds.baseAddress, bounds.count, target)
                }
            }
        }
        var errors = ck_errors()
        ck_add_palette_errors(source, target, values.count, entries, scale, &errors)
        return Distortion(errors, count: values.count)
    }

    /// Returns whether no entry is nearer to `value / scale` than that of `code`.
    func isNearest(_ code: UInt8, to value: Float, scale: Float) -> Bool {
        let x = value / scale
        guard entries.indices.contains(Int(code)) else { return false }
        let distance = abs(Double(x) - Double(entries[Int(code)]))
        if isStrict, !distance.isNaN {
            // Only the entries beside it can be nearer.
            let (below, above) = (Int(code) - 1, Int(code) + 1)
            return (below < 0 || abs(Double(x) - Double(entries[below])) >= distance)
                && (above == entries.count || abs(Double(x) - Double(entries[above])) >= distance)
        }
        return entries.allSatisfy { abs(Double(x) - Double($0)) >= distance }
    }

    /// The largest distance in codes between a code of error feedback and the nearest one: at most a quarter of the table.
    static func feedbackReach(of entries: Int) -> Int { max(1, min(3, entries / 8)) }

    /// The reason of a violation.
    static func distantCode(_ reach: Int) -> String {
        "has a code that is not \(reach == 0 ? "the nearest entry's" : "within \(reach) of the nearest entry's")"
    }

    /// Returns whether the nearest entry has a code within `reach` of `code`.
    func isNear(_ code: UInt8, to value: Float, scale: Float, reach: Int) -> Bool {
        guard entries.indices.contains(Int(code)) else { return false }
        let near = max(0, Int(code) - reach)...min(entries.count - 1, Int(code) + reach)
        return near.contains { isNearest(UInt8($0), to: value, scale: scale) }
    }
}
