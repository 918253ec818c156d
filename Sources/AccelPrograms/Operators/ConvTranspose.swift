public import AccelTensors

/// Transposed convolution over 1 to 3 spatial axes: each input element adds its multiple of the kernel to the output,
/// at a distance of `stride` elements from its neighbour's.
///
/// Inputs: x F32[batch, channels, S...], weight F32[channels, outputs / groups, K...], and optionally bias F32[outputs].
/// Output: F32[batch, outputs, T...] with
/// `T = (S - 1) * stride - before - after + dilation * (K - 1) + 1 + outputPadding`.
public struct ConvTranspose: Operator {
    public static let name = "conv_transpose"
    public static let inputs: [OperatorInput] = [.x, .weight, .optionalBias]
    /// Strides, dilations and paddings of the forward convolution that this one transposes.
    public var window: Window
    /// Elements added at the end of the output, one number per axis.
    public var outputPadding: [Int]
    /// The number of groups that the input and output channels are split into.
    public var groups: Int

    /// Creates the operator.
    /// - Parameter outputPadding: nil for 0 on each axis.
    public init(_ window: Window = Window(), outputPadding: [Int]? = nil, groups: Int = 1) {
        self.window = window
        self.outputPadding = outputPadding ?? window.strides.map { _ in 0 }
        self.groups = groups
    }
    public init(attributes: Attributes) throws {
        window = try Window(attributes: attributes)
        outputPadding = try attributes.integers("output_padding", count: window.axes, in: 0...1 << 20)
        groups = try attributes.integer("groups", in: 1...1 << 20)
    }
    public var attributes: Attributes {
        var all = window.attributes
        all["output_padding"] = .integers(outputPadding)
        all["groups"] = .integer(groups)
        return all
    }

    public func outputTypes(_ inputs: [TensorType]) throws -> [TensorType] {
        try Self.check(inputs)
        let (x, weight) = (inputs[0], inputs[1])
        try x.require(rank: window.axes + 2...window.axes + 2, "x")
        try weight.require(rank: window.axes + 2...window.axes + 2, "weight")
        try requireEqual(weight.dimensions[0], x.dimensions[1], "channels of the weight")
        guard let channels = x.dimensions[1].value, channels % groups == 0 else {
            throw OperatorError("\(x.dimensions[1]) channels do not split into \(groups) groups")
        }
        let outputs = weight.dimensions[1] * .fixed(groups)
        if let bias = inputs.named("bias", of: self) {
            try bias.require(rank: 1...1, "bias")
            try requireEqual(bias.dimensions[0], outputs, "bias")
        }
        let sizes = try (0..<window.axes).map { axis in
            guard let kernel = weight.dimensions[axis + 2].value, kernel >= 1, kernel <= 1 << 20 else {
                throw OperatorError(
                    "kernel axis \(axis): expected 1 to 2^20 taps, found \(weight.dimensions[axis + 2])")
            }
            let whole = (x.dimensions[axis + 2] - 1) * .fixed(window.strides[axis])
            let size =
                whole
                + .fixed(
                    window.span(of: kernel, on: axis) + outputPadding[axis] - window.before[axis] - window.after[axis])
            if let found = size.value, found < 1 || x.dimensions[axis + 2].value == 0 {
                throw OperatorError("spatial axis \(axis): \(x) is too small: the output would have \(found) elements")
            }
            return size
        }
        return [TensorType(.float32, [x.dimensions[0], outputs] + sizes)]
    }

    public func evaluate(_ inputs: [HostTensor]) throws -> [HostTensor] {
        let shape = Shape(try outputTypes(inputs.map(\.type))[0].dimensions.compactMap(\.value))
        let (sizes, kernel) = (inputs[0].shape.dimensions, inputs[1].shape.dimensions)
        let taps = WindowTaps(
            inputs: Array(sizes[2...]), kernel: Array(kernel[2...]), outputs: Array(shape.dimensions[2...])
        ) { axis, output, tap in
            let position = output + window.before[axis] - tap * window.dilations[axis]
            return position % window.strides[axis] == 0 ? position / window.strides[axis] : nil
        }
        let (batch, width, count) = (sizes[0], sizes[1] / groups, kernel[2...].reduce(1, *))
        var (x, weight) = (inputs[0], inputs[1])
        x.shape = [batch * groups, width, sizes[2...].reduce(1, *)]
        weight.shape = [groups, width, kernel[1], count]
        weight = try weight.transposed([0, 2, 3, 1])
        weight.shape = [shape.dimensions[1], count, width]
        let sums = taps.sums(
            try x.transposed([0, 2, 1]), weight, bias: inputs.named("bias", of: self)?.floats, batch: batch,
            groups: groups)
        return [HostTensor(sums, shape)]
    }

    public func workBytes(_ inputs: [Shape]) -> Int {
        let types = inputs.map { TensorType(.float32, $0.dimensions.map(Dimension.fixed)) }
        guard let output = try? outputTypes(types)[0].shape else { return .max }
        return WindowTaps.byteCount(
            outputs: Array(output.dimensions[2...]), kernel: Array(inputs[1].dimensions[2...]),
            strides: window.strides, copying: inputs)
    }

    public func multiplyAdds(_ inputs: [Shape]) -> Int {
        saturatingProduct(inputs[0].dimensions + inputs[1].dimensions.dropFirst())
    }
}
