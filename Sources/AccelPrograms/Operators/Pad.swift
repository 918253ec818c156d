import AccelTensors

/// Padding of a float32 tensor on any of its axes.
public struct Pad: Operator {
    /// The values of the new elements: a constant, the tensor reflected at its first and last element (which are not
    /// repeated), or the nearest edge element.
    public enum Mode: String, CaseIterable, Sendable {
        /// A constant value.
        case constant
        /// The elements mirrored at the edge, which is not repeated.
        case reflect
        /// The nearest element.
        case edge
    }
    public static let name = "pad"
    public static let rounding = ResultRounding.exact
    public static let inputs: [OperatorInput] = [.x]
    /// The values of the new elements.
    public var mode: Mode
    /// Elements added before the first of each axis.
    public var before: [Dimension]
    /// Elements added after the last of each axis.
    public var after: [Dimension]
    /// The value of new elements in the mode `constant`.
    public var value: Double

    /// Creates the operator. `before` and `after` have one number per axis.
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
        let sizes = inputs[0].dimensions
        guard before.count == sizes.count, after.count == sizes.count else {
            throw OperatorError(
                "expected one padding per axis of \(inputs[0]), found \(before.count) before and \(after.count) after")
        }
        for axis in sizes.indices {
            for padding in [before[axis], after[axis]] {
                // Free sizes are checked again after freezing.
                guard let count = padding.value else { continue }
                guard count >= 0 else { throw OperatorError("axis \(axis): cannot add \(count) elements") }
                guard let size = sizes[axis].value, count > 0 else { continue }
                if (mode == .reflect && count >= size) || (mode == .edge && size == 0) {
                    throw OperatorError(
                        "axis \(axis): \(mode.rawValue) cannot add \(count) elements to an axis of size \(size)")
                }
            }
        }
        return [TensorType(.float32, sizes.indices.map { before[$0] + sizes[$0] + after[$0] })]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        var (x, shape) = (inputs[0].floats, inputs[0].shape)
        for axis in shape.dimensions.indices {
            let (first, last) = (before[axis].value ?? 0, after[axis].value ?? 0)
            let sections = AxisSections(shape, axis: axis)
            let sources = (-first..<sections.size + last).map { source(of: $0, in: sections.size) }
            var result: [Float] = []
            result.reserveCapacity(sections.outer * sources.count * sections.inner)
            for outer in 0..<sections.outer {
                for source in sources {
                    if let source {
                        let start = (outer * sections.size + source) * sections.inner
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

    /// Returns the index of the source of element `position`; nil if it takes the constant value.
    package func source(of position: Int, in size: Int) -> Int? {
        if position >= 0, position < size { return position }
        return switch mode {
        case .constant: nil
        case .reflect: position < 0 ? -position : 2 * (size - 1) - position
        case .edge: position < 0 ? 0 : size - 1
        }
    }
}
