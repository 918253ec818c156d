/// What a function is for. A structure and not an enumeration, so that a later one breaks no `switch`.
public struct FunctionRole: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// Nothing is known of it.
    public static let opaque = FunctionRole(rawValue: "opaque")
    /// Extends a sequence over a key/value cache. Frozen, it is `prefill` or `step`.
    public static let decode = FunctionRole(rawValue: "decode")
    /// `decode` of a block of several tokens at a time.
    public static let prefill = FunctionRole(rawValue: "prefill")
    /// `decode` of one token at a time.
    public static let step = FunctionRole(rawValue: "step")
    /// Makes hidden states or embeddings of texts, images or sound.
    public static let encode = FunctionRole(rawValue: "encode")
    /// Makes the keys and values of a decoder's cross attention of an encoder's hidden states.
    public static let crossKeysAndValues = FunctionRole(rawValue: "cross-kv")
    /// Scores labels.
    public static let classify = FunctionRole(rawValue: "classify")
    /// Scores the words of the vocabulary at each position of a text.
    public static let fillMask = FunctionRole(rawValue: "fill-mask")
    /// Scores the letters of the vocabulary over time.
    public static let transcribe = FunctionRole(rawValue: "transcribe")
    /// Scores how well images and texts fit.
    public static let match = FunctionRole(rawValue: "match")
    /// Says whether something is heard.
    public static let detect = FunctionRole(rawValue: "detect")
    /// Makes the features that a vocoder takes.
    public static let synthesise = FunctionRole(rawValue: "synthesise")
    /// Makes the harmonics that a vocoder takes.
    public static let excite = FunctionRole(rawValue: "excite")
    /// Makes sound of features or codes.
    public static let vocoder = FunctionRole(rawValue: "vocoder")
    /// A part of a model alone, for tests.
    public static let block = FunctionRole(rawValue: "block")

    /// Every one that a frozen function may have.
    public static let all: [FunctionRole] = [
        .opaque, .prefill, .step, .encode, .crossKeysAndValues, .classify, .fillMask, .transcribe, .match, .detect,
        .synthesise, .excite, .vocoder, .block,
    ]
}
