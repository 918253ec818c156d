import ByteIO
import Programs
import Tensors

/// The image tower of SigLIP.
///
/// Input: `pixel_values` F32[batch, channels, height, width] of the size that the configuration states. Outputs:
/// `last_hidden_state` F32[batch, patches, width], and with the attention pooling head `pooler_output` F32[batch, width].
struct SiglipVision: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "SiglipVisionModel"
    }
    static let modelTypes = ["siglip_vision_model"]
    static let architectures = Architecture.allCases.map(\.rawValue)

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        _ = try file.architecture(default: Architecture.model)
        try file.refuse([
            ("quantization_config", file["quantization_config"].exists, "a checkpoint that is quantised already")
        ])
        let patches = try ImagePatches(file, patch: 16)
        let encoder = try EncoderLayers(
            preNorm: file, epsilon: 1e-6, activation: "gelu_pytorch_tanh", length: .fixed(patches.count))
        names.prefixes = ["vision_model."]
        names.explain("positions 0, 1, 2, ..., which need no table") { $0 == "embeddings.position_ids" }
        names.explain("the configuration has no pooling head") { $0.hasPrefix("head.") }

        var layers = LayerBuilder(
            builder: ProgramBuilder(name: "model", dimensions: [Program.FreeDimension("batch", usual: [1, 8])]),
            names: names)
        let image = layers.builder.input("pixel_values", patches.type(batch: "batch"))
        var x = try patches.embedded(
            image, by: "embeddings.patch_embedding", to: encoder.width, isBiased: true, in: &layers)
        let places = try layers.weight("embeddings.position_embedding.weight", [patches.count, encoder.width])
        x = try layers.in("embeddings") { try $0.apply(Add(), x, places) }
        for index in 0..<(try file["num_hidden_layers"].int(in: 1...1000, default: 12)) {
            x = try encoder.layer("encoder.layers.\(index)", x, nil, in: &layers)
        }
        x = try layers.layerNorm("post_layernorm", x, width: encoder.width, epsilon: encoder.epsilon)
        layers.builder.output("last_hidden_state", x)
        if try file["vision_use_head"].bool(default: true) {
            layers.builder.output("pooler_output", try head(x, encoder, in: &layers))
        }
        names = layers.names
        return [try layers.builder.finish()]
    }

    /// A learned query looks at all patches; a residual feed-forward network follows.
    private func head(_ x: Value, _ encoder: EncoderLayers, in layers: inout LayerBuilder) throws -> Value {
        let (name, width) = ("head.attention", encoder.width)
        let probe = try layers.weight("head.probe", [1, 1, width])
        let weight = try layers.weight("\(name).in_proj_weight", [3 * width, width])
        let bias = try layers.weight("\(name).in_proj_bias", [3 * width])
        let mixed = try layers.in(name) { layers in
            let query = try layers.apply(Expand(to: ["batch", 1, .fixed(width)]), probe)
            // Query, key and value lie one above the other in one matrix.
            let operands = try [query, x, x].enumerated().map { index, source in
                let (first, size) = (Dimension(index * width), Dimension(width))
                let rows = try layers.apply(Slice(begin: [first, 0], sizes: [size, size]), weight)
                let offsets = try layers.apply(Slice(begin: [first], sizes: [size]), bias)
                let all = try layers.apply(Linear(), source, rows, offsets)
                return try encoder.split(all, length: index == 0 ? 1 : nil, in: &layers)
            }
            return try encoder.mix(operands, nil, queries: 1, in: &layers)
        }
        let attended = try layers.linear("\(name).out_proj", mixed, from: width, to: width)
        let normal = try layers.layerNorm("head.layernorm", attended, width: width, epsilon: encoder.epsilon)
        let fed = try encoder.feedForward("head", normal, in: &layers)
        return try layers.in("head") {
            try $0.firstToken(try $0.apply(Add(), attended, fed), width: width)
        }
    }
}
