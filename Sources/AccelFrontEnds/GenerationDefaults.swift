public import AccelByteIO

/// The settings of generation_config.json, as transformers reads them.
public struct GenerationDefaults: Equatable, Sendable {
    /// Tokens are sampled by their probability; otherwise each is the likeliest one.
    public var samples = false
    /// The divisor of the logits.
    public var temperature: Float = 1
    /// Only so many of the likeliest tokens are considered; nil for all.
    public var topK: Int? = nil
    /// The least sum of the considered tokens' probabilities: the fewest tokens after `topK` that reach it are considered.
    public var topP: Float = 1
    /// The least probability of a considered token after `topP`, as a share of the likeliest token's.
    public var minP: Float = 0
    /// The logits of tokens that occurred already are divided by this, or multiplied if they are negative.
    public var repetitionPenalty: Float = 1
    /// Settings that would change the text and are not supported, by their names.
    public var unsupported: [String] = []

    /// The defaults of transformers for a model without settings: the likeliest tokens.
    public init() {}

    /// Settings that choose among several texts, or constrain the text, with their neutral values.
    private static let others: [(name: String, neutral: [JSON])] = [
        ("num_beams", [.integer(1)]), ("num_beam_groups", [.integer(1)]), ("penalty_alpha", [.integer(0), .number(0)]),
        ("no_repeat_ngram_size", [.integer(0)]), ("encoder_no_repeat_ngram_size", [.integer(0)]),
        ("typical_p", [.integer(1), .number(1)]), ("epsilon_cutoff", [.integer(0), .number(0)]),
        ("eta_cutoff", [.integer(0), .number(0)]), ("bad_words_ids", []), ("force_words_ids", []), ("constraints", []),
        ("sequence_bias", []), ("guidance_scale", [.integer(1), .number(1)]), ("watermarking_config", []),
        ("forced_bos_token_id", []), ("forced_eos_token_id", []), ("suppress_tokens", [.array([])]),
        ("begin_suppress_tokens", [.array([])]), ("forced_decoder_ids", [.array([])]),
        ("exponential_decay_length_penalty", []), ("min_length", [.integer(0)]), ("min_new_tokens", [.integer(0)]),
    ]

    /// Reads the settings; those of a missing file are the defaults.
    /// - Throws: `FormatError` naming a field of another type or range.
    public init(_ document: JSONField) throws {
        guard document.exists else { return }
        func given(_ name: String) -> JSONField? {
            let field = document[name]
            return field.exists && field.value != .null ? field : nil
        }
        if let field = given("do_sample") { samples = try field.bool() }
        if let field = given("top_k") {
            let count = try field.int(in: 0...Int(Int32.max))
            topK = count == 0 ? nil : count
        } else {
            // The default of transformers.
            topK = 50
        }
        if let field = given("temperature") {
            temperature = try Self.number(field, in: 0...Double(Float.greatestFiniteMagnitude))
        }
        if let field = given("top_p") { topP = try Self.number(field, in: 0...1) }
        if let field = given("min_p") { minP = try Self.number(field, in: 0...1) }
        if let field = given("repetition_penalty") {
            repetitionPenalty = try Self.number(field, in: 1e-6...1e6)
        }
        // A temperature of 0 stands for the likeliest token in other tools.
        if temperature == 0 { (samples, temperature) = (false, 1) }
        unsupported = Self.others.filter { other in
            given(other.name).map { !other.neutral.contains($0.value ?? .null) } ?? false
        }.map(\.name)
    }

    private static func number(_ field: JSONField, in range: ClosedRange<Double>) throws -> Float {
        let value = try field.double()
        guard range.contains(value) else {
            throw field.error("expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Float(value)
    }
}
