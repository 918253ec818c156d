import AccelPrograms
import AccelTensors

/// The part with the ports of FluidAudio (FluidInference/FluidAudio, VadManager.swift): eight frames in one call.
extension SileroVAD {
    static let fluidAudioPart = "unified_256ms"
    /// The frames of a window, of 512 new samples each.
    private static let frames = 8

    /// A window of 256 ms.
    ///
    /// - Inputs: `audio_input` F32[1, 4160], the last 64 samples of the previous window (initially zeros) and 4096 new ones at 16 kHz;
    ///   `hidden_state` and `cell_state` F32[1, 128], initially zeros.
    /// - Outputs: `vad_output` F32[1, 1, 1], the probability that any of the frames is speech if they are taken as independent,
    ///   1 - (1 - p1) * ... * (1 - p8), as in FluidInference/mobius (`convert-coreml.py` of silero-vad); and `new_hidden_state` and
    ///   `new_cell_state` F32[1, 128], for the next window.
    static func windowDetector(_ names: inout TensorNames) throws -> Program {
        var layers = LayerBuilder(builder: ProgramBuilder(name: fluidAudioPart, role: .block), names: names)
        let count = Dimension(frames)
        let audio = layers.builder.input("audio_input", TensorType(.float32, [1, 4160]))
        let halves = ["hidden_state", "cell_state"].map {
            layers.builder.input($0, TensorType(.float32, [1, 128]))
        }
        let windows = try layers.in("ports") { layers in
            let rows = try (0..<frames).map { index in
                try layers.apply(Slice(begin: [0, .fixed(512 * index)], sizes: [1, 576]), audio)
            }
            return try layers.builder.apply(Concat(axis: 0), rows)
        }
        var state = try layers.in("ports") { layers in
            let parts = try halves.map { try layers.apply(Reshape(to: [1, 1, 128]), $0) }
            return try layers.builder.apply(Concat(axis: 0), parts)
        }
        let features = try features(windows, count: count, in: &layers)
        let cell = try cell(in: &layers)
        var hidden: [Value] = []
        for index in 0..<frames {
            let row = try layers.apply(Slice(begin: [.fixed(index), 0], sizes: [1, 128]), features)
            state = try Self.state(after: row, state, cell, in: &layers)
            hidden.append(try layers.apply(Slice(begin: [0, 0, 0], sizes: [1, 1, 128]), state))
        }
        let all = try layers.builder.apply(Concat(axis: 1), hidden)
        let probabilities = try probability(all, count: count, in: &layers)
        layers.builder.output("vad_output", try anyOf(probabilities, in: &layers))
        for (index, name) in ["new_hidden_state", "new_cell_state"].enumerated() {
            let half = try layers.in("ports") { layers in
                let part = try layers.apply(Slice(begin: [.fixed(index), 0, 0], sizes: [1, 1, 128]), state)
                return try layers.apply(Reshape(to: [1, 128]), part)
            }
            layers.builder.output(name, half)
        }
        names = layers.names
        return try layers.builder.finish()
    }

    /// Returns the probability F32[1, 1, 1] of at least one of independent events, of their probabilities F32[frames, 1].
    private static func anyOf(_ probabilities: Value, in layers: inout LayerBuilder) throws -> Value {
        try layers.in("any") { layers in
            var rest = try layers.apply(Subtract(), layers.builder.literal(1), probabilities)
            var count = frames
            while count > 1 {
                count /= 2
                let halves = try [0, count].map { first in
                    try layers.apply(
                        Slice(begin: [.fixed(first), 0], sizes: [.fixed(count), 1]), rest)
                }
                rest = try layers.apply(Multiply(), halves[0], halves[1])
            }
            let any = try layers.apply(Subtract(), layers.builder.literal(1), rest)
            return try layers.apply(Reshape(to: [1, 1, 1]), any)
        }
    }
}
