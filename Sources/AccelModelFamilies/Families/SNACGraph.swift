import AccelPrograms
import AccelTensors

import func AccelPlatform.cos
import func AccelPlatform.pow
import func AccelPlatform.sin

/// The graph of SNAC's decoder. Tensors are [batch, channels, time].
struct SNACGraph {
    let config: SNACConfiguration
    var layers: LayerBuilder

    /// The length of the latents.
    private var whole: Dimension { "frames" * Dimension(config.strides[0]) }

    /// Returns the sum of all codebooks' vectors, F32[batch, latent, length].
    mutating func latents() throws -> Value {
        var sum: Value?
        for (index, stride) in config.strides.enumerated() {
            let name = "quantizer.quantizers.\(index)"
            let count = "frames" * Dimension(config.strides[0] / stride)
            let codes = layers.builder.input(
                "codes.\(index)", TensorType(.int64, ["batch", count]), .codes(count: config.codebookSize))
            let book = try layers.weight("\(name).codebook.weight", [config.codebookSize, config.codebookWidth])
            let vectors = try layers.in("\(name).codebook") { try $0.transposed(try $0.apply(Gather(), book, codes)) }
            var latents = try layers.conv(
                "\(name).out_proj", vectors, from: config.codebookWidth, to: config.latent, kernel: 1)
            if stride > 1 {
                latents = try layers.in(name) { [whole] in try $0.apply(Resize(.nearest, to: [whole]), latents) }
            }
            sum = try sum.map { sum in try layers.in(name) { try $0.apply(Add(), sum, latents) } } ?? latents
        }
        guard let sum else { throw ShapeError(operator: "snac", reason: "has no codes") }
        return sum
    }

    /// Returns the audio, F32[batch, 1, samples].
    mutating func audio(_ latents: Value, addsNoise: Bool) throws -> Value {
        var (x, width, index) = (latents, config.latent, 0)
        func next() -> String {
            defer { index += 1 }
            return "decoder.model.\(index)"
        }
        if config.isDepthwise {
            x = try layers.conv(next(), x, from: width, to: width, kernel: 7, Window(padding: 3), groups: width)
            x = try layers.conv(next(), x, from: width, to: config.width, kernel: 1)
        } else {
            x = try layers.conv(next(), x, from: width, to: config.width, kernel: 7, Window(padding: 3))
        }
        if let window = config.window { x = try attention(next(), x, window) }
        var length = whole
        for (stage, rate) in config.rates.enumerated() {
            width = config.width(after: stage)
            length = length * .fixed(rate)
            let noise =
                addsNoise
                ? layers.builder.input(
                    "noise.\(stage)", TensorType(.float32, ["batch", 1, length]), .noise(.normal)) : nil
            x = try block(next(), x, from: width, rate: rate, noise: noise)
        }
        width = config.width(after: config.rates.count)
        x = try snake(next(), x, width)
        let last = next()
        x = try layers.conv(last, x, from: width, to: 1, kernel: 7, Window(padding: 3))
        return try layers.in(last) { try $0.apply(Tanh(), x) }
    }

    private mutating func block(_ name: String, _ x: Value, from inputs: Int, rate: Int, noise: Value?) throws -> Value
    {
        let width = inputs / 2
        var x = try snake("\(name).block.0", x, inputs)
        x = try layers.convTranspose(
            "\(name).block.1", x, from: inputs, to: width, kernel: 2 * rate,
            Window(stride: rate, padding: (rate + 1) / 2), outputPadding: rate % 2)
        var unit = 2
        if config.hasNoise {
            if let noise {
                let scaled = try layers.conv(
                    "\(name).block.2.linear", x, from: width, to: width, kernel: 1, hasBias: false)
                x = try layers.in("\(name).block.2") {
                    try $0.apply(Add(), x, try $0.apply(Multiply(), noise, scaled))
                }
            } else {
                layers.names.explain("scales the noise, which is zero") { $0.hasPrefix("\(name).block.2.linear.") }
            }
            unit += 1
        }
        for dilation in [1, 3, 9] {
            let (name, groups) = ("\(name).block.\(unit).block", config.isDepthwise ? width : 1)
            var y = try snake("\(name).0", x, width)
            y = try layers.conv(
                "\(name).1", y, from: width, to: width, kernel: 7, Window(dilation: dilation, padding: 3 * dilation),
                groups: groups)
            y = try snake("\(name).2", y, width)
            y = try layers.conv("\(name).3", y, from: width, to: width, kernel: 1)
            x = try layers.in(name) { try $0.apply(Add(), x, y) }
            unit += 1
        }
        return x
    }

    private mutating func snake(_ name: String, _ x: Value, _ width: Int) throws -> Value {
        let alpha = try layers.weight("\(name).alpha", [1, width, 1])
        return try layers.in(name) { try $0.apply(Snake(epsilon: 1e-9), x, alpha) }
    }

    /// Applies attention within windows of `window` frames.
    private mutating func attention(_ name: String, _ x: Value, _ window: Int) throws -> Value {
        let (width, heads) = (config.width, config.width / 64)
        let windows = "batch" * (whole / window)
        let normal = try layers.layerNorm(
            "\(name).norm", try layers.in(name) { try $0.transposed(x) }, width: width, epsilon: 1e-5)
        let weight = try layers.weight("\(name).to_qkv.weight", [3 * width, width])
        let angles = try angles("\(name).rel_pos", count: window)
        let mixed = try layers.in(name) { [whole] layers in
            let all = try layers.apply(Linear(), normal, weight)
            var operands: [Value] = []
            for index in 0..<3 {
                let part = try layers.apply(
                    Slice(begin: [0, 0, .fixed(index * width)], sizes: ["batch", whole, .fixed(width)]), all)
                let split = try layers.apply(Reshape(to: [windows, .fixed(window), .fixed(heads), 64]), part)
                let transposed = try layers.apply(Transpose([0, 2, 1, 3]), split)
                operands.append(index < 2 ? try layers.apply(Rope(), transposed, angles.cos, angles.sin) : transposed)
            }
            let attended = try layers.builder.apply(Attention(scale: 0.125), operands)
            return try layers.apply(
                Reshape(to: ["batch", whole, .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), attended))
        }
        let output = try layers.weight("\(name).to_out.weight", [width, width])
        return try layers.in(name) { layers in
            try layers.apply(Add(), try layers.transposed(try layers.apply(Linear(), mixed, output)), x)
        }
    }

    /// Returns the tables of the rotary embedding, computed in float32 as in the original.
    private mutating func angles(_ name: String, count: Int) throws -> (cos: Value, sin: Value) {
        let frequencies =
            layers.names.find("\(name).inv_freq") == nil
            ? (0..<32).map { Float(1 / pow(10000, Double($0) / 32)) }
            : try layers.names.takeForTable("\(name).inv_freq", [32])
        let angles = (0..<count).flatMap { position in frequencies.map { Float(position) * $0 } }
        func table(_ function: (Double) -> Double, _ suffix: String) -> Value {
            layers.builder.literal(
                HostTensor(angles.map { Float(function(Double($0))) }, [count, 32]), name: "\(name).\(suffix)")
        }
        return (table(cos, "cos"), table(sin, "sin"))
    }
}
