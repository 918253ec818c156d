import AccelByteIO
import AccelModelFamilies
import AccelTensors

/// FP8 of DeepSeek, Qwen and transformers: blocks of weights, or one scale.
enum FP8Method: QuantizationMethod {
    static let names = ["fp8", "mxfp8"]
    static let marks = ["weight_block_size"]
    static let schemes: [any QuantizedScheme.Type] = [BlockFloat8Scheme.self, Float8Scheme.self]
    static let inertFields = [
        InertFields("is the type of the scales, which they show", ["scale_fmt"])
    ]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        let experts = configuration["expert_dtype"]
        if experts.exists, try experts.string() != "fp8" {
            throw RequestError(
                "\(experts.error("experts of another type are not supported"))", status: .unavailable)
        }
        let type = configuration["fmt"]
        if type.exists, try !["e4m3", "e5m2", "float8_e4m3fn"].contains(type.string()) {
            throw type.error("expected e4m3 or e5m2")
        }
        return []
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        let (block, type) = (configuration["weight_block_size"], configuration["fmt"])
        if type.exists, case let name = try type.string(), name.hasPrefix("e"),
            let codes = layer[".weight"],
            name == "e5m2" ? codes.elementType != .float8e5m2 : codes.elementType != .float8e4m3
        {
            throw codes.error("\(type.place) states \(name), and the type is \(codes.elementType.rawValue)")
        }
        var statement = LayerStatement(field: block)
        statement.isFloat = true
        statement.bits = 8
        if block.exists {
            statement.sharing = try block.blockSharing()
        } else if block.value == .null, layer.scheme.title == BlockFloat8Scheme.title {
            statement.sharing = .tensor
        }
        return [statement]
    }

    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool { true }
}

/// FP8 of fbgemm: a scale for each row.
enum FBGEMMMethod: QuantizationMethod {
    static let names = ["fbgemm_fp8"]
    static let schemes: [any QuantizedScheme.Type] = [Float8Scheme.self]
    static let inertFields: [InertFields] = []

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        var statement = LayerStatement(field: configuration["quant_method"])
        (statement.bits, statement.isFloat, statement.sharing) = (8, true, .channel)
        return [statement]
    }

    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool { true }
}

/// MXFP4 of gpt-oss.
enum MXFP4Method: QuantizationMethod {
    static let names = ["mxfp4"]
    static let schemes: [any QuantizedScheme.Type] = [GPTOSSScheme.self]
    static let inertFields: [InertFields] = []
}

/// NVIDIA's ModelOpt.
enum ModelOptMethod: QuantizationMethod {
    static let names = ["modelopt", "modelopt_fp4"]
    static let marks = ["quant_algo"]
    static let schemes: [any QuantizedScheme.Type] = [ModelOptNVFP4Scheme.self, Float8Scheme.self]
    static let inertFields: [InertFields] = []
    /// The algorithms, each with the bits of codes, and how weights share scales.
    private static let algorithms: [String: (bits: Int, sharing: ScaleSharing)] = [
        "FP8": (8, .tensor), "FP8_PB_WO": (8, .block(128, 128)), "FP8_PC_PT": (8, .channel),
        "FP8_PER_CHANNEL_PER_TOKEN": (8, .channel), "NVFP4": (4, .group(16)), "W4A16_NVFP4": (4, .group(16)),
        "NVFP4_AWQ": (4, .group(16)),
    ]
    private static let mixed = "MIXED_PRECISION"

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        let algorithm = configuration["quant_algo"]
        if algorithm.exists, try algorithm.string() != mixed { _ = try entry(algorithm) }
        _ = configuration["group_size"]
        // Flags of AWQ, whose tensors show what they say.
        for key in ["has_zero_point", "pre_quant_scale"] where configuration[key].exists {
            guard try configuration[key].bool() == false else {
                throw RequestError(
                    "\(configuration[key].error("zero points and scaled inputs are not supported"))",
                    status: .unavailable)
            }
        }
        var inert = try CompressedTensorsMethod.inertFields(of: configuration["config_groups"])
        inert += [InertFields("stands for the fields of the group", ["config_groups"])].under(
            configuration.field.path)
        let layers = configuration["quantized_layers"]
        if layers.exists {
            for (_, layer) in try layers.members() {
                _ = (layer["quant_algo"], layer["group_size"])
                inert.append(InertFields("belongs to the search for scales", ["\(layer.path).awq_block_size"]))
            }
        }
        return inert
    }

    private static func entry(_ field: JSONField) throws -> (bits: Int, sharing: ScaleSharing) {
        let name = try field.string()
        guard let entry = algorithms[name] else {
            throw RequestError(
                "\(field.error("ModelOpt's \(quoted(name)) is not supported")); convert the original model",
                status: .unavailable)
        }
        return entry
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        var (algorithm, size) = (configuration["quant_algo"], configuration["group_size"])
        guard algorithm.exists else { return [] }
        if try algorithm.string() == mixed {
            let own = configuration["quantized_layers"][layer.name]
            guard own.exists else { throw algorithm.error("quantized_layers does not list \(quoted(layer.name))") }
            (algorithm, size) = (own["quant_algo"], own["group_size"])
        }
        let entry = try entry(algorithm)
        if case .group(let usual) = entry.sharing, size.exists, try size.int() != usual {
            throw size.error("expected \(usual), which \(try algorithm.string()) has")
        }
        var statement = LayerStatement(field: algorithm)
        (statement.bits, statement.isFloat, statement.sharing) = (entry.bits, true, entry.sharing)
        return [statement]
    }

    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool { true }
}
