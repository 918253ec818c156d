import AccelByteIO
import AccelPrograms
import AccelTensors

/// Kokoro (StyleTTS 2 with an iSTFTNet): from phonemes and a style to audio at 24 kHz.
///
/// Its parts before the decoder, on request:
/// - `text_encoder`: `input_ids` I64[batch, sequence] (phonemes, with 0 at both ends), `style` F32[batch, style], the second
///   half of a voice's row, `length` I64[batch], the number of valid phonemes -> `durations` F32[batch, sequence,
///   max_dur], whose sum over the last axis is a phoneme's duration in frames of 600 samples, and features of the phonemes,
///   `d` F32[batch, sequence, width + style] and `t_en` F32[batch, width, sequence].
/// - `prosody`: `en` F32[batch, width + style, asr_frames] (the rows of `d`, each as often as its phoneme lasts), `style`,
///   `length` I64[batch], the number of valid frames -> pitch `f0` and loudness `n`, F32[batch, 2 * asr_frames].
///
/// Rounding durations and repeating rows is up to the caller: the number of frames depends on them.
///
/// The parts of the original decoder:
/// - `decoder_pre`: `asr` F32[batch, width, asr_frames], `f0` and `n` F32[batch, 2 * asr_frames], `ref_s`
///   F32[batch, style], the first half of a voice's row -> `x_pre` F32[batch, channels, 2 * asr_frames]. `asr` is `t_en`
///   with its columns repeated.
/// - `decoder_pre_bucket` (on request): the same with `length` I64[batch], the number of valid frames of `asr`.
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
            "belongs to training, or to the caller, who looks up the numbers of phonemes",
            ["vocab", "n_mels", "dim_in", "max_conv_dim"]),
        InertFields("says how many speakers there are; their styles are inputs", ["multispeaker"]),
        InertFields("says what the audio is played at", ["sampling_rate", "sample_rate"]),
    ]
    static let nestedConfigurations = ["plbert"]
    let parts = [
        "text_encoder", "prosody", "decoder_pre", "decoder_pre_bucket", "har_source", "generator", "generator_bucket",
    ]
    /// Not the text side: its recurrent layers are for accelc's own runtime only.
    let defaultParts = ["decoder_pre", "generator"]

    private static func role(of part: String) -> FunctionRole {
        switch part {
        case "text_encoder": .encode
        case "prosody", "decoder_pre", "decoder_pre_bucket": .synthesise
        case "har_source": .excite
        default: .vocoder
        }
    }

    /// The published configuration has no `model_type`.
    static func recognizes(_ configuration: JSONField) -> Bool { configuration["istftnet"].exists }

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try KokoroConfiguration(checkpoint.configuration)
        names.prefixes = ["decoder.", "decoder.module."]
        // Some checkpoints hold the generator only, or the decoder.
        let stored = parts.filter { Self.isStored($0, names) }
        let built = try (stored.isEmpty ? parts : stored).map { part in
            var graph = KokoroGraph(
                config: config,
                layers: LayerBuilder(
                    builder: ProgramBuilder(
                        name: part, dimensions: Self.dimensions(of: part, config), role: Self.role(of: part)),
                    names: names))
            switch part {
            case "text_encoder": try graph.textEncoder()
            case "prosody": try graph.prosody()
            case "decoder_pre", "decoder_pre_bucket": try graph.decoderPre(hasLength: part == "decoder_pre_bucket")
            case "har_source": try graph.harmonicSource()
            default: try graph.generator(hasLength: part == "generator_bucket")
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
        Self.explainUnused(in: &names, besides: Set(built.map(\.name)))
        return built
    }

    private static func isStored(_ part: String, _ names: TensorNames) -> Bool {
        func has(_ module: String, _ parameter: String) -> Bool {
            names.find("\(KokoroGraph.module(module, with: parameter, in: names)).\(parameter)") != nil
        }
        return switch part {
        case "text_encoder": has("bert_encoder", "bias") && has("text_encoder", "embedding.weight")
        case "prosody": has("predictor", "shared.weight_ih_l0")
        case "decoder_pre", "decoder_pre_bucket": names.find("encode.conv1.bias") != nil
        default: true
        }
    }

    private static func dimensions(of part: String, _ config: KokoroConfiguration) -> [Program.FreeDimension] {
        let length: Program.FreeDimension =
            switch part {
            case "text_encoder":
                .init("sequence", usual: [min(128, config.text.positions)], maximum: config.text.positions)
            case "prosody", "decoder_pre", "decoder_pre_bucket": .init("asr_frames", usual: [120, 480])
            default: .init("frames", usual: [240, 960])
            }
        return [.init("batch", usual: [1]), length]
    }

    /// Explains the tensors of parts that are not built, and those that no part needs.
    private static func explainUnused(in names: inout TensorNames, besides built: Set<String>) {
        let (text, prosody) = (built.contains("text_encoder"), built.contains("prosody"))
        let textSide = ["bert.", "bert_encoder.", "predictor.", "text_encoder."]
        if !text, !prosody {
            names.explain("belongs to the text side, which runs before the vocoder") { name in
                textSide.contains(where: name.hasPrefix)
            }
        }
        let source = "generator.m_source."
        let others =
            (built.isDisjoint(with: ["decoder_pre", "decoder_pre_bucket"])
                ? ["encode.", "decode.", "F0_conv.", "N_conv.", "asr_res."] : [])
            + (built.contains("har_source") ? [] : [source])
            + (built.isDisjoint(with: ["generator", "generator_bucket"]) ? ["generator."] : [])
            + (text || !prosody ? [] : textSide) + (prosody || !text ? [] : ["predictor."])
        names.explain("belongs to a part that is not built", isExpected: true) { name in
            others.contains { name.hasPrefix($0) && ($0 == source || !name.hasPrefix(source)) }
        }
        if text {
            names.explain("the text side reads no pooled output") {
                $0.hasPrefix("bert.pooler.") || $0.hasPrefix("bert.module.pooler.")
            }
        }
        names.explain("Fourier transforms follow from the configuration") { $0.hasPrefix("generator.stft.") }
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
    let text: KokoroTextConfiguration
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
        guard width % 2 == 0 else { throw config["hidden_dim"].error("expected an even width, found \(width)") }
        text = try KokoroTextConfiguration(config)
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
