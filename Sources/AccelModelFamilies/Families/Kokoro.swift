import AccelByteIO
import AccelPrograms
import AccelTensors

/// Kokoro's vocoder (StyleTTS 2 with an iSTFTNet): from features, pitch and style to audio at 24 kHz.
///
/// Its parts are those of the original decoder:
/// - `decoder_pre`: `asr` F32[batch, width, asr_frames], `f0` and `n` F32[batch, 2 * asr_frames], `ref_s`
///   F32[batch, style] -> `x_pre` F32[batch, channels, 2 * asr_frames].
/// - `har_source` (on request: it is cheap, and its phases exceed the precision of most accelerators): `f0` F32[batch,
///   frames], and the random numbers of the original, `noise.0` F32[batch, 9] (uniform), `noise.1` F32[batch, 300 *
///   frames, 9] (normal) -> `har` F32[batch, 22, 60 * frames + 1]: magnitudes and phases.
/// - `generator`: `x_pre` F32[batch, channels, frames], `ref_s`, `har` -> `audio` F32[batch, 1, 300 * frames], and
///   `conv_post`, the spectrum of the audio.
/// - `generator_bucket` (on request): the same with `length` I64[batch], the number of valid frames. Frames of `x_pre`
///   and `har` after the valid ones are ignored, and the audio after sample 300 * length is 0, so that one shape serves
///   shorter texts.
///
/// The inverse transform is exact, as in `torch.istft`.
struct Kokoro: ModelFamily {
    static let modelTypes = ["kokoro", "style_text_to_speech_2"]
    static let architectures = ["KModel"]
    static let inertFields = [
        InertFields(
            "belongs to the text side, which runs before the vocoder",
            [
                "plbert", "vocab", "n_token", "n_layer", "n_mels", "max_dur", "dim_in", "max_conv_dim",
                "text_encoder_kernel_size",
            ]),
        InertFields("says how many speakers there are; their styles are inputs", ["multispeaker"]),
        InertFields("says what the audio is played at", ["sampling_rate", "sample_rate"]),
    ]
    let parts = ["decoder_pre", "har_source", "generator", "generator_bucket"]
    let defaultParts = ["decoder_pre", "generator"]

    private static func role(of part: String) -> FunctionRole {
        switch part {
        case "decoder_pre": .synthesise
        case "har_source": .excite
        default: .vocoder
        }
    }

    /// The published configuration has no `model_type`.
    static func recognizes(_ configuration: JSONField) -> Bool { configuration["istftnet"].exists }

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try KokoroConfiguration(checkpoint.configuration)
        names.prefixes = ["decoder.", "decoder.module."]
        names.explain("belongs to the text side, which runs before the vocoder") { name in
            ["bert.", "bert_encoder.", "predictor.", "text_encoder."].contains(where: name.hasPrefix)
        }
        // Some checkpoints hold the generator only.
        let stored = parts.filter { $0 != "decoder_pre" || names.find("encode.conv1.bias") != nil }
        let built = try (stored.isEmpty ? parts : stored).map { part in
            let frames = part == "decoder_pre" ? "asr_frames" : "frames"
            let dimensions = [
                Program.FreeDimension("batch", usual: [1]), .init(frames, usual: [frames == "frames" ? 240 : 120]),
            ]
            var graph = KokoroGraph(
                config: config,
                layers: LayerBuilder(
                    builder: ProgramBuilder(name: part, dimensions: dimensions, role: Self.role(of: part)),
                    names: names))
            switch part {
            case "decoder_pre": try graph.decoderPre()
            case "har_source": try graph.harmonicSource()
            default: try graph.generator(hasLength: part == "generator_bucket")
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
        let isBuilt = { (part: String) in built.contains { $0.name == part } }
        let source = "generator.m_source."
        let others =
            (isBuilt("decoder_pre") ? [] : ["encode.", "decode.", "F0_conv.", "N_conv.", "asr_res."])
            + (isBuilt("har_source") ? [] : [source])
            + (isBuilt("generator") || isBuilt("generator_bucket") ? [] : ["generator."])
        names.explain("belongs to a part that is not built", isExpected: true) { name in
            others.contains { name.hasPrefix($0) && ($0 == source || !name.hasPrefix(source)) }
        }
        names.explain("Fourier transforms follow from the configuration") { $0.hasPrefix("generator.stft.") }
        return built
    }
}

/// The checked configuration of Kokoro models. A missing field has the value of the published model.
struct KokoroConfiguration {
    let style: Int
    let width: Int
    let rates: [Int]
    let kernels: [Int]
    let channels: Int
    let blockKernels: [Int]
    let blockDilations: [[Int]]
    /// The points of the short-time Fourier transform; an even number.
    let points: Int
    let hop: Int
    /// The sample rate in Hz, which is fixed by the harmonic source.
    static let samplingRate = 24_000

    /// The number of bins of a one-sided spectrum.
    var bins: Int { points / 2 + 1 }
    /// The number of audio samples per frame.
    var samplesAFrame: Int { rates.reduce(hop, *) }
    /// The number of spectra per frame; a sequence has one more at its end.
    var spectraAFrame: Int { rates.reduce(1, *) }
    /// Returns the number of channels after `stage` stages.
    func channels(after stage: Int) -> Int { channels >> stage }

    init(_ config: JSONField) throws {
        let net = config["istftnet"]
        func integers(_ name: String, _ other: [Int]) throws -> [Int] {
            net[name].exists ? try net[name].array().map { try $0.int(in: 1...1 << 10) } : other
        }
        style = try config["style_dim"].int(in: 1...1 << 16, default: 128)
        width = try config["hidden_dim"].int(in: 1...1 << 16, default: 512)
        rates = try integers("upsample_rates", [10, 6])
        kernels = try integers("upsample_kernel_sizes", [20, 12])
        guard (1...8).contains(rates.count), rates.count == kernels.count,
            zip(rates, kernels).allSatisfy({ $1 >= $0 && ($1 - $0) % 2 == 0 })
        else { throw net["upsample_kernel_sizes"].error("\(kernels) do not fit upsample_rates \(rates)") }
        channels = try net["upsample_initial_channel"].int(in: 1...1 << 16, default: 512)
        guard channels % (1 << rates.count) == 0 else {
            throw net["upsample_initial_channel"].error("\(channels) cannot be halved \(rates.count) times")
        }
        blockKernels = try integers("resblock_kernel_sizes", [3, 7, 11])
        let dilations = net["resblock_dilation_sizes"]
        blockDilations =
            dilations.exists
            ? try dilations.array().map { try $0.array().map { try $0.int(in: 1...1 << 10) } }
            : [[Int]](repeating: [1, 3, 5], count: 3)
        guard !blockKernels.isEmpty, blockKernels.count == blockDilations.count,
            blockDilations.allSatisfy({ $0.count == 3 }), blockKernels.allSatisfy({ $0 % 2 == 1 })
        else {
            throw net["resblock_kernel_sizes"].error(
                "expected odd kernels with three dilations each, found \(blockKernels) and \(blockDilations)")
        }
        points = try net["gen_istft_n_fft"].int(in: 4...1 << 12, default: 20)
        hop = try net["gen_istft_hop_size"].int(in: 1...1 << 12, default: 5)
        guard points % 2 == 0, hop * 2 <= points else {
            throw net["gen_istft_n_fft"].error("\(points) points do not overlap at steps of \(hop)")
        }
    }
}
