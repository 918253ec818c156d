import AccelPrograms
import AccelTensors

/// The prosody of speech, and the recurrent layers of the text side.
extension KokoroGraph {
    /// Applies a recurrent layer in both directions.
    /// - Parameter x: F32[batch, T, inputs]
    /// - Returns: F32[batch, T, width]: the forward half, then the reverse one; zeros after the valid steps.
    mutating func recurrent(_ name: String, _ x: Value, from inputs: Int, _ length: Value) throws -> Value {
        let half = config.width / 2
        let halves = try [("", false), ("_reverse", true)].map { ending, reverses in
            let inputWeight = try layers.weight("\(name).weight_ih_l0\(ending)", [4 * half, inputs])
            let inputBias = try layers.weight("\(name).bias_ih_l0\(ending)", [4 * half])
            let stateWeight = try layers.weight("\(name).weight_hh_l0\(ending)", [4 * half, half])
            let stateBias = try layers.weight("\(name).bias_hh_l0\(ending)", [4 * half])
            return try layers.in("\(name)\(ending)") { layers in
                let gates = try layers.apply(Linear(), x, inputWeight, inputBias)
                return try layers.apply(LSTM(reverses: reverses), gates, stateWeight, stateBias, length)
            }
        }
        return try layers.in(name) { try $0.apply(Concat(axis: 2), halves[0], halves[1]) }
    }

    /// Builds the part that predicts pitch and loudness.
    mutating func prosody() throws {
        let (width, frames) = (config.width, "asr_frames" as Dimension)
        let inputs = width + config.style
        let x = layers.builder.input("en", TensorType(.float32, ["batch", .fixed(inputs), frames]), .features)
        let style = layers.builder.input("style", TensorType(.float32, ["batch", .fixed(config.style)]), .style)
        let length = layers.builder.input("length", TensorType(.int64, ["batch"]), .validLength(of: "en", axis: 2))
        let root = Self.module("predictor", with: "F0_proj.bias", in: layers.names)
        let along = try layers.in(root) { try $0.transposed(x) }
        let shared = try recurrent("\(root).shared", along, from: inputs, length)
        let features = try layers.in(root) { try $0.transposed(shared) }
        let valid = try valid(length, times: 2, plus: 0, of: frames * 2)
        for (output, name, role) in [("f0", "F0", Role.pitch), ("n", "N", .energy)] {
            var y = features
            for (index, (from, to)) in [(width, width), (width, width / 2), (width / 2, width / 2)].enumerated() {
                y = try styledBlock(
                    "\(root).\(name).\(index)", y, style, from: from, to: to, upsamples: index == 1, length,
                    times: index == 2 ? 2 : 1)
            }
            y = try layers.conv("\(root).\(name)_proj", y, from: width / 2, to: 1, kernel: 1)
            y = try masked(y, valid)
            let curve = try layers.in("\(root).\(name)_proj") { [y] in
                try $0.apply(Reshape(to: ["batch", frames * 2]), y)
            }
            layers.builder.output(output, curve, role)
        }
    }
}
