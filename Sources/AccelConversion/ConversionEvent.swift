/// Something that a conversion or an export tells while it works.
public struct ConversionEvent: Sendable, Equatable {
    /// What it is about. New kinds may come: treat an unknown one as a note.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A stage of `total` steps begins; `text` is its name.
        public static let stage = Kind(rawValue: "stage")
        /// A weight is stored; `text` is its name, and `done` counts those before it.
        public static let weight = Kind(rawValue: "weight")
        /// A sentence on something that may be a mistake.
        public static let warning = Kind(rawValue: "warning")
        /// A sentence on something worth knowing.
        public static let note = Kind(rawValue: "note")
        /// A sentence on something that is as it should be.
        public static let remark = Kind(rawValue: "remark")
    }
    public let kind: Kind
    public let text: String
    public let done: Int
    /// The steps of the stage; nil where they are not known.
    public let total: Int?
    /// Of a weight: whether it was found in the cache (`hit`) or made.
    public let cache: CacheOutcome?

    init(_ kind: Kind, _ text: String, done: Int = 0, total: Int? = nil, cache: CacheOutcome? = nil) {
        (self.kind, self.text, self.done, self.total, self.cache) = (kind, text, done, total, cache)
    }
}

extension ConversionEvent {
    static func stage(_ name: String, total: Int) -> ConversionEvent { ConversionEvent(.stage, name, total: total) }
    static func warning(_ sentence: String) -> ConversionEvent { ConversionEvent(.warning, sentence) }
    static func note(_ sentence: String) -> ConversionEvent { ConversionEvent(.note, sentence) }
    static func remark(_ sentence: String) -> ConversionEvent { ConversionEvent(.remark, sentence) }
}

/// What the cache did for a result.
public enum CacheOutcome: String, Sendable {
    /// There is none, or it was not to be used.
    case off
    /// An earlier run had made the result.
    case hit
    case miss
}
