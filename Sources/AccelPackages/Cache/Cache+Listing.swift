import AccelByteIO

/// A record of the cache, for listings.
public struct CacheEntry: Equatable, Sendable {
    /// The record.
    public var record: CacheRecord
    /// The time of the last use in nanoseconds since 1970, with a resolution of a second.
    public var lastUse: Int64
    /// The size of all its blobs; blobs that records share count for each of them.
    public var byteCount: Int { record.files.reduce(0) { $0 + $1.byteCount } }
}

extension Cache {
    /// All valid records, the most recently used first.
    public var entries: [CacheEntry] {
        guard readingMiss == nil else { return [] }
        return folder.survey(.records).digests.compactMap { key in
            guard let record = try? folder.record(key), let identity = Files.identity(of: folder.recordPath(key)) else {
                return nil
            }
            return CacheEntry(record: record, lastUse: identity.modifiedNanoseconds)
        }.sorted { ($1.lastUse, $0.record.key.digest) < ($0.lastUse, $1.record.key.digest) }
    }

    /// Returns the record whose key starts with these hexadecimal digits; nil if there is none, or more than one.
    public func entry(_ prefix: String) -> CacheEntry? {
        let found = entries.filter { $0.record.key.digest.description.hasPrefix(prefix) }
        return found.count == 1 ? found[0] : nil
    }
}

/// The reasons that a conversion finds its result in the cache, or does not.
public struct CacheExplanation: Sendable {
    /// A field of the key that differs; a side that lacks it is empty.
    public struct Difference: Equatable, Sendable, CustomStringConvertible {
        /// The name of the field.
        public var field: String
        /// Its value in the nearest record.
        public var earlier: String
        /// Its value in the key in question.
        public var now: String

        public var description: String {
            switch (earlier, now) {
            case ("", let now): "\(field): not there before, \(now) now"
            case (let earlier, ""): "\(field): \(earlier) before, not there now"
            case (let earlier, let now): "\(field): \(earlier) before, \(now) now"
            }
        }
    }
    /// The key in question.
    public let key: CacheKey
    /// The cause of the miss; nil for a hit.
    public let miss: CacheMiss?
    /// The record of the same kind with the most similar key; nil for a hit, or if there is none.
    public let nearest: CacheRecord?
    /// The differences from the nearest record's key, in the order of its fields.
    public let differences: [Difference]

    /// The explanation as text, one line per difference.
    public var text: String {
        let name = "\(key.kind.rawValue) \(key.digest)"
        guard let miss else { return "\(name): hit\n" }
        var lines = ["\(name): miss, because \(miss.reason)"]
        if let nearest {
            lines.append("the nearest earlier \(key.kind.rawValue) is \(nearest.key.digest) of \(nearest.model):")
            lines += differences.map { "  \($0)" }
        } else if miss.reason == .noRecord {
            lines.append("there is no earlier \(key.kind.rawValue) to compare it with")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Cache {
    /// Returns why `key` hits or misses, with the fields that differ from the nearest key.
    public func explain(_ key: CacheKey) -> CacheExplanation {
        let outcome: CacheMiss? =
            switch key.kind {
            case .package: package(for: key).failure
            case .tensor, .export, .statistics, .compressionPlan, .packedWeights: contentMiss(for: key)
            }
        guard let outcome else { return CacheExplanation(key: key, miss: nil, nearest: nil, differences: []) }
        let others = entries.map(\.record).filter { $0.key.kind == key.kind && $0.key != key }
        // Among equally similar records, the first is the most recent one.
        let nearest = others.map { ($0, $0.key.differences(from: key)) }.min { $0.1.count < $1.1.count }
        return CacheExplanation(
            key: key, miss: outcome, nearest: nearest?.0, differences: nearest?.1 ?? [])
    }

    private func contentMiss(for key: CacheKey) -> CacheMiss? {
        do throws(CacheMiss) {
            if let miss = readingMiss { throw miss }
            for file in try folder.record(key.digest).files { _ = try folder.verifiedBlob(file) }
            return nil
        } catch {
            return error
        }
    }
}

extension CacheKey {
    /// Returns the fields that differ from another key, in the order of that key. For a field that is a JSON document
    /// in both, the first difference within the document is returned.
    public func differences(from now: CacheKey) -> [CacheExplanation.Difference] {
        let old = Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
        let new = Dictionary(now.fields.map { ($0.name, $0.value) }) { first, _ in first }
        let gone = fields.map(\.name).filter { new[$0] == nil }
        return (now.fields.map(\.name) + gone).filter { old[$0] != new[$0] }.map { name in
            func document(_ text: String?) -> JSON? {
                text.flatMap { $0.hasPrefix("{") ? try? JSON.parse(ByteView(Array($0.utf8)), file: name) : nil }
            }
            if let old = document(old[name]), let new = document(new[name]),
                let location = Self.firstDifference(old, new, at: name)
            {
                return location
            }
            return CacheExplanation.Difference(field: name, earlier: old[name] ?? "", now: new[name] ?? "")
        }
    }

    private static func firstDifference(_ old: JSON, _ new: JSON, at location: String) -> CacheExplanation.Difference? {
        if old == new { return nil }
        switch (old, new) {
        case (.object(let left), .object(let right)):
            for name in left.map(\.key) + right.map(\.key) {
                let (a, b) = (left.first { $0.key == name }?.value, right.first { $0.key == name }?.value)
                if a == b { continue }
                guard let a, let b else {
                    return .init(field: "\(location).\(name)", earlier: a?.text() ?? "", now: b?.text() ?? "")
                }
                return firstDifference(a, b, at: "\(location).\(name)")
            }
        case (.array(let left), .array(let right)):
            for index in 0..<max(left.count, right.count) {
                let (a, b) = (left.dropFirst(index).first, right.dropFirst(index).first)
                if a == b { continue }
                guard let a, let b else {
                    return .init(field: "\(location)[\(index)]", earlier: a?.text() ?? "", now: b?.text() ?? "")
                }
                return firstDifference(a, b, at: "\(location)[\(index)]")
            }
        default: break
        }
        return .init(field: location, earlier: old.text(), now: new.text())
    }
}

extension Result {
    package var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
