public import AccelByteIO

/// The cause for which a result has to be computed.
public struct CacheMiss: Error, Equatable, Sendable {
    /// The kind of cause.
    public enum Reason: Equatable, Sendable, CustomStringConvertible {
        /// There is no record.
        case noRecord
        /// There is no record, and the cache server that may have one has not supplied it.
        case notSupplied(String)
        /// The record is damaged: truncated, zeroed, or of another key.
        case malformedRecord(String)
        /// The record exists, but a blob that it names does not.
        case missingBlob(Digest)
        /// A blob has another size than its record says.
        case wrongSize(Digest, expected: Int, found: Int)
        /// The bytes of a blob have changed; it is quarantined.
        case wrongBytes(Digest)
        /// The record names a result that does not match its key; it is quarantined.
        case wrongResult(String)
        /// Other users may have written a file of it.
        case distrusted(String)
        /// The cache cannot be used.
        case unusable(Diagnostic)

        public var description: String {
            switch self {
            case .noRecord: "there is no record of it"
            case .notSupplied(let reason): "there is no record of it, and \(reason)"
            case .malformedRecord(let reason): "its record is damaged (\(reason))"
            case .missingBlob(let digest): "its content \(digest) is gone"
            case .wrongSize(let digest, let expected, let found):
                "its content \(digest) has \(found) bytes instead of \(expected)"
            case .wrongBytes(let digest): "its content \(digest) had been changed, and is in quarantine now"
            case .wrongResult(let reason): "its record names another result (\(reason))"
            case .distrusted(let reason): "its file \(reason), and others are not trusted"
            case .unusable(let reason): reason.text
            }
        }

        /// The reason as data.
        public var diagnostic: Diagnostic {
            switch self {
            case .unusable(let reason): reason
            case .distrusted: Diagnostic(description, code: .sharedCache)
            default: Diagnostic(description)
            }
        }

        /// The cache had a result that is damaged.
        var isDamage: Bool {
            switch self {
            case .malformedRecord, .wrongSize, .wrongBytes, .wrongResult: true
            case .noRecord, .notSupplied, .missingBlob, .distrusted, .unusable: false
            }
        }
    }
    /// The cause.
    public var reason: Reason

    /// Creates a miss.
    public init(_ reason: Reason) { self.reason = reason }
}
