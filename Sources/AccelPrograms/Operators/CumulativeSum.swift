import AccelTensors

/// The running sum over an axis of a float32 tensor: each output element is the sum of the inputs up to and including
/// it.
public struct CumulativeSum: Operator {
    public static let name = "cumsum"
    public static let inputs: [OperatorInput] = [.x]
    /// The axis to sum along, from 0.
    public var axis: Int

    /// Creates the operator for one axis.
    public init(axis: Int) { self.axis = axis }
    public init(attributes: Attributes) throws { axis = try attributes.integer("axis", in: 0...7) }
    public var attributes: Attributes { ["axis": .integer(axis)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: axis + 1...8, "x")
        return inputs
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let (shape, sections) = (inputs[0].shape, AxisSections(inputs[0].shape, axis: axis))
        var result = inputs[0].floats
        for outer in 0..<sections.outer {
            for inner in 0..<sections.inner {
                var sum = 0.0
                for index in 0..<sections.size {
                    let element = (outer * sections.size + index) * sections.inner + inner
                    sum += Double(result[element])
                    result[element] = Float(sum)
                }
            }
        }
        return [HostTensor(result, shape)]
    }
}

/// The sizes of a tensor viewed as [outer, axis, inner].
struct AxisSections {
    let outer: Int
    let size: Int
    let inner: Int

    init(_ shape: Shape, axis: Int) {
        outer = shape.dimensions[..<axis].reduce(1, *)
        size = shape.dimensions[axis]
        inner = shape.dimensions[(axis + 1)...].reduce(1, *)
    }
}
