import AccelByteIO
import AccelPrograms
import AccelTensors

/// Vision transformers (ViT): the bare model and the image classifier.
///
/// Input: `pixel_values` F32[batch, channels, height, width] of the size in the configuration, normalised as by the
/// model's image processor. Outputs of the bare model: `last_hidden_state` F32[batch, 1 + patches, width], and
/// `pooler_output` F32[batch, width] if the checkpoint has a pooler; output of the classifier: `logits`.
struct ViT: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "ViTModel"
        case classifier = "ViTForImageClassification"
    }
    static let modelTypes = ["vit"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    static let inertFields: [InertFields] =
        .headless + [
            InertFields("belongs to the class that paints hidden patches", ["encoder_stride"])
        ]

    private static let layerNames = EncoderLayers.Names(
        query: "attention.attention.query", key: "attention.attention.key", value: "attention.attention.value",
        output: "attention.output.dense", attentionNorm: "layernorm_before", up: "intermediate.dense",
        down: "output.dense", feedForwardNorm: "layernorm_after")

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let architecture = try file.architecture(default: Architecture.model)
        let patches = try ImagePatches(file, of: checkpoint, patch: 16, normalisation: .halves)
        let length = patches.count + 1
        var encoder = try EncoderLayers(
            preNorm: file, epsilon: 1e-12, activation: "gelu", length: .fixed(length))
        encoder.names = Self.layerNames
        encoder.hasQueryKeyValueBias = try file["qkv_bias"].bool(default: true)
        let pooler = (
            activation: try HiddenActivation.read(file["pooler_act"], default: "tanh"),
            width: try file["pooler_output_size"].int(in: 1...1 << 16, default: encoder.width)
        )

        names.prefixes = ["vit."]
        names.explain("hides patches in training") { $0 == "embeddings.mask_token" }
        names.explain("\(architecture.rawValue) does not read it") {
            $0 == "pooler.dense.weight" || $0 == "pooler.dense.bias"
        }
        names.explain("belongs to a head that \(architecture.rawValue) does not have") {
            $0.hasPrefix("decoder.") || architecture == .model && $0.hasPrefix("classifier.")
        }
        var layers = LayerBuilder(
            builder: ProgramBuilder(
                name: "model", dimensions: [Program.FreeDimension("batch", usual: [1, 8])],
                role: architecture == .model ? .encode : .classify),
            names: names)
        let image = layers.builder.input(
            "pixel_values", patches.type(batch: "batch"), .pixels(patches.normalisation))
        var x = try patches.embedded(
            image, by: "embeddings.patch_embeddings.projection", to: encoder.width, isBiased: true, in: &layers)
        let first = try layers.weight("embeddings.cls_token", [1, 1, encoder.width])
        let positions = try layers.weight("embeddings.position_embeddings", [1, length, encoder.width])
        x = try layers.in("embeddings") { layers in
            let token = try layers.apply(Expand(to: ["batch", 1, .fixed(encoder.width)]), first)
            return try layers.apply(Add(), try layers.apply(Concat(axis: 1), token, x), positions)
        }
        for index in 0..<(try file["num_hidden_layers"].int(in: 1...1000, default: 12)) {
            x = try encoder.layer("encoder.layer.\(index)", x, nil, in: &layers)
        }
        x = try layers.layerNorm("layernorm", x, width: encoder.width, epsilon: encoder.epsilon)
        switch architecture {
        case .model:
            layers.builder.output("last_hidden_state", x, .hiddenStates)
            if layers.names.find("pooler.dense.weight") != nil {
                let first = try layers.in("pooler") { try $0.firstToken(x, width: encoder.width) }
                let dense = try layers.linear("pooler.dense", first, from: encoder.width, to: pooler.width)
                layers.builder.output(
                    "pooler_output", try layers.in("pooler") { try $0.apply(pooler.activation, dense) }, .pooled)
            }
        case .classifier:
            let first = try layers.in("classifier") { try $0.firstToken(x, width: encoder.width) }
            let labels = try file.labelCount()
            layers.builder.output(
                "logits", try layers.linear("classifier", first, from: encoder.width, to: labels),
                .logits(over: .labels))
        }
        names = layers.names
        return [try layers.builder.finish()]
    }
}
