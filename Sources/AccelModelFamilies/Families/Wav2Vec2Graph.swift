import AccelPrograms
import AccelTensors

/// The graph of a wav2vec 2.0 or HuBERT encoder.
struct Wav2Vec2Graph {
    let config: Wav2Vec2Configuration
    var layers: LayerBuilder
    private let audio: Value
    /// The number of frames of the features.
    private let frames: Dimension

    init(config: Wav2Vec2Configuration, layers: LayerBuilder) {
        self.config = config
        self.layers = layers
        audio = self.layers.builder.input(
            "input_values", TensorType(.float32, ["batch", "samples"]), .audio(rate: 16_000))
        frames = config.featureLayers.reduce("samples") { ($0 - .fixed($1.kernel)) / $1.stride + 1 }
    }

    /// Returns the features, F32[batch, frames, width].
    mutating func features() throws -> Value {
        var (x, width) = (try layers.apply(Reshape(to: ["batch", 1, "samples"]), audio), 1)
        for (index, layer) in config.featureLayers.enumerated() {
            let name = "feature_extractor.conv_layers.\(index)"
            x = try layers.conv(
                "\(name).conv", x, from: width, to: layer.width, kernel: layer.kernel, Window(stride: layer.stride),
                hasBias: config.featuresHaveBias)
            width = layer.width
            if config.normsAllFeatures {
                let transposed = try layers.in(name) { [x] in try $0.transposed(x) }
                let normal = try layers.layerNorm("\(name).layer_norm", transposed, width: width, epsilon: 1e-5)
                x = try layers.in(name) { try $0.transposed(normal) }
            } else if index == 0 {
                let weight = try layers.weight("\(name).layer_norm.weight", [width])
                let bias = try layers.weight("\(name).layer_norm.bias", [width])
                x = try layers.in("\(name).layer_norm") { [x, width] in
                    try $0.apply(GroupNorm(groups: width, epsilon: 1e-5), x, weight, bias)
                }
            }
            x = try layers.in(name) { [config, x] in try $0.apply(config.featureActivation, x) }
        }
        x = try layers.in("feature_projection") { [x] in try $0.transposed(x) }
        if config.normsProjection {
            x = try layers.layerNorm("feature_projection.layer_norm", x, width: width, epsilon: config.epsilon)
        }
        return try layers.linear("feature_projection.projection", x, from: width, to: config.width)
    }

    /// Returns the final hidden states, F32[batch, frames, width].
    mutating func encoder(_ features: Value) throws -> Value {
        let last = try states(features)[config.layers]
        guard config.isStable else { return last }
        return try layers.layerNorm("encoder.layer_norm", last, width: config.width, epsilon: config.epsilon)
    }

    /// Returns the input of the first layer, and the output of each, F32[batch, frames, width].
    mutating func states(_ features: Value) throws -> [Value] {
        let (width, epsilon) = (config.width, config.epsilon)
        var x = try withPositions(features)
        if !config.isStable { x = try layers.layerNorm("encoder.layer_norm", x, width: width, epsilon: epsilon) }
        var states = [x]
        for index in 0..<config.layers {
            let name = "encoder.layers.\(index)"
            if config.isStable {
                x = try adding(x, name) {
                    let normal = try $0.layers.layerNorm("\(name).layer_norm", x, width: width, epsilon: epsilon)
                    return try $0.attention("\(name).attention", normal)
                }
                x = try adding(x, name) {
                    let normal = try $0.layers.layerNorm(
                        "\(name).final_layer_norm", x, width: width, epsilon: epsilon)
                    return try $0.feedForward("\(name).feed_forward", normal)
                }
            } else {
                x = try adding(x, name) { try $0.attention("\(name).attention", x) }
                x = try layers.layerNorm("\(name).layer_norm", x, width: width, epsilon: epsilon)
                x = try adding(x, name) { try $0.feedForward("\(name).feed_forward", x) }
                x = try layers.layerNorm("\(name).final_layer_norm", x, width: width, epsilon: epsilon)
            }
            states.append(x)
        }
        return states
    }

    private mutating func adding(_ x: Value, _ name: String, _ body: (inout Self) throws -> Value) throws -> Value {
        let y = try body(&self)
        return try layers.in(name) { try $0.apply(Add(), x, y) }
    }

    /// Adds a convolution of the features, which encodes relative positions.
    private mutating func withPositions(_ features: Value) throws -> Value {
        let (name, kernel) = ("encoder.pos_conv_embed", config.positionKernel)
        // An even kernel would give one more frame, which transformers drops.
        let window = Window(
            strides: [1], dilations: [1], before: [kernel / 2], after: [kernel % 2 == 0 ? kernel / 2 - 1 : kernel / 2])
        let transposed = try layers.in(name) { try $0.transposed(features) }
        let positions = try layers.conv(
            "\(name).conv", transposed, from: config.width, to: config.width, kernel: kernel, window,
            groups: config.positionGroups)
        return try layers.in(name) { [config] in
            let active = try $0.apply(config.featureActivation, positions)
            return try $0.apply(Add(), features, try $0.transposed(active))
        }
    }

    private mutating func attention(_ name: String, _ x: Value) throws -> Value {
        let (width, heads) = (config.width, config.heads)
        var operands: [Value] = []
        for role in ["q_proj", "k_proj", "v_proj"] {
            let all = try layers.linear("\(name).\(role)", x, from: width, to: width)
            operands.append(
                try layers.in("\(name).\(role)") { [frames] in
                    let split = try $0.apply(
                        Reshape(to: ["batch", frames, .fixed(heads), .fixed(width / heads)]), all)
                    return try $0.apply(Transpose([0, 2, 1, 3]), split)
                })
        }
        let joined = try layers.in(name) { [frames] layers in
            let scale = 1 / Double(width / heads).squareRoot()
            let mixed = try layers.builder.apply(Attention(scale: scale), operands)
            return try layers.apply(
                Reshape(to: ["batch", frames, .fixed(width)]), try layers.apply(Transpose([0, 2, 1, 3]), mixed))
        }
        return try layers.linear("\(name).out_proj", joined, from: width, to: width)
    }

    private mutating func feedForward(_ name: String, _ x: Value) throws -> Value {
        let wide = try layers.linear("\(name).intermediate_dense", x, from: config.width, to: config.intermediate)
        let active = try layers.in(name) { [config] in try $0.apply(config.activation, wide) }
        return try layers.linear("\(name).output_dense", active, from: config.intermediate, to: config.width)
    }
}
