import AccelByteIO
import AccelPrograms
import AccelTensors

/// CLIP as `TwoTowers`. Inputs: `pixel_values` F32[batch, channels, height, width], and `input_ids` and
/// `attention_mask` I64[batch, sequence].
struct CLIP: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "CLIPModel"
    }
    static let modelTypes = ["clip"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    static let nestedConfigurations = ["text_config", "vision_config", "text_config_dict", "vision_config_dict"]
    static let inertFields =
        [InertFields("says how logit_scale began; it is stored", ["logit_scale_init_value"])] + .headless
        + nestedConfigurations.flatMap(CLIPTower.inertFields.under)
        + nestedConfigurations.map {
            InertFields("the width of embeddings, which the whole configuration says", ["\($0).projection_dim"])
        }
    let parts = TwoTowers.parts
    let defaultParts = TwoTowers.defaultParts

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        _ = try file.architecture(default: Architecture.model)
        let projection = try file["projection_dim"].int(in: 1...1 << 16, default: 512)
        let vision = try CLIPVisionTower(
            try Self.tower("vision_config", of: file), of: checkpoint, prefix: "vision_model.")
        let text = try CLIPTextTower(try Self.tower("text_config", of: file), prefix: "text_model.")
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

    /// Returns the configuration of one tower. If the early field `NAME_dict` exists, it replaces `NAME`, with defaults
    /// for its missing fields, as in transformers.
    private static func tower(_ name: String, of file: JSONField) throws -> JSONField {
        let (later, early) = (file[name], file["\(name)_dict"])
        guard early.exists else { return try later.objectIfAny() }
        file.disregard(name)
        return try early.objectIfAny()
    }
}
