import AccelAudio
import AccelPrograms
import AccelTensors

import func AccelPlatform.cos

/// The features of a sound, as `LogMelSpectrogram` computes them outside of graphs.
extension WhisperGraph {
    private static let (frameLength, hop, sampleRate) = (400, 160, 16_000)

    /// `audio` F32[160 * frames], samples from -1 to 1 at 16 kHz -> `melspectrogram_features` F32[1, mels, 1, frames].
    ///
    /// The short-time Fourier transform is a convolution with cosines and sines under a periodic Hann window. The sound is reflected at
    /// both ends, and the last spectrum is dropped. The logarithms are limited to 8 below the largest, as in OpenAI's code.
    mutating func melSpectrogram() throws {
        let (length, mels) = (Self.frameLength, config.mels)
        let bins = length / 2 + 1
        let samples = "frames" * Dimension(Self.hop)
        let audio = layers.builder.input("audio", TensorType(.float32, [samples]))
        let waves = layers.builder.literal(
            HostTensor(Self.waves(bins: bins), [2 * bins, 1, length]), name: "stft.waves")
        let filters = MelFilters(
            bands: mels, frequencyCount: bins, sampleRate: Double(Self.sampleRate), range: 0...8000)
        let bands = layers.builder.literal(
            HostTensor(filters.matrix(frequencyCount: bins), [1, mels, bins]), name: "mel.filters")
        let power = try layers.in("stft") { layers in
            let half = Dimension(length / 2)
            let sound = try layers.apply(Reshape(to: [1, 1, samples]), audio)
            let padded = try layers.apply(Pad(.reflect, before: [0, 0, half], after: [0, 0, half]), sound)
            let spectrum = try layers.apply(Conv(Window(stride: Self.hop)), padded, waves)
            let squares = try [0, bins].map { first in
                let part = try layers.apply(
                    Slice(begin: [0, .fixed(first), 0], sizes: [1, .fixed(bins), "frames"]), spectrum)
                return try layers.apply(Multiply(), part, part)
            }
            return try layers.apply(Add(), squares[0], squares[1])
        }
        let features = try layers.in("mel") { layers in
            func number(_ number: Float) -> Value { layers.builder.literal(number) }
            let energy = try layers.apply(Add(), try layers.apply(MatMul(), bands, power), number(1e-10))
            // The decimal logarithm, by the natural one.
            let log = try layers.apply(
                Multiply(), try layers.apply(Log(), energy), number(0.434_294_481_903_251_8))
            let largest = try layers.apply(Reduce(.max, axes: [1, 2]), log)
            let limited = try layers.apply(Maximum(), log, try layers.apply(Subtract(), largest, number(8)))
            let scaled = try layers.apply(Multiply(), try layers.apply(Add(), limited, number(4)), number(0.25))
            return try layers.apply(Reshape(to: [1, .fixed(mels), 1, "frames"]), scaled)
        }
        layers.builder.output("melspectrogram_features", features)
    }

    /// The cosines, then the sines of all frequencies under the window: F32[2 * bins, samples of a frame].
    private static func waves(bins: Int) -> [Float] {
        let cosines = (0..<frameLength).map { cos(2 * .pi * Double($0) / Double(frameLength)) }
        // A sine is a cosine three quarters of a period later.
        return [0, 3 * frameLength / 4].flatMap { shift in
            (0..<bins).flatMap { bin in
                cosines.indices.map { sample in
                    Float((0.5 - 0.5 * cosines[sample]) * cosines[(bin * sample + shift) % frameLength])
                }
            }
        }
    }
}
