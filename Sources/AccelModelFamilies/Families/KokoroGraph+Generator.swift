import AccelPrograms
import AccelTensors

extension KokoroGraph {
    /// The valid positions of a tensor: their number, I64[batch], and a mask, BOOL[batch, 1, time].
    struct Valid {
        let count: Value
        let mask: Value
    }

    /// Builds the generator.
    mutating func generator(hasLength: Bool) throws {
        let (style, bins) = (Dimension(config.style), config.bins)
        var x = layers.builder.input(
            "x_pre", TensorType(.float32, ["batch", .fixed(config.channels), "frames"]), .features,
            from: ("decoder_pre", "x_pre"))
        let styled = layers.builder.input("ref_s", TensorType(.float32, ["batch", style]), .style)
        let spectra = "frames" * Dimension(config.spectraAFrame) + 1
        var source = layers.builder.input(
            "har", TensorType(.float32, ["batch", .fixed(2 * bins), spectra]), .spectrum, from: ("har_source", "har"))
        let length =
            hasLength
            ? layers.builder.input("length", TensorType(.int64, ["batch"]), .validLength(of: "x_pre", axis: 2)) : nil
        source = try masked(source, try valid(length, times: config.spectraAFrame, plus: 1, of: spectra))

        var scale = 1
        for (stage, (rate, kernel)) in zip(config.rates, config.kernels).enumerated() {
            let isLast = stage == config.rates.count - 1
            let width = config.channels(after: stage + 1)
            let name = "generator.ups.\(stage)"
            x = try masked(x, try valid(length, times: scale, plus: 0, of: "frames" * .fixed(scale)))
            x = try layers.in(name) { [x] in try $0.apply(LeakyRelu(slope: 0.1), x) }
            x = try layers.convTranspose(
                name, x, from: 2 * width, to: width, kernel: kernel,
                Window(stride: rate, padding: (kernel - rate) / 2))
            if isLast {
                x = try layers.in(name) { [x] in
                    try $0.apply(Pad(.reflect, before: [0, 0, 1], after: [0, 0, 0]), x)
                }
            }
            scale *= rate
            let count = try valid(length, times: scale, plus: isLast ? 1 : 0, of: "frames" * .fixed(scale))?.count
            let added = try excitation(source, styled, stage: stage, width: width, scale: scale, count)
            x = try layers.in(name) { [x] in try $0.apply(Add(), x, added) }
            var sum: Value?
            for (index, (kernel, dilations)) in zip(config.blockKernels, config.blockDilations).enumerated() {
                let name = "generator.resblocks.\(stage * config.blockKernels.count + index)"
                let y = try wavyBlock(name, x, styled, width: width, kernel: kernel, dilations, count)
                sum = try sum.map { sum in try layers.in(name) { try $0.apply(Add(), sum, y) } } ?? y
            }
            let number = layers.builder.literal(Float(config.blockKernels.count))
            if let sum { x = try layers.in("generator.resblocks") { try $0.apply(Divide(), sum, number) } }
        }
        let width = config.channels(after: config.rates.count)
        let frames = try valid(length, times: config.spectraAFrame, plus: 1, of: spectra)
        x = try layers.in("generator.conv_post") { [x] in try $0.apply(LeakyRelu(slope: 0.01), x) }
        x = try masked(x, frames)
        x = try layers.conv(
            "generator.conv_post", x, from: width, to: 2 * bins, kernel: 7, Window(padding: 3))
        if !hasLength { layers.builder.output("conv_post", x, .spectrum) }
        var audio = try waveform(x, of: spectra, frames?.mask)
        let samples = "frames" * Dimension(config.samplesAFrame)
        audio = try masked(audio, try valid(length, times: config.samplesAFrame, plus: 0, of: samples))
        layers.builder.output("audio", audio, .audio(rate: KokoroConfiguration.samplingRate))
    }

    /// Returns the contribution of the harmonic source to a stage.
    private mutating func excitation(
        _ source: Value, _ style: Value, stage: Int, width: Int, scale: Int, _ count: Value?
    ) throws -> Value {
        let stride = config.spectraAFrame / scale
        let name = "generator.noise_convs.\(stage)"
        let isLast = stage == config.rates.count - 1
        let y = try layers.conv(
            name, source, from: 2 * config.bins, to: width, kernel: isLast ? 1 : 2 * stride,
            isLast ? Window() : Window(stride: stride, padding: (stride + 1) / 2))
        return try wavyBlock(
            "generator.noise_res.\(stage)", y, style, width: width, kernel: isLast ? 11 : 7, [1, 3, 5], count)
    }

    /// Builds a residual block of the generator: three pairs of convolutions, each after a style norm and a Snake
    /// activation.
    private mutating func wavyBlock(
        _ name: String, _ x: Value, _ style: Value, width: Int, kernel: Int, _ dilations: [Int], _ count: Value?
    ) throws -> Value {
        var x = x
        for (index, dilation) in dilations.enumerated() {
            var y = x
            for (half, dilation) in [(1, dilation), (2, 1)] {
                y = try adaptiveNorm("\(name).adain\(half).\(index)", y, style, width: width, length: count)
                let alpha = try layers.weight("\(name).alpha\(half).\(index)", [1, width, 1])
                y = try layers.in("\(name).alpha\(half).\(index)") { [y] in try $0.apply(Snake(), y, alpha) }
                y = try layers.conv(
                    "\(name).convs\(half).\(index)", y, from: width, to: width, kernel: kernel,
                    Window(dilation: dilation, padding: (kernel - 1) * dilation / 2))
            }
            x = try layers.in(name) { [x, y] in try $0.apply(Add(), y, x) }
        }
        return x
    }

    /// Returns the mask of the first `times * length + plus` positions; nil if all are valid.
    mutating func valid(_ length: Value?, times: Int, plus: Int, of total: Dimension) throws -> Valid? {
        guard let length else { return nil }
        return try validPositions(length, times: times, plus: plus, of: total)
    }

    /// Returns the mask of the first `times * length + plus` positions.
    mutating func validPositions(_ length: Value, times: Int, plus: Int, of total: Dimension) throws -> Valid {
        try layers.in("length") { layers in
            let frames = try layers.apply(Cast(to: .float32), length)
            let many = try layers.apply(Multiply(), frames, layers.builder.literal(Float(times)))
            let count = try layers.apply(Add(), many, layers.builder.literal(Float(plus)))
            // 1, 2, 3, ...
            let ones = try layers.apply(Expand(to: [1, 1, total]), layers.builder.literal(1))
            let positions = try layers.apply(CumulativeSum(axis: 2), ones)
            let limit = try layers.apply(Reshape(to: ["batch", 1, 1]), count)
            return Valid(
                count: try layers.apply(Cast(to: .int64), count),
                mask: try layers.apply(Compare(.lessOrEqual), positions, limit))
        }
    }

    /// Returns `x` with zeros at positions that are not valid.
    mutating func masked(_ x: Value, _ valid: Valid?) throws -> Value {
        guard let valid else { return x }
        return try layers.in("length") { try $0.apply(Select(), valid.mask, x, $0.builder.literal(0)) }
    }
}
