public import AccelByteIO

/// Why a result has to be computed.
public struct CacheMiss: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable, CustomStringConvertible {
        /// Nobody has stored it.
        case noRecord
        /// The record is not what was written: cut off, zeroed, of another key.
        case malformedRecord(String)
        /// The record is there, but something that it names is gone.
        case missingBlob(Digest)
        case wrongSize(Digest, expected: Int, found: Int)
        /// The bytes have changed; they are in quarantine now.
        case wrongBytes(Digest)
        /// The record names a result that its key does not ask for; it is in quarantine now.
        case wrongResult(String)
        /// Others may have written a file of it; why.
        case distrusted(String)
        /// The cache cannot be used.
        case unusable(String)

        public var description: String {
            switch self {
            case .noRecord: "there is no record of it"
            case .malformedRecord(let reason): "its record is damaged (\(reason))"
            case .missingBlob(let digest): "its content \(digest) is gone"
            case .wrongSize(let digest, let expected, let found):
                "its content \(digest) has \(found) bytes instead of \(expected)"
            case .wrongBytes(let digest): "its content \(digest) had been changed, and is in quarantine now"
            case .wrongResult(let reason): "its record names another result (\(reason))"
            case .distrusted(let reason): "its file \(reason), and others are not trusted (--trust-shared-cache)"
            case .unusable(let reason): reason
            }
        }
    }
    public var reason: Reason

    public init(_ reason: Reason) { self.reason = reason }
}
