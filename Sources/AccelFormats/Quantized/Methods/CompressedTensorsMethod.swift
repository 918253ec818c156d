import AccelByteIO
import AccelModelFamilies
import AccelTensors

/// compressed-tensors (llm-compressor): groups of layers, each with the scheme of its weights.
enum CompressedTensorsMethod: QuantizationMethod {
    static let names = ["compressed-tensors"]
    static let marks = ["config_groups"]
    static let schemes: [any QuantizedScheme.Type] = [
        PackedScheme.self, IntegerScheme.self, Float8Scheme.self, PackedMXFP4Scheme.self, PackedNVFP4Scheme.self,
    ]
    static let inertFields = [
        InertFields("says how large the file is", ["global_compression_ratio"])
    ]
    /// The arguments of weights that change nothing.
    private static let inertArguments = [
        InertFields("belongs to the search for scales", ["observer", "observer_kwargs"]),
        InertFields("is the type of a tensor, which the tensor shows", ["scale_dtype", "zp_dtype"]),
    ]

    static func check(
        _ configuration: QuantizationConfiguration, _ checkpoint: Checkpoint
    ) throws -> [InertFields] {
        let status = configuration["quantization_status"]
        if status.exists, case let name = try status.string(), !["compressed", "frozen"].contains(name) {
            throw RequestError(
                "\(status.error("weights of the status \(quoted(name)) are not supported"))", status: .unavailable)
        }
        for key in ["transform_config", "sparsity_config"] where configuration[key].exists {
            try rejectContent(configuration[key])
        }
        // Groups of layers that are not there, too.
        let groups = configuration["config_groups"]
        for group in groups.exists ? try groups.members().map(\.field) : [] where isOfWeights(group) {
            _ = (try statement(group["weights"]), try formats(group["format"]))
        }
        return try inertFields(of: groups)
    }

    /// Whether a group is of weights; others are of activations alone.
    private static func isOfWeights(_ group: JSONField) -> Bool {
        if case .object? = group.value { group["weights"].exists } else { true }
    }

    /// Rejects an object that requests a transform or sparse weights.
    private static func rejectContent(_ field: JSONField) throws {
        let members = try field.members()
        let groups = field["config_groups"]
        let isEmpty = try members.isEmpty || members.count == 1 && groups.exists && groups.members().isEmpty
        let format = field["format"]
        let isDense = try format.exists && format.string() == "dense"
        guard isEmpty || isDense else {
            let what = field.path.hasSuffix("transform_config") ? "weights turned by a transform" : "sparse weights"
            throw RequestError(
                "\(field.error("\(what) are not supported")); convert the original model", status: .unavailable)
        }
        // The rest of a dense one describes values that are stored in full.
        field.disregard("registry_requires_subclass", "sparsity_structure", "global_sparsity", "ignore", "targets")
    }

    /// Returns the fields of groups that change no weight.
    static func inertFields(of groups: JSONField) throws -> [InertFields] {
        guard case .object? = groups.value else { return [] }
        return try groups.members().flatMap { key, group -> [InertFields] in
            // A group may be the name of a preset with its targets.
            guard case .object? = group.value else { return [] }
            _ = group["targets"]
            return [InertFields].ofActivations.under(group.path) + inertArguments.under(group["weights"].path)
                + [InertFields("names layers", ["targets"])].under(group.path)
        }
    }

    static func statements(
        about layer: QuantizedLayer, _ configuration: QuantizationConfiguration
    ) throws -> [LayerStatement] {
        let usual = try formats(configuration["format"])
        return try groups(configuration["config_groups"], of: layer.name).map { group in
            var statement = try Self.statement(group["weights"])
            statement.formats = try formats(group["format"]) ?? usual
            return statement
        }
    }

    /// Returns the groups that may be meant: those that name the layer, or else those of classes and patterns, or else all.
    static func groups(_ field: JSONField, of layer: String) throws -> [JSONField] {
        guard field.exists else { return [] }
        let groups = try field.members().map(\.field).filter(isOfWeights)
        func matching(_ fits: (String) -> Bool) throws -> [JSONField] {
            try groups.filter { group in
                guard group["targets"].exists else { return false }
                return try group["targets"].array().contains { fits(try $0.string()) }
            }
        }
        let named = try matching { layer == $0 || layer.hasSuffix(".\($0)") || $0.hasSuffix(".\(layer)") }
        if !named.isEmpty { return named }
        let classes = try matching { $0.hasPrefix("re:") || $0.first?.isUppercase == true }
        return classes.isEmpty ? groups : classes
    }

    /// Reads the arguments of weights.
    private static func statement(_ field: JSONField) throws -> LayerStatement {
        guard case .object? = field.value else { throw field.error("a preset by its name alone is not supported") }
        var statement = LayerStatement(field: field)
        statement.bits = field["num_bits"].exists ? try field["num_bits"].int(in: 1...16) : 8
        let type = field["type"].exists ? try field["type"].string().lowercased() : "int"
        guard ["int", "float"].contains(type) else { throw field["type"].error("expected int or float") }
        statement.isFloat = type == "float"
        statement.isSymmetric = field["symmetric"].exists ? try field["symmetric"].bool() : true
        if case .bool(false)? = field["dynamic"].value {
        } else if field["dynamic"].exists {
            throw field["dynamic"].error("weights are not quantized at run time")
        }
        if case .bool(false)? = field["actorder"].value {
        } else if field["actorder"].exists {
            let order = try field["actorder"].string()
            guard ["weight", "static", "group", "dynamic"].contains(order) else {
                throw field["actorder"].error("expected weight or group")
            }
        }
        statement.sharing = try sharing(field)
        return statement
    }

    private static func sharing(_ field: JSONField) throws -> ScaleSharing {
        let size = field["group_size"].exists ? try field["group_size"].int(in: -1...1 << 31) : nil
        let block = field["block_structure"]
        let name =
            if field["strategy"].exists { try field["strategy"].string().lowercased() } else {
                size.map { $0 > 0 ? "group" : "channel" } ?? "tensor"
            }
        switch name {
        case "tensor", "channel":
            guard size ?? -1 <= 0, !block.exists else { throw field.error("the strategy \(name) has no groups") }
            return name == "tensor" ? .tensor : .channel
        case "group", "tensor_group":
            guard let size, size > 0, !block.exists else {
                throw field["group_size"].error("expected the size of the groups of the strategy \(name)")
            }
            return .group(size)
        case "block":
            guard size ?? -1 <= 0 else { throw field.error("the strategy block has no group_size") }
            // Earlier versions have a text such as "128x128".
            if case .string(let text)? = block.value {
                let sizes = text.split(separator: "x").compactMap { Int($0) }
                guard sizes.count == 2, sizes.allSatisfy({ (1...1 << 31).contains($0) }) else {
                    throw block.error("expected two sizes")
                }
                return .block(sizes[0], sizes[1])
            }
            return try block.blockSharing()
        default:
            throw RequestError(
                "\(field["strategy"].error("the strategy \(quoted(name)) of weights is not supported"))",
                status: .unavailable)
        }
    }

    private static func formats(_ field: JSONField) throws -> [String]? {
        guard field.exists, case let name = try field.string(),
            !["mixed-precision", "naive-quantized", "fakequant"].contains(name)
        else { return nil }
        guard ["marlin-24", "sparse-bitmask", "sparse-24-bitmask"].contains(name) else { return [name] }
        throw RequestError(
            "\(field.error("the format \(quoted(name)) is not supported")); convert the original model",
            status: .unavailable)
    }

    static func quantizesActivations(_ configuration: QuantizationConfiguration) -> Bool {
        guard let groups = try? configuration["config_groups"].members() else { return false }
        return groups.contains { $0.field.value?["input_activations"] ?? .null != .null }
    }
}

extension JSONField {
    /// Returns the sharing by the sizes of a block, two numbers.
    func blockSharing() throws -> ScaleSharing {
        let sizes = try array().map { try $0.int(in: 1...1 << 31) }
        guard sizes.count == 2 else { throw error("expected two sizes, found \(sizes.count)") }
        return .block(sizes[0], sizes[1])
    }
}
