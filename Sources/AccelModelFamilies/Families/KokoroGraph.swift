import AccelPrograms
import AccelTensors

/// The graphs of Kokoro. Tensors are [batch, channels, time].
struct KokoroGraph {
    let config: KokoroConfiguration
    var layers: LayerBuilder

    /// Returns `(1 + gamma) * norm(x) + beta`, with gamma and beta from a linear layer of the style. The norm's own
    /// weight and bias, which published checkpoints lack, default to 1 and 0.
    mutating func adaptiveNorm(_ name: String, _ x: Value, _ style: Value, width: Int, length: Value?) throws -> Value {
        let both = try layers.linear("\(name).fc", style, from: config.style, to: 2 * width)
        var own: (weight: Value, bias: Value)?
        if layers.names.find("\(name).norm.weight") != nil {
            own = (
                try layers.weight("\(name).norm.weight", [width]), try layers.weight("\(name).norm.bias", [width])
            )
        }
        return try layers.in(name) { layers in
            func half(_ index: Int) throws -> Value {
                try layers.apply(Slice(begin: [0, .fixed(index * width)], sizes: ["batch", .fixed(width)]), both)
            }
            var scale = try layers.apply(Add(), try half(0), layers.builder.literal(1))
            var shift = try half(1)
            if let own {
                shift = try layers.apply(Add(), try layers.apply(Multiply(), scale, own.bias), shift)
                scale = try layers.apply(Multiply(), scale, own.weight)
            }
            return try layers.builder.apply(
                InstanceNorm(epsilon: 1e-5), [x, scale, shift] + (length.map { [$0] } ?? []))
        }
    }

    /// Builds a residual block of the decoder: two convolutions, each after a style norm.
    /// - Parameter length: if given, `times` times as many positions of x are valid, and the results for these do not
    ///   depend on the others.
    mutating func styledBlock(
        _ name: String, _ x: Value, _ style: Value, from inputs: Int, to outputs: Int, upsamples: Bool,
        _ length: Value? = nil, times: Int = 1
    ) throws -> Value {
        let positions = layers.builder.type(of: x).dimensions[2]
        let before = try valid(length, times: times, plus: 0, of: positions)
        let after = upsamples ? try valid(length, times: 2 * times, plus: 0, of: positions * 2) : before
        func leaky(_ x: Value) throws -> Value {
            try layers.in(name) { try $0.apply(LeakyRelu(slope: 0.2), x) }
        }
        // A norm leaves zeros after the valid positions, as convolutions take them.
        var y = try leaky(try adaptiveNorm("\(name).norm1", x, style, width: inputs, length: before?.count))
        if upsamples {
            y = try layers.convTranspose(
                "\(name).pool", y, from: inputs, to: inputs, kernel: 3, Window(stride: 2, padding: 1),
                outputPadding: 1, groups: inputs)
            y = try masked(y, after)
        }
        y = try layers.conv("\(name).conv1", y, from: inputs, to: outputs, kernel: 3, Window(padding: 1))
        y = try leaky(try adaptiveNorm("\(name).norm2", y, style, width: outputs, length: after?.count))
        y = try layers.conv("\(name).conv2", y, from: outputs, to: outputs, kernel: 3, Window(padding: 1))
        var shortcut = x
        if upsamples {
            shortcut = try layers.in(name) { try $0.apply(Resize(.nearest, to: [positions * 2]), x) }
        }
        if inputs != outputs {
            shortcut = try layers.conv(
                "\(name).conv1x1", shortcut, from: inputs, to: outputs, kernel: 1, hasBias: false)
        }
        return try layers.in(name) { layers in
            let sum = try layers.apply(Add(), y, shortcut)
            return try layers.apply(Multiply(), sum, layers.builder.literal(Float(0.5.squareRoot())))
        }
    }

    /// Builds the part before the generator.
    mutating func decoderPre(hasLength: Bool) throws {
        let (long, frames) = ("asr_frames" * 2 as Dimension, "asr_frames" as Dimension)
        let width = Dimension(config.width)
        let features = layers.builder.input("asr", TensorType(.float32, ["batch", width, frames]), .features)
        let inputs = [("f0", "F0_conv", Role.pitch), ("n", "N_conv", .energy)]
        let curves = try inputs.map { input, name, role in
            let curve = layers.builder.input(input, TensorType(.float32, ["batch", long]), role)
            let channel = try layers.in(name) { try $0.apply(Reshape(to: ["batch", 1, long]), curve) }
            return try layers.conv(name, channel, from: 1, to: 1, kernel: 3, Window(stride: 2, padding: 1))
        }
        let style = layers.builder.input("ref_s", TensorType(.float32, ["batch", .fixed(config.style)]), .style)
        let length =
            hasLength
            ? layers.builder.input("length", TensorType(.int64, ["batch"]), .validLength(of: "asr", axis: 2)) : nil
        // These widths are constants of the original class; the checkpoint's shapes show them.
        let inner = layers.names.find("encode.conv1.bias")?.shape.count ?? 1024
        let rest = layers.names.find("asr_res.0.bias")?.shape.count ?? 64
        var x = try layers.in("encode") { try $0.builder.apply(Concat(axis: 1), [features] + curves) }
        x = try styledBlock("encode", x, style, from: config.width + 2, to: inner, upsamples: false, length)
        let again = try layers.conv("asr_res.0", features, from: config.width, to: rest, kernel: 1)
        for index in 0..<4 {
            let name = "decode.\(index)"
            let joined = try layers.in(name) { [x] in try $0.builder.apply(Concat(axis: 1), [x, again] + curves) }
            x = try styledBlock(
                name, joined, style, from: inner + rest + 2, to: index == 3 ? config.channels : inner,
                upsamples: index == 3, length)
        }
        layers.builder.output("x_pre", x, .features)
    }
}
