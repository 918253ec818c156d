import AccelByteIO
import AccelPrograms
import AccelTensors

/// Parakeet with a CTC head (NVIDIA's FastConformer, as transformers stores it), and the encoder alone.
///
/// Inputs: `input_features` F32[batch, frames, mels], log-mel features that are normalised over the valid frames, and
/// `attention_mask` I64[batch, frames], 1 for the frames of the sound, which come first, and 0 for those after them.
/// Output: `logits` F32[batch, states, vocabulary], or for the encoder alone `last_hidden_state` F32[batch, states, width].
/// There is a state for each `subsampling_factor` frames, rounded up. The states of valid frames do not depend on the others.
struct Parakeet: ModelFamily {
    static let modelTypes = ["parakeet_ctc", "parakeet_encoder"]
    static let architectures = ["ParakeetForCTC", "ParakeetEncoder"]
    static let inertFields: [InertFields] =
        ParakeetConfiguration.inertFields + [
            InertFields("belongs to losses", ["ctc_loss_reduction", "ctc_zero_infinity"])
        ]
    static let nestedConfigurations = ["encoder_config"]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let root = checkpoint.configuration
        let isEncoder = try root["model_type"].exists && root["model_type"].string() == "parakeet_encoder"
        let architecture = try root.architecture(
            among: Self.architectures, default: isEncoder ? "ParakeetEncoder" : "ParakeetForCTC")
        let hasHead = architecture == "ParakeetForCTC"
        let config = try ParakeetConfiguration(isEncoder ? root : root["encoder_config"].objectIfAny())
        // The number of tokens is read for all classes.
        let vocabulary = try isEncoder ? 1 : root["vocab_size"].int(in: 1...1 << 24, default: 1025)
        names.prefixes = ["encoder."]
        if !hasHead { names.explain("the encoder alone has no head") { $0.hasPrefix("ctc_head.") } }
        return try parts.map { part in
            var graph = ParakeetGraph(config: config, part: part, role: hasHead ? .transcribe : .encode, names: names)
            let hidden = try graph.hiddenStates()
            if hasHead {
                let logits = try graph.pointwise("ctc_head", hidden, from: config.width, to: vocabulary)
                graph.layers.builder.output("logits", logits, .logits(over: .vocabulary))
            } else {
                graph.layers.builder.output("last_hidden_state", hidden, .hiddenStates)
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
    }
}

/// The checked configuration of Parakeet's encoder. A missing field has the default of transformers.
struct ParakeetConfiguration {
    let width: Int
    let layers: Int
    let heads: Int
    let intermediate: Int
    let activation: any Operator
    /// The projections of attention and the feed-forward networks have biases.
    let hasBias: Bool
    let hasConvolutionBias: Bool
    /// The kernel of the convolutions between attention and feed-forward network; odd.
    let kernel: Int
    /// The convolutions of the sub-sampling; each halves the number of frames.
    let stages: Int
    /// The kernel of the sub-sampling; odd.
    let samplingKernel: Int
    let channels: Int
    let mels: Int
    /// The mel bands after the sub-sampling.
    let bands: Int
    /// The most states of a sound.
    let positions: Int
    let scalesInput: Bool

    /// Fields of all classes of Parakeet.
    static let inertFields: [InertFields] = [
        InertFields("drops elements, in training only", ["dropout_positions", "encoder_config.dropout_positions"])
    ]

    /// - Parameter config: the configuration of the encoder.
    init(_ config: JSONField) throws {
        width = try config["hidden_size"].int(in: 1...1 << 16, default: 1024)
        guard width % 2 == 0 else { throw config["hidden_size"].error("expected an even width, found \(width)") }
        layers = try config["num_hidden_layers"].int(in: 1...1000, default: 24)
        heads = try config["num_attention_heads"].int(in: 1...1 << 16, default: 8)
        guard width % heads == 0 else {
            throw config["num_attention_heads"].error("\(heads) heads do not divide hidden_size \(width)")
        }
        try config.requireEqual("num_key_value_heads", to: "num_attention_heads")
        intermediate = try config["intermediate_size"].int(in: 1...1 << 20, default: 4096)
        activation = try HiddenActivation.read(config["hidden_act"], default: "silu")
        hasBias = try config["attention_bias"].bool(default: true)
        hasConvolutionBias = try config["convolution_bias"].bool(default: true)
        func odd(_ name: String, default other: Int) throws -> Int {
            let kernel = try config[name].int(in: 1...1 << 10, default: other)
            guard kernel % 2 == 1 else { throw config[name].error("expected an odd kernel, found \(kernel)") }
            return kernel
        }
        kernel = try odd("conv_kernel_size", default: 9)
        samplingKernel = try odd("subsampling_conv_kernel_size", default: 3)
        let factor = try config["subsampling_factor"].int(in: 2...1 << 8, default: 8)
        guard factor & (factor - 1) == 0 else {
            throw config["subsampling_factor"].error("expected a power of two, found \(factor)")
        }
        stages = factor.trailingZeroBitCount
        let stride = try config["subsampling_conv_stride"].int(in: 1...1 << 8, default: 2)
        let path = config["subsampling_conv_stride"].path
        try config.reject([(path, stride != 2, "a sub-sampling by steps of \(stride) frames")])
        channels = try config["subsampling_conv_channels"].int(in: 1...1 << 16, default: 256)
        mels = try config["num_mel_bins"].int(in: 1...1 << 12, default: 80)
        bands = mels >> stages
        guard bands > 0, (mels - 1) >> stages + 1 == bands else {
            throw config["num_mel_bins"].error("\(factor), the subsampling_factor, does not divide \(mels)")
        }
        positions = try config["max_position_embeddings"].int(in: 1...1 << 20, default: 5000)
        scalesInput = try config["scale_input"].bool(default: true)
    }
}
