import ByteIO

/// A record of the cache, for people.
public struct CacheEntry: Equatable, Sendable {
    public var record: CacheRecord
    /// Nanoseconds since 1970, to the hour.
    public var lastUse: Int64
    /// Of all its blobs; equal blobs count once for each record.
    public var byteCount: Int { record.files.reduce(0) { $0 + $1.byteCount } }
}

extension Cache {
    /// The sound records, the most recently used first.
    public var entries: [CacheEntry] {
        guard readingObjection == nil else { return [] }
        return folder.entries(in: folder.recordsPath).digests.compactMap { key in
            guard let record = try? folder.record(key), let identity = Files.identity(of: folder.recordPath(key)) else {
                return nil
            }
            return CacheEntry(record: record, lastUse: identity.modifiedNanoseconds)
        }.sorted { ($1.lastUse, $0.record.key.digest) < ($0.lastUse, $1.record.key.digest) }
    }

    /// The one record whose key starts with these hexadecimal digits; nil when there is none, or more than one.
    public func entry(_ prefix: String) -> CacheEntry? {
        let found = entries.filter { $0.record.key.digest.description.hasPrefix(prefix) }
        return found.count == 1 ? found[0] : nil
    }
}

/// Why a conversion finds its result in the cache, or does not.
public struct CacheExplanation: Sendable {
    /// A field of the key that differs; empty where a side does not have it.
    public struct Difference: Equatable, Sendable {
        public var field: String
        public var earlier: String
        public var now: String
    }
    public let key: CacheKey
    /// nil: it is a hit.
    public let miss: CacheMiss?
    /// The record whose key is most like this one; nil for a hit, or when there is none of its kind.
    public let nearest: CacheRecord?
    /// What tells the key from the nearest one's, the first field first.
    public let differences: [Difference]

    public var text: String {
        let name = "\(key.kind.rawValue) \(key.digest)"
        guard let miss else { return "\(name): hit\n" }
        var lines = ["\(name): miss, because \(miss.reason)"]
        if let nearest {
            lines.append("the nearest earlier \(key.kind.rawValue) is \(nearest.key.digest) of \(nearest.model):")
            lines += differences.map { difference in
                switch (difference.earlier, difference.now) {
                case ("", let now): "  \(difference.field): not there before, \(now) now"
                case (let earlier, ""): "  \(difference.field): \(earlier) before, not there now"
                case (let earlier, let now): "  \(difference.field): \(earlier) before, \(now) now"
                }
            }
        } else if miss.reason == .noRecord {
            lines.append("there is no earlier \(key.kind.rawValue) to compare it with")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Cache {
    /// Why `key` hits or misses, down to the fields in which it differs from the nearest earlier key.
    public func explain(_ key: CacheKey) -> CacheExplanation {
        let outcome: CacheMiss? =
            switch key.kind {
            case .package: package(for: key).failure
            case .tensor: tensorMiss(for: key)
            }
        guard let outcome else { return CacheExplanation(key: key, miss: nil, nearest: nil, differences: []) }
        let others = entries.map(\.record).filter { $0.key.kind == key.kind && $0.key != key }
        // The first of the least different ones is the most recent.
        let nearest = others.map { ($0, Self.differences($0.key, key)) }.min { $0.1.count < $1.1.count }
        return CacheExplanation(
            key: key, miss: outcome, nearest: nearest?.0, differences: nearest?.1 ?? [])
    }

    private func tensorMiss(for key: CacheKey) -> CacheMiss? {
        do throws(CacheMiss) {
            if let objection = readingObjection { throw objection }
            for file in try folder.record(key.digest).files { _ = try folder.verifiedBlob(file) }
            return nil
        } catch {
            return error
        }
    }

    private static func differences(_ earlier: CacheKey, _ now: CacheKey) -> [CacheExplanation.Difference] {
        let old = Dictionary(earlier.fields.map { ($0.name, $0.value) }) { first, _ in first }
        let new = Dictionary(now.fields.map { ($0.name, $0.value) }) { first, _ in first }
        let gone = earlier.fields.map(\.name).filter { new[$0] == nil }
        return (now.fields.map(\.name) + gone).filter { old[$0] != new[$0] }.map {
            CacheExplanation.Difference(field: $0, earlier: old[$0] ?? "", now: new[$0] ?? "")
        }
    }
}

extension Result {
    var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
