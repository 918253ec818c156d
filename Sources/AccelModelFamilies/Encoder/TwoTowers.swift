import AccelByteIO
import AccelPrograms
import AccelTensors

/// A model of an encoder of images and one of texts into one space.
///
/// Parts: `vision`, from `pixel_values` to `image_embeds` F32[batch, projection]; `text`, from tokens to `text_embeds`
/// F32[batch, projection]; `model`, both with `logits_per_image` F32[images, texts]. Embeddings have length 1.
struct TwoTowers {
    static let parts = ["vision", "text", "model"]
    static let defaultParts = ["vision", "text"]

    /// F32[batch, projection], of any length.
    let image: (_ batch: Dimension, inout LayerBuilder) throws -> Value
    /// F32[batch, projection], of any length.
    let text: (_ batch: Dimension, inout LayerBuilder) throws -> Value
    /// The longest text, in tokens.
    let positions: Int
    /// Computes logits from the cosine similarities of images and texts.
    let logits: (Value, inout LayerBuilder) throws -> Value

    func programs(_ parts: [String], names: inout TensorNames) throws -> [Program] {
        names.explain("belongs to a part that is not built", isExpected: true) { name in
            guard !parts.contains("model") else { return false }
            return name.hasPrefix("logit_")
                || !parts.contains("vision") && ["vision_model.", "visual_projection."].contains(where: name.hasPrefix)
                || !parts.contains("text") && ["text_model.", "text_projection."].contains(where: name.hasPrefix)
        }
        return try parts.map { part in
            let (images, texts): (Dimension, Dimension) = part == "model" ? ("images", "texts") : ("batch", "batch")
            let sizes = part == "model" ? ["images", "texts"] : ["batch"]
            var dimensions = sizes.map { Program.FreeDimension($0, usual: [1, 8]) }
            if part != "vision" {
                dimensions.append(Program.FreeDimension("sequence", usual: [positions], maximum: positions))
            }
            var layers = LayerBuilder(
                builder: ProgramBuilder(
                    name: part, dimensions: dimensions, role: part == "model" ? .match : .encode),
                names: names)
            let pictures = part == "text" ? nil : try normal(try image(images, &layers), "image_embeds", in: &layers)
            let words = part == "vision" ? nil : try normal(try text(texts, &layers), "text_embeds", in: &layers)
            if let pictures, let words {
                let compared = try layers.in("logits") { layers in
                    let transposed = try layers.apply(Transpose([1, 0]), words)
                    return try logits(try layers.apply(MatMul(), pictures, transposed), &layers)
                }
                layers.builder.output("logits_per_image", compared, .logits(over: .texts))
            }
            names = layers.names
            return try layers.builder.finish()
        }
    }

    private func normal(_ embedding: Value, _ name: String, in layers: inout LayerBuilder) throws -> Value {
        let normal = try layers.in(name) { try $0.apply(L2Norm(), embedding) }
        layers.builder.output(name, normal, .embedding)
        return normal
    }
}
