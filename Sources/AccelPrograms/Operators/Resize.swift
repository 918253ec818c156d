import AccelTensors

/// Interpolation of the spatial axes of a tensor to other sizes.
///
/// Input: x F32[batch, channels, S...]. Output: F32[batch, channels, sizes...]. Element t of an axis of size T is
/// sampled at `(t + 1/2) * S / T - 1/2` of the input (half-pixel centres, corners not aligned). `linear` weighs the two
/// elements around it, which is bilinear over two axes; `nearest` takes element `t * S / T` rounded down.
public struct Resize: Operator {
    /// The interpolation.
    public enum Mode: String, CaseIterable, Sendable {
        /// The element at the sampled position rounded down.
        case nearest
        /// The two elements around the sampled position, weighted by their distance.
        case linear
    }
    public static let name = "resize"
    public static let inputs: [OperatorInput] = [.x]
    /// The interpolation.
    public var mode: Mode
    /// The new sizes of the spatial axes.
    public var sizes: [Dimension]

    /// Creates the operator for the new sizes of the spatial axes.
    public init(_ mode: Mode, to sizes: [Dimension]) {
        self.mode = mode
        self.sizes = sizes
    }
    public init(attributes: Attributes) throws {
        mode = try attributes.choice("mode", as: Mode.self)
        sizes = try attributes.dimensions("sizes")
    }
    public var attributes: Attributes { ["mode": .word(mode.rawValue), "sizes": .dimensions(sizes)] }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        try inputs[0].require(rank: 3...8, "x")
        guard sizes.count == inputs[0].rank - 2 else {
            throw OperatorError("expected one size per spatial axis of \(inputs[0]), found \(sizes.count)")
        }
        let numbers = inputs[0].dimensions.dropFirst(2) + sizes
        guard numbers.allSatisfy({ (1...1 << 31).contains($0.value ?? 1) }) else {
            throw OperatorError("cannot resize \(inputs[0]) to \(sizes): sizes have to be from 1 to 2^31")
        }
        return [TensorType(.float32, inputs[0].dimensions[..<2] + sizes)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        var (x, shape) = (inputs[0].floats.map(Double.init), inputs[0].shape)
        for (axis, size) in zip(2..., sizes.compactMap(\.value)) {
            let sections = AxisSections(shape, axis: axis)
            let sources = (0..<size).map { source(of: $0, of: size, in: sections.size) }
            var result: [Double] = []
            result.reserveCapacity(sections.outer * size * sections.inner)
            for outer in 0..<sections.outer {
                for (lower, upper, weight) in sources {
                    let (a, b) = ((outer * sections.size + lower), (outer * sections.size + upper))
                    for inner in 0..<sections.inner {
                        let (a, b) = (x[a * sections.inner + inner], x[b * sections.inner + inner])
                        result.append(weight == 0 ? a : a * (1 - weight) + b * weight)
                    }
                }
            }
            x = result
            shape.dimensions[axis] = size
        }
        return [HostTensor(x.map { Float($0) }, shape)]
    }

    /// Returns the two source elements of output element `element`, and the weight of the second.
    public func source(of element: Int, of size: Int, in inputSize: Int) -> (lower: Int, upper: Int, weight: Double) {
        switch mode {
        case .nearest:
            let index = element * inputSize / size
            return (index, index, 0)
        case .linear:
            let position = max(0, (Double(element) + 0.5) * Double(inputSize) / Double(size) - 0.5)
            let lower = min(Int(position), inputSize - 1)
            return (lower, min(lower + 1, inputSize - 1), position - Double(lower))
        }
    }
}
