import AccelByteIO
import AccelPackages

import func AccelPlatform.log
import func AccelPlatform.pow

/// Numbers of rotary embeddings as GGUF files have them.
enum GGUFRotary {
    /// Returns the factors by which the frequencies of Llama 3.1 are divided: 1 for short waves, the whole factor for long ones, and
    /// a number between them for the others (`rope_type` llama3 of transformers).
    static func llama3(_ scaling: JSONField, _ field: JSONField, theta: Double, width: Int) throws -> [Float] {
        let factor = try scaling["factor"].double()
        let (low, high) = (try scaling["low_freq_factor"].double(), try scaling["high_freq_factor"].double())
        let inside = scaling["original_max_position_embeddings"]
        let outside = field["original_max_position_embeddings"]
        let original = Double(try (outside.exists ? outside : inside).int(in: 1...1 << 30))
        guard high > low, low > 0 else { throw scaling["high_freq_factor"].error("\(high) is not above \(low)") }
        return (0..<width / 2).map { pair in
            let length = 2 * Double.pi * pow(theta, Double(2 * pair) / Double(width))
            if length < original / high { return 1 }
            if length > original / low { return Float(factor) }
            let smooth = (original / length - low) / (high - low)
            return Float(1 / ((1 - smooth) / factor + smooth))
        }
    }

    /// Returns the factor of cosine and sine of LongRoPE, for a context that grew by `growth`.
    static func longAttention(_ growth: Double, _ original: Int) -> Double {
        growth <= 1 || original == 1 ? 1 : (1 + log(growth) / log(Double(original))).squareRoot()
    }
}

/// How llama.cpp makes one vector of the hidden states of a sentence.
enum GGUFPooling: Int {
    case none, mean, cls, last

    /// The key of accelc that says whether embeddings are normalised to length 1; without it they are, as programs of llama.cpp do it.
    static let normalisationKey = "accelc.normalize_embeddings"

    /// Returns the files that describe the modules of a sentence encoder; none if the model is none.
    func documents(width: Int, normalises: Bool) -> [String: JSON] {
        let flags = Self.known.map { JSON.Member($0.flag, .bool($0.pooling == self)) }
        guard self != .none else { return [:] }
        let modules =
            [("Transformer", ""), ("Pooling", "1_Pooling")] + (normalises ? [("Normalize", "2_Normalize")] : [])
        let list = modules.enumerated().map { index, module -> JSON in
            [
                "idx": .integer(Int64(index)), "name": .string("\(index)"), "path": .string(module.1),
                "type": .string("sentence_transformers.models.\(module.0)"),
            ]
        }
        let pooling = [JSON.Member("word_embedding_dimension", .integer(Int64(width)))] + flags
        return ["modules.json": .array(list), "1_Pooling/config.json": .object(pooling)]
    }

    private static let known: [(flag: String, name: String, pooling: GGUFPooling)] = [
        ("pooling_mode_mean_tokens", "mean", .mean), ("pooling_mode_cls_token", "cls", .cls),
        ("pooling_mode_lasttoken", "lasttoken", .last),
    ]

    /// Returns whether the modules of a sentence encoder normalise embeddings; nil if the model is none.
    static func normalises(_ assets: [Asset]) throws -> Bool? {
        guard let asset = assets.first(where: { $0.name == "modules.json" }) else { return nil }
        let modules = JSONField(try JSON.parse(asset.content, file: asset.name), file: asset.name)
        return try modules.array().contains { try $0["type"].string().hasSuffix("Normalize") }
    }

    /// Reads the modules of a sentence encoder; nil if the model is none.
    /// - Throws: `RequestError` for a pooling that llama.cpp lacks; `FormatError`.
    init?(of assets: [Asset]) throws {
        func document(_ name: String) throws -> JSONField? {
            try assets.first { $0.name == name }.map { JSONField(try JSON.parse($0.content, file: name), file: name) }
        }
        guard let modules = try document("modules.json") else { return nil }
        let module = try modules.array().first { try $0["type"].string().hasSuffix("Pooling") }
        guard let module, let config = try document("\(module["path"].string())/config.json") else { return nil }
        let known = Self.known
        if config["pooling_mode"].exists, let name = try? config["pooling_mode"].string(),
            let found = known.first(where: { $0.name == name })
        {
            self = found.pooling
            return
        }
        let active = try config.members().filter { $0.key.hasPrefix("pooling_mode_") && $0.field.value == .bool(true) }
        guard active.count == 1, let found = known.first(where: { $0.flag == active[0].key }) else {
            throw RequestError(
                "GGUF: llama.cpp pools by the mean, the first or the last token, not by "
                    + "\(active.map(\.key).joined(separator: " and ")) of \(config.file)")
        }
        self = found.pooling
    }
}
