import AccelTensors

/// A float32 tensor with elements added around it.
public struct Pad: Operator {
    /// What the new elements are: a value, the tensor reflected at its first and last element (which do not repeat), or
    /// the element at the edge.
    public enum Mode: String, CaseIterable, Sendable { case constant, reflect, edge }
    public static let name = "pad"
    public static let inputs: [OperatorInput] = [.x]
    public var mode: Mode
    /// Elements before the first and after the last, a number an axis.
    public var before: [Dimension]
    public var after: [Dimension]
    /// Of the new elements, where the mode is `constant`.
    public var value: Double

    public init(_ mode: Mode, before: [Dimension], after: [Dimension], value: Double = 0) {
        (self.mode, self.before, self.after, self.value) = (mode, before, after, value)
    }
    public init(attributes: Attributes) throws {
        mode = try attributes.choice("mode", as: Mode.self)
        before = try attributes.dimensions("before")
        after = try attributes.dimensions("after")
        value = try attributes.number("value")
    }
    public var attributes: Attributes {
        [
            "mode": .word(mode.rawValue), "before": .dimensions(before), "after": .dimensions(after),
            "value": .number(value),
        ]
    }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let extents = inputs[0].dimensions
        guard before.count == extents.count, after.count == extents.count else {
            throw OperatorError("has \(before.count) and \(after.count) paddings for \(inputs[0])")
        }
        for axis in extents.indices {
            for padding in [before[axis], after[axis]] {
                // What is still free is checked again once it is a number.
                guard let count = padding.value else { continue }
                guard count >= 0 else { throw OperatorError("axis \(axis): cannot add \(count) elements") }
                guard let extent = extents[axis].value, count > 0 else { continue }
                if (mode == .reflect && count >= extent) || (mode == .edge && extent == 0) {
                    throw OperatorError("axis \(axis): \(mode.rawValue) cannot make \(count) elements of \(extent)")
                }
            }
        }
        return [TensorType(.float32, extents.indices.map { before[$0] + extents[$0] + after[$0] })]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        var (x, shape) = (inputs[0].floats, inputs[0].shape)
        for axis in shape.dimensions.indices {
            let (first, last) = (before[axis].value ?? 0, after[axis].value ?? 0)
            let sections = AxisSections(shape, axis: axis)
            let sources = (-first..<sections.extent + last).map { source(of: $0, in: sections.extent) }
            var result: [Float] = []
            result.reserveCapacity(sections.outer * sources.count * sections.inner)
            for outer in 0..<sections.outer {
                for source in sources {
                    if let source {
                        let start = (outer * sections.extent + source) * sections.inner
                        result.append(contentsOf: x[start..<start + sections.inner])
                    } else {
                        result.append(contentsOf: repeatElement(Float(value), count: sections.inner))
                    }
                }
            }
            x = result
            shape.dimensions[axis] = sources.count
        }
        return [HostTensor(x, shape)]
    }

    /// Where the element at `place` comes from; nil: it is the value.
    package func source(of place: Int, in extent: Int) -> Int? {
        if place >= 0, place < extent { return place }
        return switch mode {
        case .constant: nil
        case .reflect: place < 0 ? -place : 2 * (extent - 1) - place
        case .edge: place < 0 ? 0 : extent - 1
        }
    }
}
