public import AccelByteIO
public import AccelPackages

/// A model of a store, with its current version.
public struct StoredModel: Equatable, Sendable {
    /// The name.
    public let name: String
    /// The digest of the current version's package.
    public let version: Digest
    /// The versions to go back to, the latest first.
    public let earlier: [Digest]
    /// Whether no run of the current version has succeeded yet: if one fails, the store goes back to the version before.
    public let isTentative: Bool
    /// The release that the current version's signature states; nil if it states none, or no signature was asked for.
    public let release: SignedRelease?
    /// The path of the current version's package.
    public let path: String
    /// The bytes of the files of all its versions.
    public let byteCount: Int
}

/// Progress of an update.
public struct UpdateEvent: Equatable, Sendable, CustomStringConvertible {
    /// The kind of an event. Later versions may add kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Bytes arrive: `done`, and `total` if it is known.
        public static let fetching = Kind(rawValue: "fetching")
        /// A check of the new version begins; `text` is its name.
        public static let checking = Kind(rawValue: "checking")
        /// The new version is the current one.
        public static let updated = Kind(rawValue: "updated")
        /// The new version was the current one already.
        public static let unchanged = Kind(rawValue: "unchanged")
    }
    /// The kind; it decides the meaning of the other properties.
    public let kind: Kind
    /// The name of a check, or the digest of a version.
    public let text: String
    /// Bytes that have arrived.
    public let done: Int
    /// Bytes in all; nil if they are not known.
    public let total: Int?

    init(_ kind: Kind, _ text: String = "", done: Int = 0, total: Int? = nil) {
        (self.kind, self.text, self.done, self.total) = (kind, text, done, total)
    }

    public var description: String {
        kind == .fetching ? "\(kind.rawValue) \(done)\(total.map { " of \($0)" } ?? "")" : "\(kind.rawValue) \(text)"
    }
}
