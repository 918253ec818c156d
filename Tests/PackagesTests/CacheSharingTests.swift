import AccelByteIO
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("Many processes share one cache")
struct CacheSharingTests {
    private static let key = CacheKey(kind: .tensor, fields: [.init("content", "c")])

    private func withRoot(_ body: (String) throws -> Void) throws {
        try withTemporaryFolder { try body("\($0)/cache") }
    }

    @Test("whoever makes a result has the only claim to it; others wait, and know that they have waited")
    func claims() throws {
        try withRoot { root in
            let holders = Locked(0)
            let most = Locked(0)
            let waited = Locked(0)
            try Parallel.forEach(16, threads: 8) { _ in
                let claim = Cache(root: root).claim(Self.key)
                let count = holders.withLock { holders in
                    holders += 1
                    return holders
                }
                most.withLock { $0 = max($0, count) }
                if claim.hasWaited { waited.withLock { $0 += 1 } }
                Thread.sleep(forTimeInterval: 0.002)
                holders.withLock { $0 -= 1 }
                #expect(withExtendedLifetime(claim) { claim.isShared })
            }
            #expect(most.withLock { $0 } == 1)
            #expect(waited.withLock { $0 } > 0)
            #expect(!FileManager.default.fileExists(atPath: CacheFolder(root: root).lockPath(Self.key.digest)))
        }
    }

    @Test(
        "nobody waits longer than the deadline, nor for a holder without a sign of life, nor where nothing can be locked"
    )
    func patience() throws {
        try withRoot { root in
            let claim = Cache(root: root).claim(Self.key)
            let hurried = Cache(root: root, patience: .init(total: .milliseconds(30), silence: .seconds(60)))
            let second = hurried.claim(Self.key)
            #expect(!second.isShared && second.hasWaited)
            let later = Int64(Date().timeIntervalSince1970 + 120) * 1_000_000_000
            let start = ContinuousClock.now
            #expect(!Cache(root: root, clock: { later }).claim(Self.key).isShared)
            #expect(start.duration(to: .now) < .seconds(20))
            #expect(withExtendedLifetime(claim) { claim.isShared })
            try write([0], to: "\(root).file")
            #expect(!Cache(root: "\(root).file/cache").claim(Self.key).isShared)
        }
    }

    @Test("a tensor that another conversion is making is waited for, unless one holds a claim oneself")
    func sharedTensors() throws {
        try withRoot { root in
            let codec = try Codecs.codec("float16")
            let sources = (1...2).map { TinyModel(width: 512, rows: 512, seed: UInt64($0)).tensors[0] }
            try Files.makeFolder("\(root).model")
            try write(Array("{}".utf8), to: "\(root).model/config.json")
            try SafetensorsWriter.write(TinyModel().tensors, to: "\(root).model/model.safetensors", as: .part)
            let digests = try ModelDigests(Checkpoint(model: "\(root).model"), cache: nil, threads: 1)
            func kept() -> KeptTensors {
                KeptTensors(cache: Cache(root: root), digests: digests, output: "\(root).out", model: "m")
            }
            let (first, second) = (kept(), kept())
            #expect(try first.stored(sources[0], codec) == nil)
            // This one holds a claim, so it does not wait for the first one's.
            #expect(try second.stored(sources[1], codec) == nil)
            #expect(try second.stored(sources[0], codec) == nil)
            let made = try sources.map { try CompressedTensor.compressing($0, with: codec, threads: 1) }
            _ = try second.store(sources[1], made[1].tensor, made[1].distortion)
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) {
                _ = try? first.store(sources[0], made[0].tensor, made[0].distortion)
            }
            let found = try #require(try second.stored(sources[0], codec))
            #expect(found.0.sections == made[0].tensor.sections)
        }
    }

    private func store(_ seed: UInt64, in cache: Cache) throws -> CacheKey {
        let source = TinyModel(seed: seed).tensors[0]
        let codec = try Codecs.codec("float32")
        let key = CacheKey(
            tensor: TreeDigest.digest(of: source.bytes), elementType: .float32, shape: source.shape, codec: codec)
        let made = try CompressedTensor.compressing(source, with: codec, threads: 1)
        _ = try #require(cache.store(made.tensor, made.distortion, for: key, model: "\(seed)"))
        return key
    }

    @Test("clean-up leaves what somebody leases, with its contents, and takes it once the lease is gone")
    func leases() throws {
        try withRoot { root in
            let later: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 + 1200) * 1_000_000_000 }
            let cleaner = Cache(root: root, clock: later)
            let keys = try (1...3).map { try store($0, in: Cache(root: root)) }
            var user: Cache? = Cache(root: root)
            user?.lease(keys[1].digest)
            #expect(try cleaner.collect(maximumBytes: 0).removedRecords == 2)
            #expect(cleaner.entries.map(\.record.key) == [keys[1]])
            #expect(try cleaner.check() == [])
            user = nil
            #expect(try Files.list(cleaner.folder.leasesPath).isEmpty)
            #expect(try cleaner.collect(maximumBytes: 0).removedBlobs == 1)
            #expect(cleaner.entries.isEmpty)
        }
    }

    @Test("a lease of a process that was killed does not count; one of another host does, for an hour")
    func deadLeases() throws {
        try withRoot { root in
            let folder = CacheFolder(root: root)
            let key = try store(1, in: Cache(root: root))
            let path = "\(folder.leasesPath)/\(CacheNames.random())"
            func collect(afterSeconds seconds: Int64 = 0) throws -> Int {
                let now = Int64(Date().timeIntervalSince1970) + seconds
                return try Cache(root: root, clock: { now * 1_000_000_000 })
                    .collect(maximumBytes: 0, graceSeconds: -5).removedRecords
            }
            try write(Array("elsewhere\n\(key.digest)\n".utf8), to: path)
            #expect(try collect() == 0)
            #expect(try collect(afterSeconds: 3500) == 0)
            #expect(try collect(afterSeconds: 3700) == 1)
            #expect(Files.kind(of: path) == nil)
            _ = try store(1, in: Cache(root: root))
            try write(Array("\(Files.bootIdentifier ?? "")\n\(key.digest)\n".utf8), to: path)
            #expect(try collect() == 1)
            #expect(Files.kind(of: path) == nil)
        }
    }

    @Test("a disk that has too little free space makes a clean-up remove more")
    func freeSpace() throws {
        try withRoot { root in
            for seed in 1...2 { _ = try store(UInt64(seed), in: Cache(root: root)) }
            let cache = Cache(root: root)
            #expect(try cache.collect(maximumBytes: .max, freeBytes: 0).removedRecords == 0)
            #expect(try cache.collect(maximumBytes: .max, freeBytes: .max, graceSeconds: 0).removedRecords == 2)
        }
    }

    @Test("a cache tidies itself once a day")
    func tidying() throws {
        try withRoot { root in
            for seed in 1...2 { _ = try store(UInt64(seed), in: Cache(root: root)) }
            let later = Int64(Date().timeIntervalSince1970 + 1200) * 1_000_000_000
            Cache(root: root, clock: { later }).tidy(maximumBytes: 6144)
            #expect(Cache(root: root).entries.count == 1)
            Cache(root: root).tidy(maximumBytes: 0)
            #expect(Cache(root: root).entries.count == 1)
            let tomorrow = Int64(Date().timeIntervalSince1970 + 90000) * 1_000_000_000
            Cache(root: root, clock: { tomorrow }).tidy(maximumBytes: 0)
            #expect(Cache(root: root).entries.isEmpty)
        }
    }

    @Test(
        "contents of zeros that a power cut has left are not taken for what they are called", arguments: [100, 1 << 19])
    func zeroedContents(count: Int) throws {
        try withRoot { root in
            let source = StoredTensor(name: "x", floats: (0..<count).map { Float($0) }, shape: [1, count])
            let made = try CompressedTensor.compressing(source, with: Codecs.codec("float32"), threads: 1)
            let cache = Cache(root: root)
            let kept = try #require(cache.store(made.tensor, made.distortion, for: Self.key, model: "m"))
            let file = try cache.folder.record(Self.key.digest).files[0]
            let path = cache.folder.blobPath(file.digest)
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.removeItem(atPath: cache.folder.recordPath(Self.key.digest))
            try write([UInt8](repeating: 0, count: file.byteCount), to: path)
            let again = try #require(cache.store(made.tensor, made.distortion, for: Self.key, model: "m"))
            #expect(again.sections == kept.sections)
            #expect(try cache.check() == [])
        }
    }

    @Test("results are the same however surely they are kept", arguments: CacheDurability.allCases)
    func durability(_ durability: CacheDurability) throws {
        try withRoot { root in
            let key = try store(1, in: Cache(root: root, durability: durability))
            #expect(Cache(root: root).entries.map(\.record.key) == [key])
            #expect(try Cache(root: root).check() == [])
        }
    }
}
