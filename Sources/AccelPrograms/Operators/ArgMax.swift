import AccelTensors

/// The index of the largest element on an axis: the first of equal ones; NaN counts as the largest.
///
/// Input: x F32. Output: I64 without the axis, or with the axis of size 1 if `keepsAxis`.
public struct ArgMax: Operator {
    public static let name = "argmax"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [.x]
    /// The axis to search, from 0.
    public var axis: Int
    /// The axis stays in the output, with size 1.
    public var keepsAxis: Bool

    /// Creates the operator for one axis.
    public init(axis: Int, keepsAxis: Bool = false) {
        self.axis = axis
        self.keepsAxis = keepsAxis
    }
    public init(attributes: Attributes) throws {
        axis = try attributes.integer("axis", in: 0...7)
        keepsAxis = try attributes.flag("keeps_axis")
    }
    public var attributes: Attributes { ["axis": .integer(axis), "keeps_axis": .flag(keepsAxis)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: axis + 1...8, "x")
        guard inputs[0].dimensions[axis] != 0 else {
            throw OperatorError("axis \(axis) of \(inputs[0]) is empty, so it has no largest element")
        }
        var dimensions = inputs[0].dimensions
        dimensions.replaceSubrange(axis...axis, with: keepsAxis ? [1] : [])
        return [TensorType(.int64, dimensions)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (x, sections) = (inputs[0].floats, AxisSections(inputs[0].shape, axis: axis))
        var result: [Int64] = []
        for outer in 0..<sections.outer {
            for inner in 0..<sections.inner {
                var (best, largest) = (0, -Float.infinity)
                for index in 0..<sections.size where !largest.isNaN {
                    let value = x[(outer * sections.size + index) * sections.inner + inner]
                    if value > largest || value.isNaN { (best, largest) = (index, value) }
                }
                result.append(Int64(best))
            }
        }
        var dimensions = inputs[0].shape.dimensions
        dimensions.replaceSubrange(axis...axis, with: keepsAxis ? [1] : [])
        return [HostTensor(result, Shape(dimensions))]
    }
}
