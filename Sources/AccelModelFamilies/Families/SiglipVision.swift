import AccelByteIO
import AccelPrograms
import AccelTensors

/// SigLIP's image encoder alone.
///
/// Input: `pixel_values` F32[batch, channels, height, width] of the size in the configuration. Outputs:
/// `last_hidden_state` F32[batch, patches, width], and with the attention pooling head `pooler_output` F32[batch,
/// width].
struct SiglipVision: ModelFamily {
    enum Architecture: String, CaseIterable {
        case model = "SiglipVisionModel"
    }
    static let modelTypes = ["siglip_vision_model"]
    static let architectures = Architecture.allCases.map(\.rawValue)
    static let inertFields: [InertFields] = .headless

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let file = checkpoint.configuration
        _ = try file.architecture(default: Architecture.model)
        let tower = try SiglipVisionTower(file, of: checkpoint, prefix: "")
        names.prefixes = ["vision_model."]
        if !tower.hasHead { names.explain("the configuration has no pooling head") { $0.hasPrefix("head.") } }
        names.explain("belongs to the other tower") {
            $0.hasPrefix("text_model.") || $0 == "logit_scale" || $0 == "logit_bias"
        }
        names.explain("belongs to a head that SiglipVisionModel does not have") { $0.hasPrefix("classifier.") }

        var layers = LayerBuilder(
            builder: ProgramBuilder(
                name: "model", dimensions: [Program.FreeDimension("batch", usual: [1, 8])], role: .encode),
            names: names)
        let hidden = try tower.hidden(batch: "batch", in: &layers)
        layers.builder.output("last_hidden_state", hidden, .hiddenStates)
        if tower.hasHead {
            layers.builder.output("pooler_output", try tower.pooled(hidden, batch: "batch", in: &layers), .pooled)
        }
        names = layers.names
        return [try layers.builder.finish()]
    }
}
