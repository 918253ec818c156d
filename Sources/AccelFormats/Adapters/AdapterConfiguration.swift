import AccelByteIO
import AccelTensors

/// The content of `adapter_config.json` (peft): scale and kind of the low-rank changes.
struct AdapterConfiguration: Sendable {
    /// The rank of modules that no pattern matches.
    let rank: Int
    /// The numerator of the scale.
    let alpha: Double
    /// The scale is alpha / sqrt(rank), not alpha / rank (rank-stabilised LoRA, arXiv:2312.03732).
    let isRankStabilised: Bool
    /// Output channels have lengths of their own (DoRA).
    let hasLengths: Bool
    /// Weights are [inputs, outputs]; only needed for square ones.
    let isTransposed: Bool
    /// The model that it was trained on, as it says; nil if it does not.
    let baseModel: String?
    private let ranks: [(pattern: ModulePattern, value: Int)]
    private let alphas: [(pattern: ModulePattern, value: Double)]

    /// The most rows of a factor.
    private static let ranksAllowed = 1...1 << 16
    /// Fields that do not change the merged weights: the tensors show which modules are changed.
    private static let inert: Set<String> = [
        "auto_mapping", "base_model_name_or_path", "bias", "corda_config", "ensure_weight_tying", "eva_config",
        "exclude_modules", "inference_mode", "layers_pattern", "layers_to_transform", "loftq_config", "lora_bias",
        "lora_dropout", "lora_ga_config", "megatron_core", "modules_to_save", "peft_version", "qalora_group_size",
        "revision", "runtime_config", "target_modules", "task_type",
    ]
    private static let read: Set<String> = [
        "peft_type", "r", "lora_alpha", "use_rslora", "use_dora", "fan_in_fan_out", "rank_pattern", "alpha_pattern",
        "init_lora_weights",
    ]
    /// Initial values that leave the model's own weights as they are; others, such as pissa, change them.
    private static let plainStarts: Set<String> = ["gaussian", "eva", "orthogonal"]

    /// Reads a configuration.
    /// - Throws: `FormatError` for an invalid field; `RequestError` (unavailable) for a kind of adapter, or a field, that is
    ///   not supported.
    init(_ document: JSONField) throws {
        let type = document["peft_type"]
        guard type.exists else {
            throw document.error("has no peft_type: adapters are read as peft saves them")
        }
        guard try type.string() == "LORA" else {
            throw Self.unsupported(type, "adapters of the type \(try type.string()) cannot be merged, only LORA")
        }
        rank = try document["r"].int(in: Self.ranksAllowed)
        alpha = try Self.finite(document["lora_alpha"])
        isRankStabilised = try Self.flag(document["use_rslora"])
        hasLengths = try Self.flag(document["use_dora"])
        isTransposed = try Self.flag(document["fan_in_fan_out"])
        let base = document["base_model_name_or_path"]
        baseModel = base.exists ? try base.string() : nil
        ranks = try Self.patterns(document["rank_pattern"]) { try $0.int(in: Self.ranksAllowed) }
        alphas = try Self.patterns(document["alpha_pattern"], Self.finite)
        let start = document["init_lora_weights"]
        if case .string(let name)? = start.value, !Self.plainStarts.contains(name) {
            throw Self.unsupported(
                start,
                "\(quoted(name)) changes the weights of the model too: save the adapter as a plain one "
                    + "(path_initial_model_for_weight_conversion)")
        }
        for (key, field) in try document.members() where !Self.inert.contains(key) && !Self.read.contains(key) {
            guard field.exists, ![.bool(false), .array([]), .object([])].contains(field.value) else { continue }
            throw Self.unsupported(field, "is not supported, and may change the meaning of the adapter")
        }
    }

    /// Returns the factor of a module's low-rank product.
    /// - Throws: `FormatError` if the rank is not the one of the configuration.
    func scale(of module: String, rank found: Int, in tensor: StoredTensor) throws -> Double {
        let rank = ranks.first { $0.pattern.matches(module) }?.value ?? self.rank
        guard rank == found else {
            throw tensor.error("has the rank \(found), but \(AdapterFiles.configurationName) says \(rank)")
        }
        let alpha = alphas.first { $0.pattern.matches(module) }?.value ?? self.alpha
        return alpha / (isRankStabilised ? Double(rank).squareRoot() : Double(rank))
    }

    private static func flag(_ field: JSONField) throws -> Bool { field.exists ? try field.bool() : false }

    private static func finite(_ field: JSONField) throws -> Double {
        let value = try field.double()
        guard Float(value).isFinite else { throw field.error("\(value) is out of range") }
        return value
    }

    private static func patterns<Value>(
        _ field: JSONField, _ value: (JSONField) throws -> Value
    ) throws -> [(pattern: ModulePattern, value: Value)] {
        guard field.exists else { return [] }
        return try field.members().map { key, field in
            guard let pattern = ModulePattern(key) else {
                throw unsupported(
                    field, "regular expressions other than names are not supported: name the modules one by one")
            }
            return (pattern, try value(field))
        }
    }

    private static func unsupported(_ field: JSONField, _ reason: String) -> RequestError {
        RequestError("\(field.error(reason))", status: .unavailable)
    }
}

/// A key of `rank_pattern` or `alpha_pattern`: the name of a module, or its end after a dot. It is a regular expression in
/// peft; here names with `^` at the start, `$` at the end and `\.` for a dot.
struct ModulePattern: Equatable, Sendable {
    private let name: String
    private let isWhole: Bool

    /// - Returns: nil for other regular expressions.
    init?(_ text: String) {
        var rest = Substring(text)
        isWhole = rest.hasPrefix("^")
        if isWhole { rest.removeFirst() }
        if rest.hasSuffix("$") { rest.removeLast() }
        name = String(rest.replacing(#"\."#, with: "."))
        guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) })
        else {
            return nil
        }
    }

    /// Returns whether the module has this name, or a name with this end.
    func matches(_ module: String) -> Bool { module == name || !isWhole && module.hasSuffix(".\(name)") }
}
