import AccelByteIO
import AccelPrograms
import AccelTensors

/// Silero VAD at 16 kHz: the probability of speech in 512 samples of audio.
///
/// Input: `frame` F32[batch, 576], the last 64 samples of the previous frame (initially zeros) and 512 new ones.
/// Output:
/// `prob` F32[batch, 1]. State: `state` F32[2, batch, 128], initially zeros.
///
/// `unified_256ms`, built by name, has the ports of FluidAudio's detector (`SileroVAD+FluidAudio.swift`).
struct SileroVAD: ModelFamily {
    static let modelTypes = ["silero_vad"]
    static let architectures = ["SileroVAD"]
    static let inertFields: [InertFields] = []
    let contractParts = [SileroVAD.fluidAudioPart]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let rate = checkpoint.configuration["sampling_rate"]
        guard try rate.int(in: 1...1 << 20, default: 16000) == 16000 else {
            throw RequestError(
                "\(rate.file), field \(rate.path): only the model for 16000 Hz is supported", status: .unavailable)
        }
        names.prefixes = ["_model."]
        names.explain("belongs to the model for 8000 Hz") { $0.hasPrefix("_model_8k.") }
        return try parts.map { part in
            if part == Self.fluidAudioPart { return try Self.windowDetector(&names) }
            var layers = LayerBuilder(
                builder: ProgramBuilder(
                    name: part, dimensions: [.init("batch", usual: [1])], role: .detect), names: names)
            let frame = layers.builder.input(
                "frame", TensorType(.float32, ["batch", 576]), .audio(rate: 16_000))
            let state = layers.builder.state(
                "state", TensorType(.float32, [2, "batch", 128]), .recurrent)
            let features = try Self.features(frame, count: "batch", in: &layers)
            let next = try Self.state(after: features, state, try Self.cell(in: &layers), in: &layers)
            let hidden = try layers.in("final_conv") {
                try $0.apply(Slice(begin: [0, 0, 0], sizes: [1, "batch", 128]), next)
            }
            let probability = try Self.probability(hidden, count: "batch", in: &layers)
            layers.builder.output("prob", probability, .probabilities)
            layers.builder.update("state", to: next)
            names = layers.names
            return try layers.builder.finish()
        }
    }

    /// Returns the features F32[count, 128] of frames F32[count, 576].
    static func features(_ frames: Value, count: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let padded = try layers.in("stft") {
            let mono = try $0.apply(Reshape(to: [count, 1, 576]), frames)
            return try $0.apply(Pad(.reflect, before: [0, 0, 0], after: [0, 0, 64]), mono)
        }
        let spectrum = try layers.conv(
            "stft_conv", padded, from: 1, to: 258, kernel: 256, Window(stride: 128), hasBias: false)
        var x = try layers.in("stft") { layers in
            let squares = try [0, 129].map { first in
                let part = try layers.apply(Slice(begin: [0, .fixed(first), 0], sizes: [count, 129, 4]), spectrum)
                return try layers.apply(Multiply(), part, part)
            }
            return try layers.apply(Sqrt(), try layers.apply(Add(), squares[0], squares[1]))
        }
        var width = 129
        for (index, (outputs, stride)) in [(128, 1), (64, 2), (64, 2), (128, 1)].enumerated() {
            let name = "conv\(index + 1)"
            x = try layers.conv(
                name, x, from: width, to: outputs, kernel: 3, Window(stride: stride, padding: 1))
            x = try layers.in(name) { [x] in try $0.apply(Relu(), x) }
            width = outputs
        }
        return try layers.apply(Reshape(to: [count, 128]), x)
    }

    /// Returns the weights and biases of the recurrent cell.
    static func cell(in layers: inout LayerBuilder) throws -> [Value] {
        let weights = try ["ih", "hh"].map { try layers.weight("lstm_cell.weight_\($0)", [512, 128]) }
        return weights + (try ["ih", "hh"].map { try layers.weight("lstm_cell.bias_\($0)", [512]) })
    }

    /// Returns the state F32[2, batch, 128] after features F32[batch, 128].
    static func state(
        after x: Value, _ state: Value, _ cell: [Value], in layers: inout LayerBuilder
    ) throws -> Value {
        try layers.in("lstm_cell") { try $0.builder.apply(LSTMCell(), [x, state] + cell) }
    }

    /// Returns the probabilities F32[count, 1] of hidden states with 128 numbers each.
    static func probability(_ hidden: Value, count: Dimension, in layers: inout LayerBuilder) throws -> Value {
        let active = try layers.in("final_conv") {
            try $0.apply(Relu(), try $0.apply(Reshape(to: [count, 128, 1]), hidden))
        }
        let logit = try layers.conv("final_conv", active, from: 128, to: 1, kernel: 1)
        return try layers.in("final_conv") {
            try $0.apply(Sigmoid(), try $0.apply(Reshape(to: [count, 1]), logit))
        }
    }
}
