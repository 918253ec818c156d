import AccelByteIO
import AccelModelFamilies
import AccelTensors

/// bitsandbytes. The states beside its tensors say the rest.
enum BitsAndBytesMethod: QuantizationMethod {
    static let names = ["bitsandbytes"]
    static let marks = ["load_in_4bit", "load_in_8bit"]
    static let schemes: [any QuantizedScheme.Type] = [
        BitsAndBytesNF4Scheme.self, BitsAndBytesFP4Scheme.self, BitsAndBytesInt8Scheme.self,
    ]
    static let inertFields = [
        InertFields("is the type that the framework computes in", ["bnb_4bit_compute_dtype"]),
        InertFields("is the type of the codes' tensor, which it shows", ["bnb_4bit_quant_storage"]),
        InertFields(
            "selects how the framework multiplies large activations, or where",
            ["llm_int8_threshold", "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight"]),
        InertFields("repeats the field without the line", ["_load_in_4bit", "_load_in_8bit"]),
    ]
    private static let flags = ["load_in_4bit", "load_in_8bit", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant"]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        for key in flags { _ = configuration[key] }
        return []
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        let isInteger = layer.scheme.title == BitsAndBytesInt8Scheme.title
        func reject(_ key: String, _ isWrong: (JSONField) throws -> Bool) throws {
            let field = configuration[key]
            guard field.exists, try isWrong(field) else { return }
            throw try layer.mark.error("\(field.place) states another scheme than \(layer.scheme.title)")
        }
        try reject("load_in_4bit") { try $0.bool() == isInteger }
        try reject("load_in_8bit") { try $0.bool() != isInteger }
        guard !isInteger else { return [] }
        let isNF4 = layer.scheme.title == BitsAndBytesNF4Scheme.title
        try reject("bnb_4bit_quant_type") { try $0.string() != (isNF4 ? "nf4" : "fp4") }
        try reject("bnb_4bit_use_double_quant") { try $0.bool() != (layer[".weight.nested_absmax"] != nil) }
        return []
    }
}

/// HQQ. The numbers beside its tensors say the rest.
enum HQQMethod: QuantizationMethod {
    static let names = ["hqq"]
    static let marks = ["quant_config"]
    static let schemes: [any QuantizedScheme.Type] = [HQQScheme.self]
    static let inertFields: [InertFields] = []
    private static let inertParameters = [
        InertFields("belongs to the search for codes", ["optimize", "round_zero"]),
        InertFields("is shown by the tensors", ["channel_wise", "view_as_float"]),
    ]
    private static let inertMembers = [
        InertFields("is where the framework holds scales", ["offload_meta"])
    ]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        try entries(configuration).flatMap { entry in
            for key in ["nbits", "group_size", "axis"] { _ = entry["weight_quant_params"][key] }
            return inertMembers.under(entry.path) + inertParameters.under("\(entry.path).weight_quant_params")
        }
    }

    /// Returns the parameters of all layers, or of the kinds of layers that have their own.
    private static func entries(_ configuration: QuantizationConfiguration) throws -> [JSONField] {
        let field = configuration["quant_config"]
        guard field.exists else { return [] }
        if field["weight_quant_params"].exists { return [field] }
        return try field.members().map(\.field).filter(\.exists)
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        try entries(configuration).map { entry in
            let parameters = entry["weight_quant_params"]
            var statement = LayerStatement(field: parameters)
            if parameters["nbits"].exists { statement.bits = Int(try parameters["nbits"].double()) }
            return statement
        }
    }

    /// Returns whether a configuration has these numbers, or does not say.
    static func states(
        _ configuration: QuantizationConfiguration, bits: Int, group: Int, axis: Int
    ) throws -> Bool {
        let entries = try entries(configuration)
        func agrees(_ field: JSONField, _ value: Int) throws -> Bool {
            try !field.exists || field.double() == Double(value)
        }
        return try entries.isEmpty
            || entries.contains { entry in
                let parameters = entry["weight_quant_params"]
                return try agrees(parameters["nbits"], bits) && agrees(parameters["group_size"], group)
                    && agrees(parameters["axis"], axis)
            }
    }
}

/// MLX: a scheme of most layers, and those of the others by name.
enum MLXMethod: QuantizationMethod {
    static let names = ["mlx"]
    static let marks = ["bits", "group_size"]
    static let schemes: [any QuantizedScheme.Type] = [MLXLayerScheme.self]
    static let inertFields: [InertFields] = []

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        let field = configuration.field
        // Every layer may have a scheme of its own, or be plain.
        _ = try MLXScheme(parsing: field)
        guard case .object(let members)? = field.value else { return [] }
        let plain = members.filter { member in
            guard case .bool? = Optional(member.value) else { return false }
            return checkpoint.tensors.contains { $0.name.hasPrefix("\(member.key).") }
        }
        return plain.isEmpty
            ? [] : [InertFields("says whether a layer is plain, as its tensors do", plain.map(\.key)).under(field.path)]
    }
}
