import AccelByteIO
import AccelModelFamilies
import AccelTensors

extension [InertFields] {
    /// Fields of GPTQ's tools that change no weight.
    fileprivate static let ofGPTQ = [
        InertFields(
            "belongs to the search for codes",
            [
                "damp_percent", "damp_auto_increment", "static_groups", "true_sequential", "act_group_aware", "mse",
                "dataset", "tokenizer", "batch_size", "nsamples", "seqlen", "model_seqlen", "max_input_length",
                "cache_block_outputs", "pad_token_id", "block_name_to_quantize", "module_name_preceding_first_block",
                "modules_in_block_to_quantize", "offload_to_disk", "offload_to_disk_path", "rotation_seed",
                "parallel_packing", "vram_strategy", "gc_mode", "wait_for_submodule_finalizers",
                "auto_forward_data_parallel", "hessian", "failsafe", "fallback", "gptaq", "foem", "device",
                "mock_quantization",
                "dense_vram_strategy", "moe_vram_strategy", "dense_vram_strategy_devices", "moe_vram_strategy_devices",
                "compute_device_filter",
            ]),
        InertFields(
            "selects kernels",
            [
                "use_exllama", "disable_exllama", "exllama_config", "use_cuda_fp16", "do_fuse", "fuse_max_seq_len",
                "modules_to_fuse",
            ]),
        InertFields(
            "names files and the model", ["model_name_or_path", "model_file_base_name"]),
    ]
}

/// GPTQ. Its scheme reads the fields that words and groups leave open.
enum GPTQMethod: QuantizationMethod {
    static let names = ["gptq"]
    static let marks = ["meta", "desc_act", "checkpoint_format"]
    static let schemes: [any QuantizedScheme.Type] = [GPTQScheme.self]
    static let inertFields =
        [InertFields].ofGPTQ + [InertFields("names the tool and its options for the search", ["meta"])]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        for key in ["bits", "group_size", "desc_act", "sym", "checkpoint_format", "format"] { _ = configuration[key] }
        if configuration["is_marlin_format"].exists, try configuration["is_marlin_format"].bool() {
            throw GPTQScheme.unsupported(configuration["is_marlin_format"], "marlin")
        }
        let method = configuration["method"]
        if method.exists, try method.string() != "gptq" { throw unsupportedMethod(method) }
        let words = configuration["pack_dtype"]
        if words.exists, try words.string() != "int32" {
            throw RequestError("\(words.error("only words of int32 are supported"))", status: .unavailable)
        }
        return []
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        guard configuration.exists else { return [] }
        let base = try statement(configuration.field) { configuration[$0] }
        let rules = configuration["dynamic"]
        guard rules.exists, case .object? = rules.value else { return [base] }
        // A rule `-:` names plain layers, and the others change some fields of the base.
        let others = try rules.members().filter { !$0.key.hasPrefix("-:") }.map { _, rule in
            try statement(rule) { rule[$0].exists ? rule[$0] : configuration[$0] }
        }
        return [base] + others
    }

    private static func unsupportedMethod(_ field: JSONField) -> RequestError {
        RequestError("\(field.error("another method than gptq is not supported"))", status: .unavailable)
    }

    private static func statement(
        _ field: JSONField, _ value: (String) -> JSONField
    ) throws -> LayerStatement {
        var statement = LayerStatement(field: field)
        let (bits, symmetric, size) = (value("bits"), value("sym"), value("group_size"))
        if bits.exists { statement.bits = try bits.int(in: 1...16) }
        // An asymmetric search may find symmetric grids.
        if symmetric.exists, try symmetric.bool() { statement.isSymmetric = true }
        if size.exists {
            let columns = try size.int(in: -1...1 << 31)
            guard columns != 0 else { throw size.error("groups have columns") }
            statement.sharing = columns > 0 ? .group(columns) : .group(1 << 31)
        }
        _ = value("desc_act")
        return statement
    }
}

/// AWQ.
enum AWQMethod: QuantizationMethod {
    static let names = ["awq"]
    static let marks = ["w_bit"]
    static let schemes: [any QuantizedScheme.Type] = [AWQScheme.self]
    static let inertFields =
        [InertFields].ofGPTQ + [
            InertFields("belongs to GPTQ, whose fields transformers writes for AWQ, too", ["desc_act", "sym", "meta"])
        ]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        for key in ["bits", "w_bit", "group_size", "q_group_size", "zero_point", "version", "format"] {
            _ = configuration[key]
        }
        return []
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        guard configuration.exists else { return [] }
        var statement = LayerStatement(field: configuration.field)
        for key in ["bits", "w_bit"] where configuration[key].exists {
            statement.bits = try configuration[key].int(in: 1...16)
        }
        for key in ["group_size", "q_group_size"] where configuration[key].exists {
            let columns = try configuration[key].int(in: -1...1 << 31)
            guard columns != 0 else { throw configuration[key].error("groups have columns") }
            statement.sharing = .group(columns > 0 ? columns : 1 << 31)
        }
        if configuration["zero_point"].exists { statement.isSymmetric = try !configuration["zero_point"].bool() }
        return [statement]
    }
}

/// auto-round, with the tensors of GPTQ or AWQ.
enum AutoRoundMethod: QuantizationMethod {
    static let names = ["auto-round"]
    static let schemes: [any QuantizedScheme.Type] = [GPTQScheme.self, AWQScheme.self]
    static let inertFields =
        [InertFields].ofGPTQ + [
            InertFields(
                "belongs to the search for codes",
                [
                    "iters", "lr", "minmax_lr", "enable_minmax_tuning", "enable_quanted_input",
                    "gradient_accumulate_steps",
                    "low_gpu_mem_usage", "low_cpu_mem_usage", "amp", "to_quant_block_names", "quant_block_list",
                    "enable_norm_bias_tuning", "scale_dtype", "enable_alg_ext", "enable_torch_compile", "seed",
                    "provider",
                    "batch_dim", "not_use_best_mse", "dynamic_max_gap",
                ]),
            InertFields("activations are not quantized here", ["act_*"]),
        ]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        let format = configuration["packing_format"]
        if format.exists, case let name = try format.string(),
            !["auto_round:auto_gptq", "auto_round:auto_awq", "auto_round:gptq", "auto_round:awq"].contains(name)
        {
            throw RequestError(
                "\(format.error("the layout \(quoted(name)) is not supported")); convert the original model",
                status: .unavailable)
        }
        let type = configuration["data_type"]
        if type.exists, try !type.string().hasPrefix("int") {
            throw RequestError("\(type.error("only integers are supported"))", status: .unavailable)
        }
        return []
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] { try GPTQMethod.statements(about: layer, configuration) }
}
