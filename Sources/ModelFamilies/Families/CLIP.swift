import ByteIO
import Programs
import Tensors

/// CLIP: `TwoTowers`. Its inputs are `pixel_values` F32[batch, channels, height, width], and `input_ids` and
/// `attention_mask` I64[batch, sequence].
struct CLIP: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "CLIPModel"
    }
    static let modelTypes = ["clip"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    let parts = TwoTowers.parts
    let defaultParts = TwoTowers.defaultParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        _ = try file.architecture(default: Architecture.model)
        let projection = try file["projection_dim"].int(in: 1...1 << 16, default: 512)
        let vision = try CLIPVisionTower(file["vision_config"], prefix: "vision_model.")
        let text = try CLIPTextTower(file["text_config"], prefix: "text_model.")
        func projected(_ name: String, _ states: CLIPStates, in layers: inout LayerBuilder) throws -> Value {
            try layers.linear(name, states.pooled, from: states.width, to: projection, isBiased: false)
        }
        let towers = TwoTowers(
            image: { try projected("visual_projection", try vision.states(batch: $0, in: &$1), in: &$1) },
            text: { try projected("text_projection", try text.states(batch: $0, in: &$1), in: &$1) },
            positions: text.positions,
            logits: { products, layers in
                let scale = try layers.apply(Exp(), try layers.weight("logit_scale", []))
                return try layers.apply(Multiply(), products, scale)
            })
        return try towers.programs(parts, names: &names)
    }
}
