import AccelByteIO
import AccelPackages
import AccelTensors

/// The config.json of an export, by the class that reads it.
protocol MLXSettings {
    /// The computations in which the class differs from the model, a sentence each.
    var remarks: [String] { get }
    /// Tensors beside those of the model.
    var extra: [StoredTensor] { get }
    /// Returns the text of the file.
    /// - Throws: `RequestError` for a block that the class cannot read.
    func text(_ quantization: MLXQuantization?) throws -> String
    /// Checks a tensor that the class computes.
    /// - Throws: `RequestError` if the model has other values.
    func check(computed name: String, _ values: @autoclosure () -> [Float]) throws
}

extension MLXSettings {
    var extra: [StoredTensor] { [] }
    func check(computed name: String, _ values: @autoclosure () -> [Float]) throws {}
}

/// The config.json of an export: the model's, with the fields that mlx-lm reads and newer or older configurations lack.
struct MLXConfiguration: MLXSettings {
    /// The computations in which mlx-lm differs from the model, a sentence each.
    private(set) var remarks: [String] = []
    private let family: MLXFamily
    let field: JSONField
    private var members: [JSON.Member]

    /// The name of the file.
    static let fileName = "config.json"

    /// Reads the configuration of an export.
    static func read(in folder: String) throws -> JSONField {
        JSONField(try JSON.read("\(folder)/\(fileName)"), file: fileName)
    }

    /// Reads and completes a model's configuration.
    /// - Parameter ownsHead: whether the head is a tensor of its own.
    /// - Throws: `RequestError` for a property that the class does not support; `FormatError`.
    init(of assets: [Asset], for family: MLXFamily, ownsHead: Bool) throws {
        guard let asset = assets.first(where: { $0.name == Self.fileName }) else {
            throw RequestError("MLX: the model has no \(Self.fileName), which mlx-lm reads")
        }
        let value = try JSON.parse(asset.content, file: Self.fileName)
        guard case .object(let members) = value else {
            throw JSONField(value, file: Self.fileName).error("expected an object")
        }
        self.family = family
        field = JSONField(value, file: Self.fileName)
        self.members = members.filter { ![MLXQuantization.key, MLXQuantization.copyKey].contains($0.key) }
        if let missing = family.required.first(where: { !field[$0].exists }) {
            throw RequestError("MLX: mlx-lm's \(family.name) needs the field \(missing), which \(Self.fileName) lacks")
        }
        if !field["model_type"].exists { set("model_type", .string(family.name)) }
        try checkHead(ownsHead)
        if family.name == "gpt2" {
            try completeGPT2()
            return
        }
        try checkActivation()
        try addRotary()
        try addWindows()
    }

    /// Returns the text of the file.
    func text(_ quantization: MLXQuantization?) -> String {
        var copy = self
        if let quantization {
            copy.set(MLXQuantization.key, quantization.json)
            copy.set(MLXQuantization.copyKey, quantization.json)
        }
        return JSON.object(copy.members).text(pretty: true)
    }

    private mutating func set(_ key: String, _ value: JSON) {
        if let index = members.firstIndex(where: { $0.key == key }) {
            members[index].value = value
        } else {
            members.append(JSON.Member(key, value))
        }
    }

    mutating func add(_ key: String, _ value: JSON?) {
        if let value, !field[key].exists { set(key, value) }
    }

    func unsupported(_ key: String, _ reason: String) -> RequestError {
        RequestError("MLX: mlx-lm's \(family.name) \(reason): the field \(key) of \(Self.fileName) asks for it")
    }

    private mutating func checkHead(_ ownsHead: Bool) throws {
        let classes = try field["architectures"].exists ? field["architectures"].array() : []
        if let name = try classes.first?.string(), name.hasSuffix("Model"), !name.hasSuffix("LMHeadModel") {
            throw unsupported("architectures", "computes logits, and the model has no head")
        }
        guard family.head == .configured else {
            guard ownsHead else { return }
            throw RequestError(
                "MLX: mlx-lm's \(family.name) has no head of its own, but the model has \(MLXFamily.head)")
        }
        set("tie_word_embeddings", .bool(!ownsHead))
    }

    private mutating func checkActivation() throws {
        if family.name.hasPrefix("gemma") {
            if family.name == "gemma" {
                remarks.append("mlx-lm's gemma computes gelu exactly, where the model has its approximation by tanh")
            }
            return
        }
        let key = "hidden_act"
        let name = try field[key].exists ? field[key].string() : "silu"
        guard ["silu", "swish"].contains(name) else { throw unsupported(key, "has no activation but silu") }
    }

    // MARK: - Rotary embeddings

    /// Adds `rope_theta` and `rope_scaling`, which transformers since version 5 writes as `rope_parameters`.
    private mutating func addRotary() throws {
        let parameters = field["rope_parameters"]
        if parameters["full_attention"].exists {
            try addRotary(parameters["full_attention"])
            add("rope_local_base_freq", parameters["sliding_attention"]["rope_theta"].value)
            try checkRotary(parameters["sliding_attention"], among: ["default"])
        } else {
            try addRotary(parameters)
        }
        if !family.hasWindows, !parameters["rope_theta"].exists { add("rope_theta", 10000.0) }
        let scaling = field["rope_scaling"]
        guard scaling.exists else { return }
        try checkRotary(scaling, among: family.rotary)
        if case .object(let members)? = scaling.value, !scaling["type"].exists, let kind = scaling["rope_type"].value {
            set("rope_scaling", .object(members + [JSON.Member("type", kind)]))
        }
    }

    private mutating func addRotary(_ parameters: JSONField) throws {
        guard parameters.exists else { return }
        let kind = try checkRotary(parameters, among: family.rotary)
        add("rope_theta", parameters["rope_theta"].value)
        add("partial_rotary_factor", parameters["partial_rotary_factor"].value)
        try checkRotatedSizes(parameters["partial_rotary_factor"])
        add("original_max_position_embeddings", parameters["original_max_position_embeddings"].value)
        guard kind != "default" else { return }
        let rest = try parameters.members().filter { $0.key != "rope_theta" && $0.key != "type" }.compactMap { member in
            member.field.value.map { JSON.Member(member.key, $0) }
        }
        add("rope_scaling", .object(rest + [JSON.Member("type", .string(kind))]))
    }

    /// Checks that an even part of each head is rotated, as MLX's kernel wants it.
    private func checkRotatedSizes(_ share: JSONField) throws {
        guard share.exists, family.rotatesParts else { return }
        let heads = try field["num_attention_heads"].int(in: 1...1 << 20)
        let width =
            try field["head_dim"].exists
            ? field["head_dim"].int(in: 1...1 << 20) : field["hidden_size"].int(in: 1...1 << 30) / heads
        guard Int(Double(width) * (try share.double())) % 2 != 0 else { return }
        throw unsupported(
            share.path, "rotates an even number of a head's dimensions, not \(try share.double()) of \(width)")
    }

    /// Checks the kind of rotary embeddings.
    /// - Returns: the kind.
    @discardableResult
    private mutating func checkRotary(_ parameters: JSONField, among kinds: Set<String>) throws -> String {
        let field = parameters["type"].exists ? parameters["type"] : parameters["rope_type"]
        let kind = try field.exists ? field.string() : "default"
        guard kinds.contains(kind) else {
            throw unsupported(field.path, "has no rotary embeddings of the kind \(quoted(kind))")
        }
        let remark = "mlx-lm's \(family.name) rotates by the long factors at every length"
        if ["longrope", "su"].contains(kind), !remarks.contains(remark) { remarks.append(remark) }
        return kind
    }

    // MARK: - Windows

    /// Adds the pattern of sliding windows, which newer configurations write as `layer_types`.
    private mutating func addWindows() throws {
        guard family.hasWindows else { return try remarkOnWindow() }
        for key in ["final_logit_softcapping", "attn_logit_softcapping"] where field[key].exists {
            throw unsupported(key, "has no cap of logits")
        }
        guard field["layer_types"].exists else { return }
        let isFull = try field["layer_types"].array().map { try $0.string() == "full_attention" }
        let pattern = (isFull.firstIndex(of: true) ?? isFull.count) + 1
        guard isFull.enumerated().allSatisfy({ $0.element == ($0.offset % pattern == pattern - 1) }) else {
            throw unsupported("layer_types", "has full attention in every n-th layer only")
        }
        set("sliding_window_pattern", .integer(Int64(pattern)))
    }

    private mutating func remarkOnWindow() throws {
        let isUsed = try field["use_sliding_window"].exists ? field["use_sliding_window"].bool() : true
        guard isUsed, field["sliding_window"].exists else { return }
        let window = try field["sliding_window"].int()
        let longest = field["max_position_embeddings"]
        guard try !longest.exists || window < longest.int() else { return }
        remarks.append(
            "mlx-lm's \(family.name) has no sliding window: beyond \(window) positions it attends to more than the model"
        )
    }
}
