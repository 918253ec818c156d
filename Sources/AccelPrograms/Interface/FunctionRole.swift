/// The purpose of a function. It is a structure, not an enumeration, so that a later role breaks no `switch`.
public struct FunctionRole: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name in manifests, such as `prefill`.
    public let rawValue: String
    /// Creates a role by its name; `all` lists the names that this version accepts.
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// Unknown: the function belongs to a foreign model.
    public static let opaque = FunctionRole(rawValue: "opaque")
    /// Extends a sequence over a key/value cache. Freezing turns it into `prefill` or `step`.
    public static let decode = FunctionRole(rawValue: "decode")
    /// Decodes several tokens at once: the prefill phase.
    public static let prefill = FunctionRole(rawValue: "prefill")
    /// Decodes one token: the decode step.
    public static let step = FunctionRole(rawValue: "step")
    /// Computes hidden states or embeddings of texts, images or audio.
    public static let encode = FunctionRole(rawValue: "encode")
    /// Computes the keys and values of a decoder's cross attention from an encoder's hidden states.
    public static let crossKeysAndValues = FunctionRole(rawValue: "cross-kv")
    /// Computes how strongly each token of a text attends to each of an encoder's hidden states.
    public static let align = FunctionRole(rawValue: "align")
    /// Computes class scores.
    public static let classify = FunctionRole(rawValue: "classify")
    /// Computes vocabulary scores for each position of a text.
    public static let fillMask = FunctionRole(rawValue: "fill-mask")
    /// Computes character scores for each time frame of audio.
    public static let transcribe = FunctionRole(rawValue: "transcribe")
    /// Computes the state of a transducer's predictor after a token.
    public static let predict = FunctionRole(rawValue: "predict")
    /// Computes a transducer's scores of tokens from one state of the encoder and that of the predictor.
    public static let join = FunctionRole(rawValue: "join")
    /// Computes similarity scores of images and texts.
    public static let match = FunctionRole(rawValue: "match")
    /// Computes the probability of an event in audio, such as speech.
    public static let detect = FunctionRole(rawValue: "detect")
    /// Computes the features that a vocoder takes.
    public static let synthesise = FunctionRole(rawValue: "synthesise")
    /// Computes the harmonic excitation that a vocoder takes.
    public static let excite = FunctionRole(rawValue: "excite")
    /// Computes audio from features or codes.
    public static let vocoder = FunctionRole(rawValue: "vocoder")
    /// A part of a model by itself, for tests, and for runtimes that know its ports by their names.
    public static let block = FunctionRole(rawValue: "block")

    /// Every role of a frozen function.
    public static let all: [FunctionRole] = [
        .opaque, .prefill, .step, .encode, .crossKeysAndValues, .align, .classify, .fillMask, .transcribe,
        .predict, .join, .match, .detect, .synthesise, .excite, .vocoder, .block,
    ]
}
