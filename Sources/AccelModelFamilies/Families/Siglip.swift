import AccelByteIO
import AccelPrograms
import AccelTensors

/// SigLIP as `TwoTowers`. Inputs: `pixel_values` F32[batch, channels, height, width] and `input_ids` I64[batch,
/// sequence]. Texts are padded to the longest length, and padding is not masked, as in training.
struct Siglip: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "SiglipModel"
    }
    static let modelTypes = ["siglip"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    static let nestedConfigurations = ["text_config", "vision_config"]
    static let inertFields =
        .headless + nestedConfigurations.flatMap(SiglipVision.inertFields.under)
    let parts = TwoTowers.parts
    let defaultParts = TwoTowers.defaultParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        _ = try file.architecture(default: Architecture.model)
        let vision = try SiglipVisionTower(
            try file["vision_config"].objectIfAny(), of: checkpoint, prefix: "vision_model.")
        guard vision.hasHead else { throw file["vision_config"]["vision_use_head"].error("images have no embedding") }
        let text = try SiglipTextTower(try file["text_config"].objectIfAny(), prefix: "text_model.")
        let towers = TwoTowers(
            image: { batch, layers in
                try vision.pooled(try vision.hidden(batch: batch, in: &layers), batch: batch, in: &layers)
            },
            text: { try text.embedding(batch: $0, in: &$1) },
            positions: text.positions,
            logits: { products, layers in
                let scale = try layers.apply(Exp(), try layers.weight("logit_scale", [1]))
                let scaled = try layers.apply(Multiply(), products, scale)
                return try layers.apply(Add(), scaled, try layers.weight("logit_bias", [1]))
            })
        return try towers.programs(parts, names: &names)
    }
}
