import ByteIO
import Programs
import Tensors

/// CLIP: an encoder of images and an encoder of texts into one space.
///
/// Parts: `vision`, from `pixel_values` F32[batch, channels, height, width] to `image_embeds` F32[batch, projection];
/// `text`, from `input_ids` and `attention_mask` I64[batch, sequence] to `text_embeds` F32[batch, projection]; `model`, both
/// with `logits_per_image` F32[images, texts]. Embeddings have length 1.
struct CLIP: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "CLIPModel"
    }
    static let modelTypes = ["clip"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    let parts = ["vision", "text", "model"]
    let defaultParts = ["vision", "text"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        _ = try file.architecture(default: Architecture.model)
        try file.refuse([
            ("quantization_config", file["quantization_config"].exists, "a checkpoint that is quantised already")
        ])
        let projection = try file["projection_dim"].int(in: 1...1 << 16, default: 512)
        let vision = try CLIPVisionTower(file["vision_config"], prefix: "vision_model.")
        let text = try CLIPTextTower(file["text_config"], prefix: "text_model.")
        names.explain("positions 0, 1, 2, ..., which need no table") { $0.hasSuffix("embeddings.position_ids") }
        names.explain("belongs to a part that is not built") { name in
            name == "logit_scale" && !parts.contains("model")
                || !parts.contains("model") && !parts.contains("vision")
                    && ["vision_model.", "visual_projection."].contains(where: name.hasPrefix)
                || !parts.contains("model") && !parts.contains("text")
                    && ["text_model.", "text_projection."].contains(where: name.hasPrefix)
        }
        return try parts.map { part in
            let (images, texts): (Dimension, Dimension) = part == "model" ? ("images", "texts") : ("batch", "batch")
            let sizes = part == "model" ? ["images", "texts"] : ["batch"]
            var dimensions = sizes.map { Program.FreeDimension($0, usual: [1, 8]) }
            if part != "vision" {
                dimensions.append(Program.FreeDimension("sequence", usual: [text.positions], maximum: text.positions))
            }
            var layers = LayerBuilder(builder: ProgramBuilder(name: part, dimensions: dimensions), names: names)
            func embedding(_ states: CLIPStates, _ name: String) throws -> Value {
                let projected = try layers.linear(
                    name, states.pooled, from: states.width, to: projection, isBiased: false)
                return try layers.in(name) { try $0.apply(L2Norm(), projected) }
            }
            let image =
                part == "text"
                ? nil : try embedding(try vision.states(batch: images, in: &layers), "visual_projection")
            let words =
                part == "vision" ? nil : try embedding(try text.states(batch: texts, in: &layers), "text_projection")
            if let image { layers.builder.output("image_embeds", image) }
            if let words { layers.builder.output("text_embeds", words) }
            if let image, let words {
                let scale = try layers.weight("logit_scale", [])
                let logits = try layers.in("logits") { layers in
                    let turned = try layers.apply(Transpose([1, 0]), words)
                    let products = try layers.apply(MatMul(), image, turned)
                    return try layers.apply(Multiply(), products, try layers.apply(Exp(), scale))
                }
                layers.builder.output("logits_per_image", logits)
            }
            names = layers.names
            return try layers.builder.finish()
        }
    }
}
