public import AccelByteIO

/// Progress or a message of a running conversion or export.
public struct ConversionEvent: Sendable, Equatable {
    /// The kind of an event. Later versions may add kinds: treat an unknown one as a note.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A stage of `total` weights or steps begins; `text` is the stage's name.
        public static let stage = Kind(rawValue: "stage")
        /// A step of a stage that stores no weight, such as one of a search; `text` names it, and `done` is the number of steps
        /// before it.
        public static let step = Kind(rawValue: "step")
        /// A weight is compressed, or found in the cache; `text` is its name, and `done` is the number of weights
        /// before it. Weights come in the order in which they are done.
        public static let weight = Kind(rawValue: "weight")
        /// A sentence on a likely mistake.
        public static let warning = Kind(rawValue: "warning")
        /// A sentence of information for every user.
        public static let note = Kind(rawValue: "note")
        /// A sentence of detail, for verbose output.
        public static let remark = Kind(rawValue: "remark")
    }
    /// The kind; it decides the meaning of the other properties.
    public let kind: Kind
    /// A name or a sentence, by the kind.
    public let text: String
    /// The kind of a warning or note, for programs; nil where they need none.
    public let code: Diagnostic.Code?
    /// Number of weights or steps of the stage before this one; 0 for other kinds.
    public let done: Int
    /// Number of weights or steps of the stage; nil for sentences, and if it is not known.
    public let total: Int?
    /// The cache outcome of a weight; nil for other kinds.
    public let cache: CacheOutcome?

    init(
        _ kind: Kind, _ text: String, code: Diagnostic.Code? = nil, done: Int = 0, total: Int? = nil,
        cache: CacheOutcome? = nil
    ) {
        (self.kind, self.text, self.code) = (kind, text, code)
        (self.done, self.total, self.cache) = (done, total, cache)
    }
}

extension ConversionEvent {
    static func stage(_ name: String, total: Int? = nil) -> ConversionEvent {
        ConversionEvent(.stage, name, total: total)
    }
    static func warning(_ diagnostic: Diagnostic) -> ConversionEvent {
        ConversionEvent(.warning, diagnostic.text, code: diagnostic.code)
    }
    static func warning(_ sentence: String) -> ConversionEvent { ConversionEvent(.warning, sentence) }
    static func note(_ diagnostic: Diagnostic) -> ConversionEvent {
        ConversionEvent(.note, diagnostic.text, code: diagnostic.code)
    }
    static func note(_ sentence: String) -> ConversionEvent { ConversionEvent(.note, sentence) }
    static func remark(_ sentence: String) -> ConversionEvent { ConversionEvent(.remark, sentence) }
}

/// Whether a result came from the cache.
public enum CacheOutcome: String, Sendable {
    /// No cache was used.
    case off
    /// The cache had the result.
    case hit
    /// The cache server had the result, and the local cache did not.
    case serverHit = "server hit"
    /// The cache did not have the result, so this run made it.
    case miss
}
