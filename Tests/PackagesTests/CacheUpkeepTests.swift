import AccelByteIO
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("The cache explains, cleans up, and checks itself")
struct CacheUpkeepTests {
    /// A cache with a tensor for each seed, stored a minute apart, oldest first.
    private func withCache(_ seeds: [UInt64], _ body: (Cache, [CacheKey]) throws -> Void) throws {
        try withCache(of: seeds.map { TinyModel(seed: $0) }, body)
    }

    private func withCache(of models: [TinyModel], _ body: (Cache, [CacheKey]) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let start = Int64(Date().timeIntervalSince1970)
            func cache() -> Cache { Cache(root: "\(folder)/cache", clock: { (start + 7200) * 1_000_000_000 }) }
            let codec = try Codecs.codec("float32")
            let keys = try store(models, in: cache(), codec, start)
            // Another value: the one that stored them leases them.
            try body(cache(), keys)
        }
    }

    private func store(
        _ models: [TinyModel], in cache: Cache, _ codec: any WeightCodec, _ start: Int64
    ) throws -> [CacheKey] {
        try models.enumerated().map { index, model in
            let source = model.tensors[0]
            let key = CacheKey(
                tensor: TreeDigest.digest(of: source.bytes), elementType: .float32, shape: source.shape,
                codec: codec)
            let made = try CompressedTensor.compressing(source, with: codec, threads: 1)
            _ = try #require(cache.store(made.tensor, made.distortion, for: key, model: "tiny \(model.seed)"))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(start) + Double(index) * 60)],
                ofItemAtPath: cache.folder.recordPath(key.digest))
            return key
        }
    }

    @Test("lists records, the most recently used first, and finds one by the start of its key")
    func listing() throws {
        try withCache([1, 2, 3]) { cache, keys in
            #expect(cache.entries.map(\.record.key) == keys.reversed())
            #expect(cache.entries.map(\.record.model) == ["tiny 3", "tiny 2", "tiny 1"])
            #expect(cache.entries.map(\.byteCount) == [6144, 6144, 6144])
            #expect(cache.entry(String(keys[1].digest.description.prefix(12)))?.record.key == keys[1])
            #expect(cache.entry("") == nil)
        }
    }

    @Test("clean-up removes the least recently used until the rest fits")
    func collecting() throws {
        try withCache([1, 2, 3]) { cache, keys in
            let report = try cache.collect(maximumBytes: 2 * 6144)
            #expect(
                report
                    == .init(removedRecords: 1, removedBlobs: 1, freedBytes: 6144, keptRecords: 2, keptBytes: 2 * 6144))
            #expect(cache.entries.map(\.record.key) == [keys[2], keys[1]])
            #expect(try cache.check() == [])
            #expect(try cache.collect(maximumBytes: 2 * 6144).removedRecords == 0)
        }
    }

    @Test(
        "clean-up leaves young blobs, whose record may be about to be written, with their records, and removes old remains"
    )
    func grace() throws {
        try withCache([1]) { cache, keys in
            let young = Cache(root: cache.root)
            let report = try young.collect(maximumBytes: 0)
            #expect(report == .init(keptRecords: 1, keptBytes: 6144, youngRecords: 1, youngRecordBytes: 6144))
            // The result is found as before.
            #expect(young.entries.map(\.record.key) == keys)
            let path = cache.folder.recordPath(keys[0].digest)
            let record = try MappedFile(path).bytes.array
            try FileManager.default.removeItem(atPath: path)
            #expect(try young.collect(maximumBytes: 0) == .init(youngBlobs: 1, youngBytes: 6144))
            try write(record, to: path)
            let blobs = cache.folder.path(.blobs)
            try write(
                [1, 2, 3],
                to: "\(blobs)/\(try Files.list(blobs)[0])/.\(CacheNames.random()).partial")
            #expect(
                try cache.collect(maximumBytes: 0) == .init(removedRecords: 1, removedBlobs: 2, freedBytes: 6147))
            #expect(try files(in: blobs).isEmpty)
        }
    }

    @Test("what young records share with those in use is not theirs: what they take is what the age 0 frees")
    func shared() throws {
        try withCache([1, 2]) { cache, keys in
            var again = try cache.folder.record(keys[0].digest)
            again.key = CacheKey(kind: .tensor, fields: [.init("content", "again")])
            try cache.folder.putRecord(again)
            try CacheLease.leave(keys[0].digest, in: cache.folder)
            let now = Cache(root: cache.root)
            #expect(
                try now.collect(maximumBytes: 0)
                    == .init(
                        keptRecords: 3, keptBytes: 2 * 6144, leasedRecords: 1, youngRecords: 2, youngRecordBytes: 6144))
            let report = try now.collect(maximumBytes: 0, graceSeconds: 0)
            #expect(report.removedRecords == 2 && report.freedBytes == 6144 && report.keptBytes == 6144)
        }
    }

    @Test("once a record does not fit, no older one is kept, however small: only age counts")
    func onlyAge() throws {
        try withCache(of: [TinyModel(seed: 1), TinyModel(width: 64, seed: 2), TinyModel(seed: 3)]) { cache, keys in
            let report = try cache.collect(maximumBytes: 2 * 6144)
            #expect(cache.entries.map(\.record.key) == [keys[2]])
            #expect(report.removedRecords == 2 && report.keptBytes == 6144)
        }
    }

    @Test("using a record keeps it")
    func use() throws {
        try withCache([1, 2]) { cache, keys in
            let source = TinyModel(seed: 1).tensors[0]
            _ = try cache.tensor(for: keys[0], source: source, codec: Codecs.codec("float32")).get()
            // The use is noted by the real clock, before the minute that the other record was dated to.
            #expect(cache.entries.first?.record.key == keys[1] || cache.entries.first?.record.key == keys[0])
            let stale = Date(timeIntervalSince1970: 1000)
            try FileManager.default.setAttributes(
                [.modificationDate: stale], ofItemAtPath: cache.folder.recordPath(keys[1].digest))
            #expect(cache.entries.first?.record.key == keys[0])
            _ = try cache.collect(maximumBytes: 6144)
            #expect(cache.entries.map(\.record.key) == [keys[0]])
        }
    }

    @Test("the check finds a changed blob and a record without its blob, and repairs both into quarantine")
    func checking() throws {
        try withCache([1, 2, 3]) { cache, keys in
            #expect(try cache.check() == [])
            let blobs = try keys.map { cache.folder.blobPath(try cache.folder.record($0.digest).files[0].digest) }
            var bytes = try MappedFile(blobs[0]).bytes.array
            bytes[17] ^= 1
            try FileManager.default.removeItem(atPath: blobs[0])
            try write(bytes, to: blobs[0])
            try FileManager.default.removeItem(atPath: blobs[1])
            let found = try cache.check()
            #expect(Set(found.map(\.path)) == [blobs[0], cache.folder.recordPath(keys[1].digest)])
            #expect(try cache.check() == found)
            #expect(try cache.check(repairing: true) == found)
            #expect(try cache.check() == [])
            #expect(cache.entries.map(\.record.key) == [keys[2]])
        }
    }

    @Test("a package in place that shares a damaged file is found, and goes with the repair")
    func placed() throws {
        try withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache")
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            try PackageWriter.write(contents, to: "\(folder)/a") {
                cache.store(packageAt: $0, for: key, model: "tiny")
            }
            let path = try cache.openLasting(key.digest).get().path
            #expect(try cache.check() == [])
            let record = try cache.folder.record(key.digest)
            let file = try #require(record.files.first { $0.path.hasPrefix("weights") })
            // The same change in both, as where they are one file with two names.
            for place in ["\(path)/\(file.path)", cache.folder.blobPath(file.digest)] {
                var bytes = try MappedFile(place).bytes.array
                bytes[0] ^= 1
                try FileManager.default.removeItem(atPath: place)
                try write(bytes, to: place)
            }
            let found = try cache.check()
            #expect(found.map(\.path).contains(path))
            let reason = found.first { $0.path == path }?.reason ?? ""
            #expect(reason.contains("is not the one that the record names"), "\(reason)")
            let repaired = try cache.check(repairing: true).first { $0.path == path }?.reason ?? ""
            #expect(repaired.contains(": the folder was removed"), "\(repaired)")
            #expect(Files.kind(of: path) == nil)
            #expect(try cache.check() == [])
        }
    }

    @Test("clear removes everything, and the cache works again afterwards")
    func clearing() throws {
        try withCache([1, 2]) { cache, keys in
            try cache.clear()
            #expect(cache.entries.isEmpty)
            #expect(try Files.list(cache.root) == ["CACHEDIR.TAG", "README"])
            try cache.clear()
        }
    }

    @Test("explains a hit, a miss by its damage, and a miss by the fields that differ from the nearest earlier key")
    func explaining() throws {
        try withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache")
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            let none = cache.explain(key)
            #expect(none.text.hasSuffix("there is no earlier package to compare it with\n"))
            try PackageWriter.write(contents, to: "\(folder)/a") {
                cache.store(packageAt: $0, for: key, model: "tiny")
            }
            #expect(cache.explain(key).text.hasSuffix(": hit\n"))
            let other = try TinyModel(compress: "bfloat16", shapes: ["sequence=8"]).contents()
            let near = cache.explain(CacheKey(of: other))
            #expect(near.differences.map(\.field) == ["shapes", "recipe.default"])
            let (earlier, now) = ("model[sequence=4]", "model[sequence=8]")
            #expect(near.differences[0] == .init(field: "shapes", earlier: earlier, now: now))
            #expect(near.text.contains("  shapes: \(earlier) before, \(now) now\n"))
            var changed = contents
            changed.provenance.sources[0].digest = SHA256.digest(of: "other")
            let source = cache.explain(CacheKey(of: changed))
            #expect(source.differences.map(\.field) == ["source \(contents.provenance.sources[0].name)"])
            let record = try cache.package(for: key).get()
            try FileManager.default.removeItem(atPath: cache.folder.blobPath(record.files[0].digest))
            #expect(cache.explain(key).miss == CacheMiss(.missingBlob(record.files[0].digest)))
        }
    }
}
