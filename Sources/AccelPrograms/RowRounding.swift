/// The rounding of a row of activations to 8 bits: element x stands for `scale * step`, a whole number of steps.
///
/// The range of the row and 0 is divided into 255 steps, as ONNX's DynamicQuantizeLinear divides that of a tensor. All
/// arithmetic is float32 with one rounding per operation, so kernels find the same steps. A range may also be given: then
/// elements outside of it become its ends.
public struct RowRounding: Hashable, Sendable {
    /// NaN for a row with an infinite element or a NaN: then all results are NaN.
    public let scale: Float
    /// The step of the least element or 0, from -255 to 0. Steps go up to `lowest + 255`.
    public let lowest: Int

    /// Finds the scale of a row.
    public init(of row: some Sequence<Float>) {
        var (least, most, isFinite) = (Float(0), Float(0), true)
        for element in row {
            isFinite = isFinite && element.isFinite
            (least, most) = (min(least, element), max(most, element))
        }
        guard isFinite else {
            (scale, lowest) = (.nan, 0)
            return
        }
        // The difference of the two could overflow.
        scale = max(most / 255 - least / 255, .leastNormalMagnitude)
        lowest = Int((least * (1 / scale)).rounded(.toNearestOrEven))
    }

    /// A given range.
    /// - Returns: nil unless the scale is a normal number above 0 whose steps are numbers too, and `lowest` is from -255 to 0.
    public init?(scale: Float, lowest: Int) {
        guard scale.isNormal, scale > 0, (scale * 255).isFinite, (-255...0).contains(lowest) else { return nil }
        (self.scale, self.lowest) = (scale, lowest)
    }

    /// Stands for a range that is not known.
    static let unknown = RowRounding(of: [255])

    /// Returns the step of an element of the row.
    public func step(_ element: Float) -> Int {
        guard scale.isFinite else { return 0 }
        let steps = (element * (1 / scale)).rounded(.toNearestOrEven)
        return Int(min(max(steps, Float(lowest)), Float(lowest + 255)))
    }

    /// Returns the number that an element of the row is rounded to.
    public func rounded(_ element: Float) -> Float { scale * Float(step(element)) }

    /// Returns rows of `width` elements, each rounded by itself.
    /// - Parameter range: the range of all rows that are finite; nil for a row's own.
    static func rounding(_ values: [Float], width: Int, to range: RowRounding? = nil) -> [Float] {
        guard width > 0 else { return values }
        return Reference.rows(values.count / width, width: width) { row, result in
            let elements = values[row * width..<(row + 1) * width]
            let own = RowRounding(of: elements)
            let rounding = own.scale.isNaN ? own : range ?? own
            for (index, element) in elements.enumerated() { result[index] = rounding.rounded(element) }
        }
    }
}
