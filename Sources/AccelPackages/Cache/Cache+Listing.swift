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

    /// The most differences that the text lists: another plan of a target has other schemes of many weights.
    private static let listed = 12

    /// The explanation as text, one line per difference.
    public var text: String {
        let name = "\(key.kind.rawValue) \(key.digest)"
        guard let miss else { return "\(name): hit\n" }
        var lines = ["\(name): miss, because \(miss.reason)"]
        if let nearest {
            lines.append("the nearest earlier \(key.kind.rawValue) is \(nearest.key.digest) of \(nearest.model):")
            lines += differences.prefix(Self.listed).map { "  \($0)" }
            if differences.count > Self.listed {
                lines.append("  and \(differences.count - Self.listed) more")
            }
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
        let nearest = others.map { ($0, count: $0.key.changedFields(to: key).count) }.min { $0.count < $1.count }?.0
        return CacheExplanation(
            key: key, miss: outcome, nearest: nearest, differences: nearest?.key.differences(from: key) ?? [])
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
    /// Returns the fields that differ from another key, in the order of that key. For a field that is a JSON document in both, these are
    /// the differences within the document.
    public func differences(from now: CacheKey) -> [CacheExplanation.Difference] {
        let names = changedFields(to: now)
        return names.flatMap { name -> [CacheExplanation.Difference] in
            let (old, new) = (value(of: name), now.value(of: name))
            guard let before = Self.document(old, name), let after = Self.document(new, name) else {
                return [.init(field: name, earlier: old ?? "", now: new ?? "")]
            }
            return Self.differences(before, after, at: name)
        }
    }

    /// The names of the fields that differ, in the order of the other key.
    fileprivate func changedFields(to now: CacheKey) -> [String] {
        (now.fields + fields).map(\.name).distinct.filter { value(of: $0) != now.value(of: $0) }
    }

    private func value(of name: String) -> String? { fields.first { $0.name == name }?.value }

    private static func document(_ text: String?, _ name: String) -> JSON? {
        text.flatMap { $0.hasPrefix("{") ? try? JSON.parse(ByteView(Array($0.utf8)), file: name) : nil }
    }

    private static func differences(_ old: JSON?, _ new: JSON?, at location: String) -> [CacheExplanation.Difference] {
        switch (old, new) {
        case _ where old == new: []
        case (.object(let left)?, .object(let right)?):
            (left + right).map(\.key).distinct.flatMap { name in
                differences(
                    left.first { $0.key == name }?.value, right.first { $0.key == name }?.value,
                    at: "\(location).\(name)")
            }
        case (.array(let left)?, .array(let right)?):
            (0..<max(left.count, right.count)).flatMap { index in
                differences(
                    left.dropFirst(index).first, right.dropFirst(index).first, at: "\(location)[\(index)]")
            }
        default: [.init(field: location, earlier: old?.text() ?? "", now: new?.text() ?? "")]
        }
    }
}

extension Result {
    package var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
