import AccelByteIO

/// The grammar of names in a cache: names are made and recognised only here. Other names are foreign, and never removed
/// or moved.
enum CacheNames {
    /// Returns 128 random bits. (Earlier versions omitted leading zeros of each half.)
    static func random() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    static func isRandom(_ name: some StringProtocol) -> Bool { Digest.isHexadecimal(name, 24...32) }

    /// Returns the subfolder for a digest's name.
    static func shard(of digest: Digest) -> String { String(digest.description.prefix(2)) }
    static func isShard(_ name: String) -> Bool { Digest.isHexadecimal(name, 2...2) }

    /// Returns whether a name is the temporary sibling of a name (`TemporaryPaths`), or one of earlier versions for
    /// incomplete files (".<random>.partial").
    /// - Parameter isStart: tests the first 40 characters of the final name.
    static func isPartial(_ name: String, of isStart: (Substring) -> Bool) -> Bool {
        if let start = TemporaryPaths.start(ofSibling: name) { return isStart(start) }
        return name.hasPrefix(".") && name.hasSuffix(".partial")
            && isRandom(name.dropFirst().dropLast(".partial".count))
    }

    /// Returns whether a name is one that `FileLock.areEffective` creates.
    static func isLockTrial(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(".lock")
            && Digest.isHexadecimal(name.dropFirst().dropLast(".lock".count), 1...16)
    }

    /// Returns a name for a quarantined file; a file of the same name with `.json` appended holds the reason.
    static func quarantined(_ digest: Digest) -> String { "\(random().prefix(16))-\(digest)" }

    static func isQuarantined(_ name: String) -> Bool {
        let parts = (name.hasSuffix(".json") ? name.dropLast(".json".count) : name[...]).split(
            separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && Digest.isHexadecimal(parts[0], 1...16)
            && Digest(hexadecimal: String(parts[1])) != nil
    }

    static func isStartOfQuarantined(_ start: Substring) -> Bool {
        let parts = start.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && Digest.isHexadecimal(parts[0], 1...16) && Digest.isHexadecimal(parts[1], 1...64)
    }

    /// Returns whether a text is the start of a digest, for `isPartial`.
    static func isStartOfDigest(_ start: Substring) -> Bool { Digest.isHexadecimal(start, 40...40) }

    /// Returns whether a name is a boot identifier (`Files.bootIdentifier`).
    static func isBoot(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) && $0.utf8.count == $0.count }
    }

    /// Returns whether a name is that of work in progress, of a file beside it, or of something that is about to be
    /// removed.
    static func isWork(_ name: String) -> Bool {
        let plan = ".plan"
        return isRandom(name) || name.hasSuffix(plan) && isRandom(name.dropLast(plan.count))
            || isPartial(name) {
                isRandom($0) || $0.hasSuffix(plan) && isRandom($0.dropLast(plan.count)) || isSpill($0)
            }
    }

    /// Returns whether a name is one that `TensorSpill` creates, or one of earlier versions (".accelc-<random>.tensor").
    private static func isSpill(_ start: Substring) -> Bool {
        if start == TemporaryPaths.unnamed { return true }
        guard start.hasPrefix(".accelc-") else { return false }
        let rest = start.dropFirst(".accelc-".count)
        return Digest.isHexadecimal(rest.prefix { $0 != "." }, 1...32) && ".tensor".hasPrefix(rest.drop { $0 != "." })
    }
}
