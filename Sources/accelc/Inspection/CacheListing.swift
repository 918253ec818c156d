import AccelByteIO
import AccelPackages

/// The lines of `cache list`.
enum CacheListing {
    /// The kinds of which a model has a result for each weight.
    private static let perWeight: [CacheKey.Kind] = [.tensor, .statistics]

    /// Returns the results in groups that share a line. A group stands where its most recently used result was.
    static func folded(_ entries: [CacheEntry]) -> [[CacheEntry]] {
        var groups: [[CacheEntry]] = []
        var indices: [[String]: Int] = [:]
        for entry in entries {
            let name = [entry.record.key.kind.rawValue, entry.record.model]
            if perWeight.contains(entry.record.key.kind), let index = indices[name] {
                groups[index].append(entry)
            } else {
                indices[name] = groups.count
                groups.append([entry])
            }
        }
        return groups
    }

    /// The cells of a group's line. A group of several results has no key of its own.
    static func row(_ group: [CacheEntry]) -> [String]? {
        guard let first = group.first else { return nil }
        let key = first.record.key
        return [
            group.count == 1 ? String(key.digest.description.prefix(12)) : "...",
            group.count == 1 ? key.kind.rawValue : count(group.count, key.kind), Wording.bytes(bytes(group)),
            WallClock.text(first.lastUse), first.record.model,
        ]
    }

    /// The number of results of each kind, and the bytes of their files. Where lines share files, the total is less
    /// than their sum, and says so.
    static func total(_ groups: [[CacheEntry]]) -> String {
        let entries = groups.flatMap { $0 }
        let kinds = CacheKey.Kind.allCases.compactMap { kind in
            let number = entries.count { $0.record.key.kind == kind }
            return number == 0 ? nil : count(number, kind)
        }
        let (sum, shared) = (groups.reduce(0) { $0 + bytes($1) }, sharedBytes(groups))
        let remark =
            shared == 0
            ? ""
            : " (\(Wording.bytes(shared)) of it shared, and counted once; the lines add up to \(Wording.bytes(sum)))"
        return "total: \(kinds.joined(separator: ", ")), \(Wording.bytes(bytes(entries)))\(remark)"
    }

    /// The bytes of the files that several groups have.
    private static func sharedBytes(_ groups: [[CacheEntry]]) -> Int {
        var uses: [Digest: Int] = [:]
        for group in groups {
            for digest in Set(group.flatMap(\.record.files).map(\.digest)) { uses[digest, default: 0] += 1 }
        }
        return bytes(groups.flatMap { $0 }) { uses[$0, default: 0] > 1 }
    }

    private static func count(_ number: Int, _ kind: CacheKey.Kind) -> String {
        let noun = kind.rawValue
        return Wording.count(number, noun, noun.hasSuffix("s") ? noun : noun + "s")
    }

    /// A file that several results share counts once.
    private static func bytes(_ entries: [CacheEntry], where isCounted: (Digest) -> Bool = { _ in true }) -> Int {
        let files = entries.flatMap(\.record.files).filter { isCounted($0.digest) }.map { ($0.digest, $0.byteCount) }
        return Dictionary(files) { first, _ in first }.values.reduce(0, +)
    }
}
