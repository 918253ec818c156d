import AccelByteIO
import AccelPrograms

/// The layers of Qwen models: sliding windows in the layers that `layer_types` names, else from layer
/// `max_window_layers` on.
enum QwenLayers {
    static func read(_ config: JSONField, rotary: RotaryEmbedding) throws -> [DecoderConfiguration.Layer] {
        let slides = try config["use_sliding_window"].bool(default: false)
        let stated = try DecoderConfiguration.window(config, default: 4096)
        let window = slides ? stated : nil
        try config.reject([
            ("use_mrope", try config["use_mrope"].bool(default: false), "a rotary embedding in three dimensions")
        ])
        let first = try config["max_window_layers"].int(in: 0...1000, default: 28)
        let sliding = try config.slidingLayers(try DecoderConfiguration.layerCount(config)) {
            window != nil && $0 >= first
        }
        guard window != nil || !sliding.contains(true) else {
            throw config["layer_types"].error("names sliding_attention, but the model has no sliding window")
        }
        return sliding.map { DecoderConfiguration.Layer(window: $0 ? window : nil, rotary: rotary) }
    }
}
