import AccelByteIO
import AccelPrograms
import AccelTensors

/// The graph of Parakeet's encoder: convolutions that halve the number of frames (Rekesh et al. 2023), and Conformer layers (Gulati et al.
/// 2020) with relative positions (Dai et al. 2019).
struct ParakeetGraph {
    let config: ParakeetConfiguration
    var layers: LayerBuilder
    private let features, mask: Value
    /// The numbers of frames, before the first stage of the sub-sampling and after each.
    private let lengths: [Dimension]

    /// The number of states.
    var states: Dimension { lengths[config.stages] }

    private static let epsilon = 1e-5

    init(config: ParakeetConfiguration, part: String, role: FunctionRole, names: TensorNames) {
        // 15 and 30 seconds.
        let (longest, usual) = (config.positions << config.stages, [1500, 3000])
        let frames = Program.FreeDimension(
            "frames", usual: longest >= 3000 ? usual : [min(longest, 1500)], maximum: longest)
        self.config = config
        layers = LayerBuilder(
            builder: ProgramBuilder(name: part, dimensions: [.init("batch", usual: [1]), frames], role: role),
            names: names)
        features = layers.builder.input(
            "input_features", TensorType(.float32, ["batch", "frames", .fixed(config.mels)]),
            .melFeatures(Role.MelParameters(bands: config.mels, rate: 16_000, window: 400, hop: 160), bandAxis: 2))
        mask = layers.builder.input(
            "attention_mask", TensorType(.int64, ["batch", "frames"]), .attentionMask(.onesCount))
        lengths = (0..<config.stages).reduce(into: ["frames"]) { lengths, stage in
            lengths.append((lengths[stage] - 1) / 2 + 1)
        }
    }

    /// Returns the final hidden states, F32[batch, states, width].
    mutating func hiddenStates() throws -> Value {
        let masks = try masks()
        var x = try subsampled(masks)
        // [batch, states, 1]
        let valid = masks[config.stages - 1]
        let hidden = try layers.in("mask") { [states] in try Self.additiveMask(valid, states: states, in: &$0) }
        let positions = try layers.in("encode_positions") { [config, states] in
            try Self.positionTable(config, states: states, in: &$0)
        }
        for index in 0..<config.layers {
            let name = "layers.\(index)"
            x = try halfFeedForward(name, "feed_forward1", x)
            let query = try norm("\(name).norm_self_att", x)
            let attended = try attention("\(name).self_attn", query, hidden: hidden, positions: positions)
            x = try layers.in("\(name).self_attn") { [x] in try $0.apply(Add(), x, attended) }
            let near = try convolution("\(name).conv", try norm("\(name).norm_conv", x), valid: valid)
            x = try layers.in("\(name).conv") { [x] in try $0.apply(Add(), x, near) }
            x = try halfFeedForward(name, "feed_forward2", x)
            x = try norm("\(name).norm_out", x)
        }
        return x
    }

    private mutating func norm(_ name: String, _ x: Value) throws -> Value {
        try layers.layerNorm(name, x, width: config.width, epsilon: Self.epsilon)
    }

    // MARK: - Sub-sampling

    /// Returns the masks of the frames after each stage, F32[batch, frames, 1]: 1 for valid ones, else 0. A stage keeps every second frame.
    private mutating func masks() throws -> [Value] {
        try layers.in("subsampling.mask") { [mask, lengths, config] layers in
            var (x, masks) = (try layers.apply(Cast(to: .float32), mask), [Value]())
            for stage in 1...config.stages {
                let length = lengths[stage]
                let even = Pad(.constant, before: [0, 0], after: [0, length * 2 - lengths[stage - 1]])
                let pairs = try layers.apply(Reshape(to: ["batch", length, 2]), try layers.apply(even, x))
                let first = try layers.apply(Slice(begin: [0, 0, 0], sizes: ["batch", length, 1]), pairs)
                masks.append(first)
                x = try layers.apply(Reshape(to: ["batch", length]), first)
            }
            return masks
        }
    }

    /// Returns the input of the first layer, F32[batch, states, width].
    private mutating func subsampled(_ masks: [Value]) throws -> Value {
        let (name, channels, kernel) = ("subsampling", config.channels, config.samplingKernel)
        var x = try layers.in(name) { [features, config] in
            try $0.apply(Reshape(to: ["batch", 1, "frames", .fixed(config.mels)]), features)
        }
        // The numbers of the modules, among which are activations.
        var module = 0
        for stage in 0..<config.stages {
            let rows = try layers.in("\(name).mask") { [lengths] in
                try $0.apply(Reshape(to: ["batch", 1, lengths[stage + 1], 1]), masks[stage])
            }
            x = try conv(
                "\(name).layers.\(module)", x, from: stage == 0 ? 1 : channels, kernel: kernel, stride: 2,
                groups: stage == 0 ? 1 : channels, rows: rows)
            if stage > 0 {
                module += 1
                x = try conv("\(name).layers.\(module)", x, from: channels, kernel: 1, stride: 1, groups: 1, rows: rows)
            }
            x = try layers.in("\(name).layers.\(module + 1)") { [x] in try $0.apply(Relu(), x) }
            module += 2
        }
        let flat = channels * config.bands
        let joined = try layers.in(name) { [x, states] in
            try $0.apply(Reshape(to: ["batch", states, .fixed(flat)]), try $0.apply(Transpose([0, 2, 1, 3]), x))
        }
        let hidden = try layers.linear("\(name).linear", joined, from: flat, to: config.width)
        guard config.scalesInput else { return hidden }
        let scale = layers.builder.literal(Float(Double(config.width).squareRoot()))
        return try layers.in(name) { try $0.apply(Multiply(), hidden, scale) }
    }

    /// Applies a convolution over frames and bands, and leaves zeros in frames that are not valid.
    private mutating func conv(
        _ name: String, _ x: Value, from inputs: Int, kernel: Int, stride: Int, groups: Int, rows: Value
    ) throws -> Value {
        let weight = try layers.weight("\(name).weight", [config.channels, inputs / groups, kernel, kernel])
        let bias = try layers.weight("\(name).bias", [config.channels])
        let window = Window(axes: 2, stride: stride, padding: kernel / 2)
        return try layers.in(name) {
            try $0.apply(Multiply(), try $0.apply(Conv(window, groups: groups), x, weight, bias), rows)
        }
    }

    // MARK: - Layers

    /// Returns x plus half of a feed-forward network of its norm.
    private mutating func halfFeedForward(_ layer: String, _ part: String, _ x: Value) throws -> Value {
        let (width, inner, name) = (config.width, config.intermediate, "\(layer).\(part)")
        let normal = try norm("\(layer).norm_\(part)", x)
        let wide = try layers.linear("\(name).linear1", normal, from: width, to: inner, isBiased: config.hasBias)
        let active = try layers.in("\(name).linear1") { [config] in try $0.apply(config.activation, wide) }
        let made = try layers.linear("\(name).linear2", active, from: inner, to: width, isBiased: config.hasBias)
        return try layers.in(name) {
            try $0.apply(Add(), x, try $0.apply(Multiply(), made, $0.builder.literal(0.5)))
        }
    }

    /// Applies a convolution of kernel 1, `NAME.weight` [outputs, inputs, 1] and `NAME.bias` [outputs], to F32[batch, states, inputs].
    mutating func pointwise(
        _ name: String, _ x: Value, from inputs: Int, to outputs: Int, isBiased: Bool = true
    ) throws -> Value {
        let stored = try layers.names.take("\(name).weight", [outputs, inputs, 1])
        let rows = layers.names.reshaped(stored, [outputs, inputs])
        var operands = [x, layers.builder.constant(rows, isWeight: true)]
        if isBiased { operands.append(try layers.weight("\(name).bias", [outputs])) }
        return try layers.in(name) { try $0.builder.apply(Linear(), operands) }
    }

    /// The convolution module, in which neighbours meet.
    /// - Parameter valid: F32[batch, states, 1]
    private mutating func convolution(_ name: String, _ x: Value, valid: Value) throws -> Value {
        let (width, hasBias) = (config.width, config.hasConvolutionBias)
        let both = try pointwise("\(name).pointwise_conv1", x, from: width, to: 2 * width, isBiased: hasBias)
        let gated = try layers.in(name) { [states] layers in
            func half(_ index: Int) throws -> Value {
                try layers.apply(
                    Slice(begin: [0, 0, .fixed(index * width)], sizes: ["batch", states, .fixed(width)]), both)
            }
            let gate = try layers.apply(Sigmoid(), try half(1))
            let product = try layers.apply(Multiply(), try half(0), gate)
            return try layers.transposed(try layers.apply(Multiply(), product, valid))
        }
        let mixed = try layers.conv(
            "\(name).depthwise_conv", gated, from: width, to: width, kernel: config.kernel,
            Window(padding: config.kernel / 2), groups: width, hasBias: hasBias)
        let (scale, shift) = try batchNorm("\(name).norm")
        let active = try layers.in("\(name).norm") { [config] layers in
            let scaled = try layers.apply(Multiply(), try layers.transposed(mixed), scale)
            return try layers.apply(config.activation, try layers.apply(Add(), scaled, shift))
        }
        return try pointwise("\(name).pointwise_conv2", active, from: width, to: width, isBiased: hasBias)
    }

    /// Returns a batch norm as factors and numbers to add, F32[width] each.
    /// - Throws: `FormatError` naming the tensor for a variance that is negative.
    private mutating func batchNorm(_ name: String) throws -> (scale: Value, shift: Value) {
        let (width, names) = (config.width, ["weight", "bias", "running_mean", "running_var"])
        let numbers = try names.map { try layers.names.takeForTable("\(name).\($0)", [width]).map(Double.init) }
        if let index = numbers[3].firstIndex(where: { $0 < 0 }), let tensor = layers.names.find("\(name).running_var") {
            throw tensor.error("is negative: a variance is expected", index: index)
        }
        let scales = zip(numbers[0], numbers[3]).map { $0 / ($1 + Self.epsilon).squareRoot() }
        let shifts = zip(numbers[1], zip(numbers[2], scales)).map { $0 - $1.0 * $1.1 }
        func table(_ numbers: [Double], _ suffix: String) -> Value {
            layers.builder.literal(HostTensor(numbers.map(Float.init), [width]), name: "\(name).\(suffix)")
        }
        return (table(scales, "scale"), table(shifts, "shift"))
    }
}
