import AccelByteIO
import AccelPrograms
import AccelTensors

/// wav2vec 2.0 and HuBERT: encoders of raw audio at 16 kHz, their CTC head, and classifiers of audio.
///
/// Input: `input_values` F32[batch, samples], normalised as by the model's feature extractor, and of exactly the length
/// of the audio: the base models take means over the whole input, padding included. Output: `last_hidden_state`
/// F32[batch, frames, width], with the CTC head `logits` F32[batch, frames, vocabulary], and for a classifier `logits` F32[batch, labels].
struct Wav2Vec2: ModelFamily {
    static let version = 2
    static let modelTypes = ["wav2vec2", "hubert"]
    static let architectures = Wav2Vec2Configuration.Architecture.allCases.map(\.rawValue)
    static let inertFields: [InertFields] =
        .headless + .masking
        + [
            InertFields(
                "hides parts of the audio, in training only",
                ["mask_channel_*", "no_mask_channel_overlap", "no_mask_time_overlap"]),
            InertFields(
                "belongs to pre-training and losses",
                [
                    "num_codevectors_per_group", "num_codevector_groups", "contrastive_logits_temperature",
                    "num_negatives", "codevector_dim", "proj_codevector_dim", "diversity_loss_weight",
                    "ctc_loss_reduction", "ctc_zero_infinity", "freeze_feat_extract_train",
                ]),
            InertFields(
                "belongs to models of speakers",
                ["tdnn_dim", "tdnn_kernel", "tdnn_dilation", "xvector_output_dim"]),
            InertFields(
                "describes an adapter, which add_adapter asks for",
                ["adapter_kernel_size", "adapter_stride", "num_adapter_layers", "output_hidden_size"]),
        ]

    func programs(for checkpoint: Checkpoint, parts: [String], names: inout TensorNames) throws -> [Program] {
        let config = try Wav2Vec2Configuration(checkpoint.configuration)
        names.prefixes = ["wav2vec2.", "hubert."]
        names.explain("hides parts of the audio in training") { $0 == "masked_spec_embed" }
        names.explain("belongs to pre-training") {
            ["quantizer.", "project_q.", "project_hid.", "final_proj.", "label_embs_concat"].contains(
                where: $0.hasPrefix)
        }
        // Heads that classify audio, frames or speakers. Speaker models have a linear layer with the name of the
        // encoder's first part.
        let head = config.architecture.head
        let heads =
            ["tdnn.", "objective."] + (head == .characters ? [] : ["lm_head."])
            + (head == .labels ? [] : ["projector.", "classifier."])
            + (head == .labels && config.sumsLayers ? [] : ["layer_weights"])
        names.explain("belongs to a head that \(config.architecture.rawValue) does not have") { name in
            heads.contains(where: name.hasPrefix)
                || name == "feature_extractor.weight" || name == "feature_extractor.bias"
        }
        if head == .labels, config.sumsLayers, config.isStable {
            names.explain("the sum of all layers does not read it") { $0.hasPrefix("encoder.layer_norm.") }
            names.remark(
                "the sum of all layers takes the last one before the final norm, as transformers 5; version 4 took it "
                    + "after that norm")
        }
        let dimensions = [
            Program.FreeDimension("batch", usual: [1]), .init("samples", usual: [16000, 160_000]),
        ]
        return try parts.map { part in
            var graph = Wav2Vec2Graph(
                config: config,
                layers: LayerBuilder(
                    builder: ProgramBuilder(
                        name: part, dimensions: dimensions, role: head.role), names: names))
            switch head {
            case .none:
                graph.layers.builder.output(
                    "last_hidden_state", try graph.encoder(try graph.features()), .hiddenStates)
            case .characters:
                let hidden = try graph.encoder(try graph.features())
                let logits = try graph.layers.linear("lm_head", hidden, from: config.width, to: config.vocabulary)
                graph.layers.builder.output("logits", logits, .logits(over: .vocabulary))
            case .labels: graph.layers.builder.output("logits", try graph.labels(), .logits(over: .labels))
            }
            names = graph.layers.names
            return try graph.layers.builder.finish()
        }
    }
}

/// The checked configuration of wav2vec 2.0 models. A missing field has the default of transformers.
struct Wav2Vec2Configuration {
    enum Architecture: String, CaseIterable {
        case model = "Wav2Vec2Model"
        case ctc = "Wav2Vec2ForCTC"
        case hubert = "HubertModel"
        case hubertCTC = "HubertForCTC"
        case classifier = "Wav2Vec2ForSequenceClassification"
        case hubertClassifier = "HubertForSequenceClassification"

        var head: Head {
            switch self {
            case .model, .hubert: .none
            case .ctc, .hubertCTC: .characters
            case .classifier, .hubertClassifier: .labels
            }
        }
    }
    /// The scores that the model gives.
    enum Head {
        case none, characters, labels

        var role: FunctionRole {
            switch self {
            case .none: .encode
            case .characters: .transcribe
            case .labels: .classify
            }
        }
    }
    struct FeatureLayer {
        let width: Int
        let kernel: Int
        let stride: Int
    }
    let architecture: Architecture
    let featureLayers: [FeatureLayer]
    let featuresHaveBias: Bool
    /// All feature layers have layer norms; if false, only the first has a norm, over time.
    let normsAllFeatures: Bool
    let normsProjection: Bool
    let featureActivation: any Operator
    let width: Int
    let layers: Int
    let heads: Int
    let intermediate: Int
    let activation: any Operator
    let epsilon: Double
    let positionKernel: Int
    let positionGroups: Int
    /// Norms come before the layers; if false, after them.
    let isStable: Bool
    let vocabulary: Int
    /// A classifier reads the weighted sum of all layers; if false, the last one.
    let sumsLayers: Bool
    /// The width of the layer before that of a classifier's labels.
    let projection: Int
    let labels: Int

    init(_ config: JSONField) throws {
        let isHubert = try config["model_type"].string() == "hubert"
        architecture = try config.architecture(default: isHubert ? .hubert : Architecture.model)
        func integers(_ name: String, _ other: [Int]) throws -> [Int] {
            config[name].exists ? try config[name].array().map { try $0.int(in: 1...1 << 16) } : other
        }
        let widths = try integers("conv_dim", [Int](repeating: 512, count: 7))
        let kernels = try integers("conv_kernel", [10, 3, 3, 3, 3, 2, 2])
        let strides = try integers("conv_stride", [5, 2, 2, 2, 2, 2, 2])
        guard !widths.isEmpty, widths.count == kernels.count, widths.count == strides.count else {
            throw config["conv_kernel"].error(
                "\(widths.count) widths, \(kernels.count) kernels, \(strides.count) strides")
        }
        featureLayers = widths.indices.map {
            FeatureLayer(width: widths[$0], kernel: kernels[$0], stride: strides[$0])
        }
        guard try config["num_feat_extract_layers"].int(in: 1...1000, default: widths.count) == widths.count else {
            throw config["num_feat_extract_layers"].error("expected \(widths.count), as many as conv_dim has numbers")
        }
        featuresHaveBias = try config["conv_bias"].bool(default: false)
        let norm = config["feat_extract_norm"].exists ? try config["feat_extract_norm"].string() : "group"
        guard ["group", "layer"].contains(norm) else {
            throw config["feat_extract_norm"].error("expected \"group\" or \"layer\", found \"\(norm)\"")
        }
        normsAllFeatures = norm == "layer"
        normsProjection = isHubert ? try config["feat_proj_layer_norm"].bool(default: true) : true
        featureActivation = try HiddenActivation.read(config["feat_extract_activation"], default: "gelu")
        width = try config["hidden_size"].int(in: 1...1 << 16, default: 768)
        layers = try config["num_hidden_layers"].int(in: 1...1000, default: 12)
        heads = try config["num_attention_heads"].int(in: 1...1 << 16, default: 12)
        guard width % heads == 0 else {
            throw config["num_attention_heads"].error("\(heads) heads do not divide hidden_size \(width)")
        }
        intermediate = try config["intermediate_size"].int(in: 1...1 << 20, default: 3072)
        activation = try HiddenActivation.read(config["hidden_act"], default: "gelu")
        epsilon = config["layer_norm_eps"].exists ? try config["layer_norm_eps"].double() : 1e-5
        guard epsilon >= 0, epsilon < 1 else {
            throw config["layer_norm_eps"].error("\(epsilon) is outside of 0..<1")
        }
        positionKernel = try config["num_conv_pos_embeddings"].int(in: 1...1 << 12, default: 128)
        positionGroups = try config["num_conv_pos_embedding_groups"].int(in: 1...1 << 12, default: 16)
        guard width % positionGroups == 0 else {
            throw config["num_conv_pos_embedding_groups"].error("\(positionGroups) groups do not divide \(width)")
        }
        isStable = try config["do_stable_layer_norm"].bool(default: false)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 32)
        sumsLayers = try config["use_weighted_layer_sum"].bool(default: false)
        projection = try config["classifier_proj_size"].int(in: 1...1 << 16, default: 256)
        labels = try config.labelCount()
        try config.reject([
            ("add_adapter", try config["add_adapter"].bool(default: false), "an adapter behind the encoder"),
            ("adapter_attn_dim", config["adapter_attn_dim"].exists, "attention adapters"),
            (
                "conv_pos_batch_norm", try config["conv_pos_batch_norm"].bool(default: false),
                "a batch norm of positions"
            ),
        ])
    }
}
