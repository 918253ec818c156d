import AccelByteIO
import AccelPrograms
import AccelTensors

/// One of CLIP's encoders alone: the text encoder of image generators, or the image encoder of other models.
///
/// Inputs: `pixel_values` F32[batch, channels, height, width], or `input_ids` and `attention_mask` I64[batch,
/// sequence].
/// Outputs: `last_hidden_state` F32[batch, length, width] and `pooler_output` F32[batch, width]; models with a
/// projection have `image_embeds` or `text_embeds` F32[batch, projection] (not normalised) in place of the second.
struct CLIPTower: ModelFamily {
    enum Architecture: String, CaseIterable {
        case text = "CLIPTextModel"
        case projectedText = "CLIPTextModelWithProjection"
        case vision = "CLIPVisionModel"
        case projectedVision = "CLIPVisionModelWithProjection"

        var readsText: Bool { self == .text || self == .projectedText }
        var projects: Bool { self == .projectedText || self == .projectedVision }
    }
    static let modelTypes = ["clip_text_model", "clip_vision_model"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    static let inertFields: [InertFields] = .headless

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        let isText = try file["model_type"].string() == "clip_text_model"
        let architecture = try file.architecture(default: isText ? Architecture.text : .vision)
        guard architecture.readsText == isText else {
            throw file["architectures"].error("\(architecture.rawValue) does not match this model_type")
        }
        names.prefixes = [isText ? "text_model." : "vision_model."]
        names.explain("\(architecture.rawValue) does not read it") {
            $0 == "text_projection.weight" || $0 == "visual_projection.weight"
        }
        let projection = try file["projection_dim"].int(in: 1...1 << 16, default: 512)
        let other = isText ? "vision_model." : "text_model."
        names.explain("belongs to the other tower") { $0.hasPrefix(other) || $0 == "logit_scale" }
        var dimensions = [Program.FreeDimension("batch", usual: [1, 8])]
        let text = isText ? try CLIPTextTower(file, prefix: "") : nil
        if let text {
            dimensions.append(Program.FreeDimension("sequence", usual: [text.positions], maximum: text.positions))
        }
        var layers = LayerBuilder(
            builder: ProgramBuilder(name: "model", dimensions: dimensions, role: .encode), names: names)
        let states =
            try text?.states(batch: "batch", in: &layers)
            ?? CLIPVisionTower(file, of: checkpoint, prefix: "").states(batch: "batch", in: &layers)
        layers.builder.output("last_hidden_state", states.hidden, .hiddenStates)
        if architecture.projects {
            let name = isText ? "text_projection" : "visual_projection"
            let projected = try layers.linear(
                name, states.pooled, from: states.width, to: projection, isBiased: false)
            layers.builder.output(isText ? "text_embeds" : "image_embeds", projected, .embedding)
        } else {
            layers.builder.output("pooler_output", states.pooled, .pooled)
        }
        names = layers.names
        return [try layers.builder.finish()]
    }
}
