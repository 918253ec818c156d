public import AccelByteIO

/// A file that a reader has to judge: hostile, broken, or odd but allowed. Tests check the verdict; fuzzers start from
/// the bytes.
public struct Attack: Sendable, CustomStringConvertible {
    public enum Verdict: Sendable {
        case accepted
        /// Where the error has to point, and words that its reason has to have.
        case rejected(FormatError.Location?, String)
    }

    public let name: String
    public let bytes: [UInt8]
    public let verdict: Verdict

    public init(_ name: String, _ bytes: [UInt8], _ verdict: Verdict) {
        self.name = name
        self.bytes = bytes
        self.verdict = verdict
    }

    public var description: String { name }

    /// Runs `reader` on the bytes; returns how its outcome differs from the verdict, nil when it does not.
    public func flaw(_ reader: (ByteView, _ file: String) throws -> Void) -> String? {
        do {
            try reader(ByteView(bytes), "attack.bin")
            if case .accepted = verdict { return nil }
            return "accepted"
        } catch let error as FormatError {
            guard case .rejected(let place, let words) = verdict else { return "rejected: \(error)" }
            guard error.file == "attack.bin", error.location == place, error.reason.contains(words) else {
                return "rejected otherwise: \(error) (\(String(describing: error.location)))"
            }
            return nil
        } catch {
            return "another error: \(error)"
        }
    }
}
