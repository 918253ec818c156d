import AccelByteIO

/// The grammar of the names in a cache: each is made here, and recognised here. What is not recognised is somebody else's, and is
/// never removed or moved.
enum CacheNames {
    /// 128 random bits. (Earlier versions left zeros at the start of each half out.)
    static func random() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    static func isRandom(_ name: some StringProtocol) -> Bool { isHex(name, 24...32) }

    /// The folder of a digest's name.
    static func shard(of digest: Digest) -> String { String(digest.description.prefix(2)) }
    static func isShard(_ name: String) -> Bool { isHex(name, 2...2) }

    /// A file that is being made, in the folder that it is for.
    static func partial() -> String { ".\(random()).partial" }

    /// Whether a name is `partial()`, or that of the temporary sibling of a name (`TemporaryPaths`).
    /// - Parameter isStart: of the first 40 characters of the name that it is to get.
    static func isPartial(_ name: String, of isStart: (Substring) -> Bool) -> Bool {
        guard name.hasPrefix("."), name.hasSuffix(".partial") else { return false }
        let inner = name.dropFirst().dropLast(".partial".count)
        if isRandom(inner) { return true }
        guard let dot = inner.lastIndex(of: "."), isHex(inner[inner.index(after: dot)...], 1...16) else { return false }
        let start = inner[..<dot]
        return start.count <= 40 && isStart(start)
    }

    /// What `FileLock.areEffective` makes.
    static func isLockTrial(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(".lock") && isHex(name.dropFirst().dropLast(".lock".count), 1...16)
    }

    /// Something that was found damaged; beside it lies a file of the same name with `.json` at its end.
    static func quarantined(_ digest: Digest) -> String { "\(random().prefix(16))-\(digest)" }

    static func isQuarantined(_ name: String) -> Bool {
        let parts = (name.hasSuffix(".json") ? name.dropLast(".json".count) : name[...]).split(
            separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && isHex(parts[0], 1...16) && Digest(hexadecimal: String(parts[1])) != nil
    }

    static func isStartOfQuarantined(_ start: Substring) -> Bool {
        let parts = start.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && isHex(parts[0], 1...16) && isHex(parts[1], 1...64)
    }

    /// What `isPartial` asks of a file that is to be called by a digest.
    static func isStartOfDigest(_ start: Substring) -> Bool { isHex(start, 40...40) }

    /// A run of the system: `Files.bootIdentifier`.
    static func isBoot(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) && $0.utf8.count == $0.count }
    }

    /// A place for something that is being made, what is written beside it, or what is about to be removed.
    static func isWork(_ name: String) -> Bool {
        let plan = ".plan"
        return isRandom(name) || name.hasSuffix(plan) && isRandom(name.dropLast(plan.count))
            || isPartial(name) {
                isRandom($0) || $0.hasSuffix(plan) && isRandom($0.dropLast(plan.count)) || isSpill($0)
            }
    }

    /// What `TensorSpill` makes.
    private static func isSpill(_ start: Substring) -> Bool {
        guard start.hasPrefix(".accelc-") else { return false }
        let rest = start.dropFirst(".accelc-".count)
        return isHex(rest.prefix { $0 != "." }, 1...32) && ".tensor".hasPrefix(rest.drop { $0 != "." })
    }

    private static func isHex(_ name: some StringProtocol, _ count: ClosedRange<Int>) -> Bool {
        count.contains(name.utf8.count)
            && name.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
