import ByteIO
import Programs

/// What the BERT family reads of a config.json, checked. A missing field has the default of the original framework.
struct BertConfiguration {
    enum Architecture: String, CaseIterable {
        case model = "BertModel"
        case maskedLM = "BertForMaskedLM"
        case sequenceClassification = "BertForSequenceClassification"
    }
    let architecture: Architecture
    let width: Int
    let layers: Int
    let heads: Int
    let intermediate: Int
    let vocabulary: Int
    let positions: Int
    let segments: Int
    let epsilon: Double
    let activation: any Operator
    let labels: Int
    let tiesHead: Bool

    init(_ config: JSONField) throws {
        architecture = try Self.architecture(config["architectures"])
        width = try config["hidden_size"].int(in: 1...1 << 16, default: 768)
        layers = try config["num_hidden_layers"].int(in: 1...1000, default: 12)
        heads = try config["num_attention_heads"].int(in: 1...1 << 16, default: 12)
        guard width % heads == 0 else {
            throw config["num_attention_heads"].error("\(heads) heads do not divide hidden_size \(width)")
        }
        intermediate = try config["intermediate_size"].int(in: 1...1 << 20, default: 3072)
        vocabulary = try config["vocab_size"].int(in: 1...1 << 24, default: 30522)
        positions = try config["max_position_embeddings"].int(in: 1...1 << 20, default: 512)
        segments = try config["type_vocab_size"].int(in: 1...1 << 16, default: 2)
        epsilon = config["layer_norm_eps"].exists ? try config["layer_norm_eps"].double() : 1e-12
        guard epsilon >= 0, epsilon < 1 else {
            throw config["layer_norm_eps"].error("\(epsilon) is outside of 0..<1")
        }
        activation = try HiddenActivation.read(config["hidden_act"], default: "gelu")
        let names = config["id2label"]
        labels =
            names.exists ? try names.members().count : try config["num_labels"].int(in: 1...1 << 20, default: 2)
        tiesHead = try config["tie_word_embeddings"].bool(default: true)

        let refusals: [(field: String, isAsked: Bool, what: String)] = [
            ("is_decoder", try config["is_decoder"].bool(default: false), "BERT as a decoder"),
            ("add_cross_attention", try config["add_cross_attention"].bool(default: false), "cross attention"),
            ("quantization_config", config["quantization_config"].exists, "a checkpoint that is quantised already"),
            (
                "pruned_heads", try config["pruned_heads"].exists && !config["pruned_heads"].members().isEmpty,
                "pruned heads"
            ),
            (
                "position_embedding_type",
                try config["position_embedding_type"].exists
                    && config["position_embedding_type"].string() != "absolute",
                "a position embedding other than \"absolute\""
            ),
        ]
        for refusal in refusals where refusal.isAsked {
            throw RequestError(
                "\(config.file), field \(refusal.field): \(refusal.what) is not supported", status: .unavailable)
        }
    }

    private static func architecture(_ field: JSONField) throws -> Architecture {
        guard field.exists, let first = try field.array().first else { return .model }
        let name = try first.string()
        guard let architecture = Architecture(rawValue: name) else {
            throw RequestError(
                "\(field.file), field \(first.path): the architecture \"\(name)\" is not supported "
                    + "(supported: \(Architecture.allCases.map(\.rawValue).joined(separator: ", ")))",
                status: .unavailable)
        }
        return architecture
    }
}

extension JSONField {
    func int(in range: ClosedRange<Int>, default other: Int) throws -> Int { exists ? try int(in: range) : other }
    func bool(default other: Bool) throws -> Bool { exists ? try bool() : other }
}
