import AccelByteIO
import AccelPrograms
import AccelTensors

/// The decoder of SNAC, an audio codec with codes at several rates (24, 32 and 44 kHz).
///
/// Inputs of `decoder`: `codes.0`, `codes.1`, ... I64[batch, frames * n], coarse to fine, and `noise.0`, ... F32[batch,
/// 1, T], one for each stage that adds noise; the original draws them. Outputs: `z_q` F32[batch, latent, T], the
/// latents of the codes, and `audio` F32[batch, 1, samples].
///
/// Long codes can be decoded exactly in pieces, as `CodeVocoder` of Accel does it for models without attention. The
/// receptive field of 24 kHz models (rates 8, 8, 4, 2) is 2.3 coarse frames to either side. Give each piece three more
/// coarse frames on both sides (as far as they exist) with their codes and noise, and drop the 3 * 2048 samples that
/// they add. Models with attention use whole windows in addition: pieces have to begin and end at window borders, with
/// two more windows on both sides.
///
/// `decoder_zero_noise` has no noise inputs and treats them as zeros; its audio is `audio_zero_noise`.
struct SNAC: ModelFamily {
    static let modelTypes = ["snac"]
    static let architectures = ["SNAC"]
    static let inertFields: [InertFields] = []
    let parts = ["decoder", "decoder_zero_noise"]
    let defaultParts = ["decoder"]

    /// Published configurations have no `model_type`: they hold the arguments of the class.
    static func recognizes(_ configuration: JSONField) -> Bool {
        ["decoder_rates", "vq_strides", "codebook_size"].allSatisfy { configuration[$0].exists }
    }

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try SNACConfiguration(checkpoint.configuration)
        names.prefixes = ["model."]
        names.explain("the encoder's, which decoding does not read") {
            $0.hasPrefix("encoder.") || $0.contains(".in_proj.")
        }
        names.explain("xPos scales, which the decoder leaves at 1") { $0.hasSuffix(".rel_pos.scale") }
        return try parts.map { part in
            let dimensions = [Program.FreeDimension("batch", usual: [1]), .init("frames", usual: [12, 4])]
            var graph = SNACGraph(
                config: config,
                layers: LayerBuilder(
                    builder: ProgramBuilder(name: part, dimensions: dimensions, role: .vocoder), names: names))
            let isQuiet = part == "decoder_zero_noise"
            let latents = try graph.latents()
            let audio = try graph.audio(latents, addsNoise: config.hasNoise && !isQuiet)
            if !isQuiet { graph.layers.builder.output("z_q", latents, .features) }
            graph.layers.builder.output(
                isQuiet ? "audio_zero_noise" : "audio", audio, .audio(rate: config.samplingRate))
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
    }
}

/// The checked configuration of SNAC models. A missing field has the default of the original class.
struct SNACConfiguration {
    /// The sample rate in Hz.
    let samplingRate: Int
    let latent: Int
    let width: Int
    let rates: [Int]
    let codebookSize: Int
    let codebookWidth: Int
    let strides: [Int]
    /// The number of the finest frames that attend to each other; nil without attention.
    let window: Int?
    let hasNoise: Bool
    let isDepthwise: Bool

    /// Returns the width of the decoder after `stage` stages.
    func width(after stage: Int) -> Int { width >> stage }

    init(_ config: JSONField) throws {
        func integers(_ name: String, _ other: [Int], in range: ClosedRange<Int>) throws -> [Int] {
            let field = config[name]
            guard field.exists else { return other }
            let found = try field.array().map { try $0.int(in: range) }
            guard (1...16).contains(found.count) else { throw field.error("expected 1 to 16 numbers") }
            return found
        }
        samplingRate = try config["sampling_rate"].int(in: 1...1 << 20, default: 44_100)
        rates = try integers("decoder_rates", [7, 7, 3, 3], in: 1...64)
        strides = try integers("vq_strides", [8, 4, 2, 1], in: 1...1 << 10)
        for (coarse, stride) in zip(strides, strides.dropFirst() + [1]) where coarse % stride != 0 {
            throw config["vq_strides"].error("\(strides) do not divide each other")
        }
        width = try config["decoder_dim"].int(in: 1...1 << 16, default: 1536)
        guard width % (1 << rates.count) == 0 else {
            throw config["decoder_dim"].error("\(width) cannot be halved \(rates.count) times")
        }
        let (encoder, stages) = (
            try config["encoder_dim"].int(in: 1...1 << 16, default: 64),
            try integers("encoder_rates", [3, 3, 7, 7], in: 1...64).count
        )
        latent = try config["latent_dim"].int(in: 1...1 << 20, default: encoder << stages)
        codebookSize = try config["codebook_size"].int(in: 1...1 << 24, default: 4096)
        codebookWidth = try config["codebook_dim"].int(in: 1...1 << 12, default: 8)
        let field = config["attn_window_size"]
        window = field.value == .null ? nil : try field.int(in: 1...1 << 16, default: 32)
        if window != nil, width % 64 != 0 {
            throw config["decoder_dim"].error("\(width) is not a multiple of the head width 64")
        }
        hasNoise = try config["noise"].bool(default: true)
        isDepthwise = try config["depthwise"].bool(default: true)
    }
}
