public import AccelTensors

/// Convolution (cross-correlation, as in the frameworks) over 1 to 3 spatial axes with zero padding.
///
/// Inputs: x F32[batch, channels, S...], weight F32[outputs, channels / groups, K...], and optionally bias F32[outputs].
/// Output: F32[batch, outputs, T...] with `T = (S + before + after - dilation * (K - 1) - 1) / stride + 1`.
public struct Conv: Operator {
    public static let name = "conv"
    public static let inputs: [OperatorInput] = [.x, .weight, .optionalBias]
    /// Strides, dilations and paddings of the spatial axes.
    public var window: Window
    /// The number of groups that the input and output channels are split into.
    public var groups: Int

    /// Creates the operator; see the properties.
    public init(_ window: Window = Window(), groups: Int = 1) {
        self.window = window
        self.groups = groups
    }
    public init(attributes: Attributes) throws {
        window = try Window(attributes: attributes)
        groups = try attributes.integer("groups", in: 1...1 << 20)
    }
    public var attributes: Attributes {
        var all = window.attributes
        all["groups"] = .integer(groups)
        return all
    }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (x, weight) = (inputs[0], inputs[1])
        try x.require(rank: window.axes + 2...window.axes + 2, "x")
        try weight.require(rank: window.axes + 2...window.axes + 2, "weight")
        let outputs = weight.dimensions[0]
        try requireEqual(weight.dimensions[1] * .fixed(groups), x.dimensions[1], "channels of the weight")
        guard let rows = outputs.value, rows % groups == 0 else {
            throw OperatorError("\(outputs) output channels do not split into \(groups) groups")
        }
        if let bias = inputs.named("bias", of: self) {
            try bias.require(rank: 1...1, "bias")
            try requireEqual(bias.dimensions[0], outputs, "bias")
        }
        let sizes = try (0..<window.axes).map { axis in
            guard let kernel = weight.dimensions[axis + 2].value, kernel >= 1, kernel <= 1 << 20 else {
                throw OperatorError(
                    "kernel axis \(axis): expected 1 to 2^20 taps, found \(weight.dimensions[axis + 2])")
            }
            let span = window.span(of: kernel, on: axis)
            let padded = x.dimensions[axis + 2] + .fixed(window.before[axis] + window.after[axis])
            if let padded = padded.value, padded < span {
                throw OperatorError(
                    "spatial axis \(axis): the kernel spans \(span) elements, but the padded input has only \(padded)")
            }
            return (padded - .fixed(span)) / window.strides[axis] + 1
        }
        return [TensorType(.float32, [x.dimensions[0], outputs] + sizes)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = Shape(try outputTypes(inputs.map(\.type))[0].dimensions.compactMap(\.value))
        let (sizes, kernel) = (inputs[0].shape.dimensions, inputs[1].shape.dimensions)
        let taps = WindowTaps(
            inputs: Array(sizes[2...]), kernel: Array(kernel[2...]), outputs: Array(shape.dimensions[2...])
        ) { axis, output, tap in
            output * window.strides[axis] + tap * window.dilations[axis] - window.before[axis]
        }
        let (batch, width) = (sizes[0], kernel[1])
        var (x, weight) = (inputs[0], inputs[1])
        x.shape = [batch * groups, width, sizes[2...].reduce(1, *)]
        weight.shape = [kernel[0], width, kernel[2...].reduce(1, *)]
        let sums = taps.sums(
            try x.transposed([0, 2, 1]), try weight.transposed([0, 2, 1]),
            bias: inputs.named("bias", of: self)?.floats, batch: batch, groups: groups)
        return [HostTensor(sums, shape)]
    }

    public func workBytes(_ inputs: [Shape]) -> Int {
        let types = inputs.map { TensorType(.float32, $0.dimensions.map(Dimension.fixed)) }
        guard let output = try? outputTypes(types)[0].shape else { return .max }
        return WindowTaps.byteCount(
            outputs: Array(output.dimensions[2...]), kernel: Array(inputs[1].dimensions[2...]),
            strides: window.strides.map { _ in 1 }, copying: inputs)
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        guard let outputs = try? outputTypes(inputs.map { TensorType(.float32, shape: $0) })[0].shape else { return 0 }
        return saturatingProduct(outputs.dimensions + inputs[1].dimensions.dropFirst())
    }
}
