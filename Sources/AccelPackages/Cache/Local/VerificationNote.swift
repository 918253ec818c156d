import AccelByteIO
import AccelPlatform

/// A note that a large file was verified to have a digest. It is valid while device, inode, size, and times of
/// modification and status change are the same, and for a day (`SyncedFile`).
struct VerificationNote: Equatable {
    var digest: Digest
    var identity: FileIdentity
    /// The time when the bytes were read, in seconds since 1970. It is kept when the note is renewed after a change of
    /// names.
    var verified: Int64

    /// The note is young enough.
    var counts: Bool {
        verified >= 0 && verified < Int64.max / 1_000_000_000
            && SyncedFile.counts(verified * 1_000_000_000, now: WallClock.nanoseconds)
    }

    init(digest: Digest, identity: FileIdentity, verified: Int64 = WallClock.nanoseconds / 1_000_000_000) {
        (self.digest, self.identity, self.verified) = (digest, identity, verified)
    }

    var text: String {
        let numbers = [
            Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
            identity.modifiedNanoseconds, identity.changedNanoseconds, verified,
        ]
        return "\(digest) \(numbers.map(String.init).joined(separator: " "))"
    }

    /// Returns nil for bytes that are not from `text`.
    init?(_ bytes: ByteView) {
        guard bytes.count < 1024 else { return nil }
        let words = bytes.withBytes { String(decoding: $0, as: UTF8.self) }.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int64($0) }
        guard words.count == 7, numbers.count == 6, let digest = Digest(hexadecimal: String(words[0])) else {
            return nil
        }
        self.init(
            digest: digest,
            identity: FileIdentity(
                device: UInt64(bitPattern: numbers[0]), inode: UInt64(bitPattern: numbers[1]), size: numbers[2],
                modifiedNanoseconds: numbers[3], changedNanoseconds: numbers[4]),
            verified: numbers[5])
    }
}
