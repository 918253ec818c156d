import AccelTensors

/// Sum, mean or maximum over some axes of a float32 tensor. A maximum that includes NaN is NaN; over no elements it is
/// -infinity.
public struct Reduce: Operator {
    /// The reduction.
    public enum Kind: String, CaseIterable, Sendable {
        /// The sum, accumulated in float64.
        case sum
        /// The sum divided by the number of elements.
        case mean
        /// The largest element; NaN if one is NaN.
        case max
    }
    public static let name = "reduce"
    public static let inputs: [OperatorInput] = [.x]
    /// The reduction.
    public var kind: Kind
    /// The reduced axes, ascending.
    public var axes: [Int]
    /// Reduced axes stay in the output, with size 1.
    public var keepsAxes: Bool

    /// Creates the operator. `axes` are ascending.
    public init(_ kind: Kind, axes: [Int], keepsAxes: Bool = true) {
        self.kind = kind
        self.axes = axes
        self.keepsAxes = keepsAxes
    }
    public init(attributes: Attributes) throws {
        kind = try attributes.choice("kind", as: Kind.self)
        axes = try attributes.integers("axes")
        keepsAxes = try attributes.flag("keeps_axes")
    }
    public var attributes: Attributes {
        ["kind": .word(kind.rawValue), "axes": .integers(axes), "keeps_axes": .flag(keepsAxes)]
    }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        guard !axes.isEmpty, axes == Set(axes).sorted(), axes.allSatisfy((0..<inputs[0].rank).contains) else {
            throw OperatorError("axes \(axes): expected distinct ascending axes of \(inputs[0])")
        }
        let dimensions = inputs[0].dimensions.enumerated().compactMap { axis, size in
            axes.contains(axis) ? (keepsAxes ? Dimension(1) : nil) : size
        }
        return [TensorType(.float32, dimensions)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = Shape(try outputTypes(inputs.map(\.type))[0].dimensions.compactMap(\.value))
        let kept = inputs[0].shape.dimensions.indices.filter { !axes.contains($0) }
        let width = axes.reduce(1) { $0 * inputs[0].shape.dimensions[$1] }
        let x = try inputs[0].transposed(kept + axes).floats
        let results = Reference.rows(shape.count, width: 1) { row, result in
            result[0] = Float(reduced(x[row * width..<(row + 1) * width]))
        }
        return [HostTensor(results, shape)]
    }

    private func reduced(_ x: ArraySlice<Float>) -> Double {
        switch kind {
        case .sum: x.reduce(0) { $0 + Double($1) }
        case .mean: x.reduce(0) { $0 + Double($1) } / Double(x.count)
        case .max: x.reduce(-Double.infinity) { $0 > Double($1) || $0.isNaN ? $0 : Double($1) }
        }
    }
}
