import AccelPrograms
import AccelTensors

import func AccelPlatform.cos
import func AccelPlatform.sin

/// The harmonic source, and the short-time Fourier transform and its inverse as convolutions.
extension KokoroGraph {
    /// The periodic Hann window of `points` samples.
    private var window: [Double] {
        (0..<config.points).map { 0.5 - 0.5 * cos(2 * .pi * Double($0) / Double(config.points)) }
    }

    /// Returns cosine and sine of the phase of bin `bin` at sample `sample`; exact for 0, 1 and -1.
    private func phase(_ bin: Int, _ sample: Int) -> (cos: Double, sin: Double) {
        let part = bin * sample % config.points
        switch part * 4 {
        case 0: return (1, 0)
        case config.points: return (0, 1)
        case 2 * config.points: return (-1, 0)
        case 3 * config.points: return (0, -1)
        default:
            let angle = 2 * Double.pi * Double(part) / Double(config.points)
            return (cos(angle), sin(angle))
        }
    }

    private mutating func table(_ numbers: [Double], _ shape: Shape, _ name: String) -> Value {
        layers.builder.literal(HostTensor(numbers.map { Float($0) }, shape), name: name)
    }

    /// Returns the audio F32[batch, 1, hop * (spectra - 1)] of a spectrum F32[batch, 2 * bins, spectra], which holds
    /// logarithms of magnitudes, then numbers whose sine is the phase. As in `torch.istft`, the overlap of windows is
    /// divided by the sum of their squares, which is smaller at both ends (and at the end of the valid part).
    mutating func waveform(_ x: Value, of spectra: Dimension, _ mask: Value?) throws -> Value {
        let (points, bins) = (config.points, config.bins)
        var waves: [Double] = []
        for isImaginary in [false, true] {
            for bin in 0..<bins {
                // Inner bins also represent their mirror images.
                let weight = (bin == 0 || bin == bins - 1 ? 1 : 2) / Double(points)
                for sample in 0..<points {
                    let phase = phase(bin, sample)
                    waves.append((isImaginary ? -phase.sin : phase.cos) * weight * window[sample])
                }
            }
        }
        let basis = table(waves, [2 * bins, 1, points], "istft.waves")
        let envelope = table(window.map { $0 * $0 }, [1, 1, points], "istft.squares")
        let dimensions: [Dimension] = ["batch", .fixed(bins), spectra]
        let inverse = ConvTranspose(Window(stride: config.hop, padding: points / 2))
        return try layers.in("istft") { layers in
            func half(_ index: Int) throws -> Value {
                try layers.apply(Slice(begin: [0, .fixed(index * bins), 0], sizes: dimensions), x)
            }
            let magnitude = try layers.apply(Exp(), try half(0))
            let angle = try layers.apply(Sin(), try half(1))
            let parts = try [Cos() as any Operator, Sin()].map {
                try layers.apply(Multiply(), magnitude, try layers.apply($0, angle))
            }
            var spectrum = try layers.builder.apply(Concat(axis: 1), parts)
            let (one, zero) = (layers.builder.literal(1), layers.builder.literal(0))
            var frames = try layers.apply(Expand(to: [1, 1, spectra]), one)
            if let mask {
                spectrum = try layers.apply(Select(), mask, spectrum, zero)
                frames = try layers.apply(Select(), mask, one, zero)
            }
            let sum = try layers.apply(inverse, spectrum, basis)
            let overlap = try layers.apply(inverse, frames, envelope)
            // Where no valid window contributes, zero stays zero.
            let divisor = mask == nil ? overlap : try layers.apply(Maximum(), overlap, layers.builder.literal(1e-11))
            return try layers.apply(Divide(), sum, divisor)
        }
    }

    /// Builds the part that makes harmonics from the pitch.
    mutating func harmonicSource() throws {
        let harmonics = 9
        let (rate, bins, points) = (config.samplesAFrame, config.bins, config.points)
        let samples = "frames" * Dimension(rate)
        let pitch = layers.builder.input("f0", TensorType(.float32, ["batch", "frames"]), .pitch)
        let start = layers.builder.input(
            "noise.0", TensorType(.float32, ["batch", .fixed(harmonics)]), .noise(.uniform))
        let noise = layers.builder.input(
            "noise.1", TensorType(.float32, ["batch", samples, .fixed(harmonics)]), .noise(.normal))
        let multiples = table((1...harmonics).map(Double.init), [1, harmonics, 1], "harmonics")
        // The fundamental starts at phase 0.
        let started = table([0] + [Double](repeating: 1, count: harmonics - 1), [1, harmonics], "started")

        let (waves, voiced, noises) = try layers.in("generator.m_source.l_sin_gen") { layers in
            func times(_ x: Value, _ factor: Double) throws -> Value {
                try layers.apply(Multiply(), x, layers.builder.literal(Float(factor)))
            }
            let curve = try layers.apply(
                Resize(.nearest, to: [samples]), try layers.apply(Reshape(to: ["batch", 1, "frames"]), pitch))
            let cycles = try layers.apply(
                Modulo(),
                try layers.apply(
                    Divide(), try layers.apply(Multiply(), curve, multiples),
                    layers.builder.literal(Float(KokoroConfiguration.samplingRate))),
                layers.builder.literal(1))
            let first = try layers.apply(
                Reshape(to: ["batch", .fixed(harmonics), 1]), try layers.apply(Multiply(), start, started))
            let begin = try layers.apply(Pad(.constant, before: [0, 0, 0], after: [0, 0, samples - 1]), first)
            let perFrame = try layers.apply(
                Resize(.linear, to: ["frames"]), try layers.apply(Add(), cycles, begin))
            let phase = try times(try layers.apply(CumulativeSum(axis: 2), perFrame), 2 * .pi)
            let smooth = try layers.apply(Resize(.linear, to: [samples]), try times(phase, Double(rate)))
            let waves = try times(try layers.apply(Sin(), smooth), 0.1)
            let voiced = try layers.apply(
                Cast(to: .float32), try layers.apply(Compare(.greater), curve, layers.builder.literal(10)))
            let unvoiced = try layers.apply(Subtract(), layers.builder.literal(1), voiced)
            let amplitude = try layers.apply(Add(), try times(voiced, 0.003), try times(unvoiced, 0.1 / 3))
            return (waves, voiced, try layers.apply(Multiply(), amplitude, try layers.transposed(noise)))
        }
        let mixed = try layers.in("generator.m_source") { layers in
            try layers.transposed(
                try layers.apply(Add(), try layers.apply(Multiply(), waves, voiced), noises))
        }
        let merged = try layers.linear("generator.m_source.l_linear", mixed, from: harmonics, to: 1)

        var basis: [Double] = []
        for isImaginary in [false, true] {
            for bin in 0..<bins {
                for sample in 0..<points {
                    let phase = phase(bin, sample)
                    basis.append((isImaginary ? -phase.sin : phase.cos) * window[sample])
                }
            }
        }
        let analysis = table(basis, [2 * bins, 1, points], "stft.waves")
        let spectra = "frames" * Dimension(config.spectraAFrame) + 1
        let source = try layers.in("stft") { [config] layers in
            let tanh = try layers.apply(Tanh(), try layers.transposed(merged))
            let half = Dimension(points / 2)
            let padded = try layers.apply(Pad(.reflect, before: [0, 0, half], after: [0, 0, half]), tanh)
            let spectrum = try layers.apply(Conv(Window(stride: config.hop)), padded, analysis)
            let parts = try [0, bins].map {
                try layers.apply(
                    Slice(begin: [0, .fixed($0), 0], sizes: ["batch", .fixed(bins), spectra]), spectrum)
            }
            let squares = try parts.map { try layers.apply(Multiply(), $0, $0) }
            let magnitude = try layers.apply(Sqrt(), try layers.apply(Add(), squares[0], squares[1]))
            return try layers.apply(Concat(axis: 1), magnitude, try layers.apply(Atan2(), parts[1], parts[0]))
        }
        layers.builder.output("har", source, .spectrum)
    }
}
