import AccelByteIO
import AccelPlatform

/// That a large file was read, and had a digest. It counts while device, inode, size and the times of modification and of change are
/// the same, and for a day (`SettledFile`).
struct VerificationNote: Equatable {
    var digest: Digest
    var identity: FileIdentity
    /// When the bytes were read, in seconds since the start of 1970; a note that is kept through a change of names keeps this.
    var verified: Int64

    /// Whether it is young enough.
    var counts: Bool {
        verified >= 0 && verified < Int64.max / 1_000_000_000
            && SettledFile.counts(verified * 1_000_000_000, now: WallClock.nanoseconds)
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

    /// nil for anything that `text` does not make.
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
