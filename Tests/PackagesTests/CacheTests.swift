import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("The cache gives back what was put in, or nothing")
struct CacheTests {
    private static let source = TinyModel(width: 128, rows: 256).tensors[0]

    private func compressed(_ codec: String = "float16") throws -> (tensor: CompressedTensor, distortion: Distortion) {
        try CompressedTensor.compressing(Self.source, with: try Codecs.codec(codec), threads: 2)
    }

    private func key(_ codec: String = "float16", version: Int = 1) throws -> CacheKey {
        CacheKey(
            tensor: TreeDigest.digest(of: Self.source.bytes), elementType: Self.source.elementType,
            shape: Self.source.shape, codec: try Codecs.codec(codec), versions: [codec: version])
    }

    private func find(_ cache: Cache, _ codec: String = "float16") throws -> Result<CompressedTensor, CacheMiss> {
        cache.tensor(for: try key(codec), source: Self.source, codec: try Codecs.codec(codec)).map(\.tensor)
    }

    private func withCache(_ body: (Cache, String) throws -> Void) throws {
        try withTemporaryFolder { folder in try body(Cache(root: "\(folder)/cache"), folder) }
    }

    @Test(
        "a tensor: missing at first, then found, with its distortion", arguments: ["float16", "palette:bits=3,group=7"])
    func tensors(codec: String) throws {
        try withCache { cache, _ in
            #expect(try find(cache, codec).failure == CacheMiss(.noRecord))
            let made = try compressed(codec)
            let kept = try #require(cache.store(made.tensor, made.distortion, for: key(codec), model: "tiny"))
            #expect(kept.sections == made.tensor.sections)
            let found = try cache.tensor(
                for: key(codec), source: Self.source, codec: Codecs.codec(codec)
            ).get()
            #expect(found.tensor.sections == made.tensor.sections)
            #expect(found.distortion == made.distortion)
            #expect(found.tensor.name == Self.source.name)
            #expect(try find(cache, "bfloat16").failure == CacheMiss(.noRecord))
        }
    }

    @Test("damage of every kind is a miss with a reason, and storing again heals it")
    func damage() throws {
        try withCache { cache, _ in
            let made = try compressed()
            func store() throws -> CacheRecord.File {
                _ = try #require(cache.store(made.tensor, made.distortion, for: key(), model: "tiny"))
                return try cache.folder.record(key().digest).files[0]
            }
            let file = try store()
            let blob = cache.folder.blobPath(file.digest)
            let record = cache.folder.recordPath(try key().digest)
            let (blobBytes, recordBytes) = (try MappedFile(blob).bytes.array, try MappedFile(record).bytes.array)

            try FileManager.default.removeItem(atPath: blob)
            #expect(try find(cache).failure == CacheMiss(.missingBlob(file.digest)))
            _ = try store()
            try replace(blob, Array(blobBytes.dropLast()))
            #expect(
                try find(cache).failure
                    == CacheMiss(.wrongSize(file.digest, expected: blobBytes.count, found: blobBytes.count - 1)))
            _ = try store()
            var flipped = blobBytes
            flipped[1000] ^= 1
            try replace(blob, flipped)
            #expect(try find(cache).failure == CacheMiss(.wrongBytes(file.digest)))
            #expect(try Files.list(cache.folder.quarantinePath).count == 2)
            #expect(try find(cache).failure == CacheMiss(.missingBlob(file.digest)))
            _ = try store()
            for bytes in [[], Array(recordBytes.dropLast(3)), Array(repeating: 0, count: recordBytes.count)] {
                try replace(record, bytes)
                guard case .malformedRecord? = try find(cache).failure?.reason else {
                    Issue.record("a record of \(bytes.count) bytes was taken")
                    continue
                }
            }
            // A sound record of another key.
            try replace(record, CacheRecord(key: try key("bfloat16"), files: [], model: "").encoded.array)
            #expect(try find(cache).failure == CacheMiss(.malformedRecord("it is the record of another key")))
            _ = try store()
            #expect(try find(cache).get().sections == made.tensor.sections)
        }
    }

    @Test("damage is warned of once, and what is missing never")
    func damageWarning() throws {
        try withTemporaryFolder { folder in
            let warnings = Locked<[String]>([])
            let cache = Cache(
                root: "\(folder)/cache", warn: { warning in warnings.withLock { $0.append(warning.text) } })
            let made = try compressed()
            for round in 0..<2 {
                #expect(try cache.found(find(cache)) == nil)
                #expect(warnings.withLock { $0.count } == round)
                _ = try #require(cache.store(made.tensor, made.distortion, for: key(), model: "tiny"))
                #expect(try cache.found(find(cache)) != nil)
                let blob = cache.folder.blobPath(try cache.folder.record(key().digest).files[0].digest)
                var bytes = try MappedFile(blob).bytes.array
                bytes[1000] ^= 1
                try replace(blob, bytes)
                #expect(try cache.found(find(cache)) == nil)
                #expect(warnings.withLock { $0.count } == 1)
            }
            #expect(warnings.withLock { $0.first?.contains("had been changed, and is in quarantine now") } == true)
        }
    }

    private func replace(_ path: String, _ bytes: [UInt8]) throws {
        try FileManager.default.removeItem(atPath: path)
        try write(bytes, to: path)
    }

    @Test("blobs are read-only, named by their SHA-256, and the folder says what it is")
    func layout() throws {
        try withCache { cache, folder in
            let made = try compressed()
            _ = cache.store(made.tensor, made.distortion, for: try key(), model: "tiny")
            let all = try files(in: "\(folder)/cache")
            #expect(all.keys.contains("CACHEDIR.TAG") && all.keys.contains("README"))
            #expect(all["v1/format.json"]?.array == Array("{\"layout\":1,\"min_reader\":1}\n".utf8))
            let blobs = all.filter { $0.key.hasPrefix("v1/cas/") }
            #expect(blobs.count == 1)
            for (name, content) in blobs {
                #expect(Files.name(of: name) == SHA256.digest(of: content).description)
                let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/cache/\(name)")[
                    .posixPermissions]
                #expect(mode as? Int == 0o444)
            }
        }
    }

    @Test(
        "a large file that may be linked becomes a content under a second name, read-only; others are cloned or copied")
    func linking() throws {
        try withCache { cache, folder in
            let (large, small) = ("\(folder)/large", "\(folder)/small")
            try write([1], to: small)
            try write([], to: large)
            #expect(truncate(large, off_t(CacheFolder.linkedBytes)) == 0)
            func inode(_ path: String) -> UInt64? { Files.identity(of: path)?.inode }
            for path in [small, large] {
                let file = try cache.folder.putFile(path, mayLink: true)
                let blob = cache.folder.blobPath(file.digest)
                let isOne = inode(blob) == inode(path)
                #expect(path == large || !isOne, "\(path)")
                let mode = try FileManager.default.attributesOfItem(atPath: blob)[.posixPermissions]
                #expect(mode as? Int == 0o444)
                let kept = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
                #expect((kept as? Int == 0o444) == isOne)
                #expect(try cache.folder.verifiedBlob(file).count == file.byteCount)
                // Whoever writes to it all the same is noticed.
                guard isOne else { continue }
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
                let handle = try FileHandle(forWritingTo: URL(filePath: path))
                try handle.write(contentsOf: [1])
                try handle.close()
                #expect(throws: CacheMiss(.wrongBytes(file.digest))) { try cache.folder.verifiedBlob(file) }
            }
        }
    }

    @Test("a package: placed as folder and as archive, the same bytes as written")
    func packages() throws {
        try withCache { cache, folder in
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            #expect(try cache.place(key, at: "\(folder)/b").failure == CacheMiss(.noRecord))
            #expect(Files.kind(of: "\(folder)/b") == nil)
            let digest = try PackageWriter.write(contents, to: "\(folder)/a") {
                cache.store(packageAt: $0, for: key, model: "tiny")
            }
            #expect(try cache.place(key, at: "\(folder)/b").get().digest == digest)
            #expect(try files(in: "\(folder)/b") == files(in: "\(folder)/a"))
            #expect(try cache.place(key, at: "\(folder)/b.zip", asArchive: true).get().digest == digest)
            try PackageWriter.archive(contents, to: "\(folder)/a.zip")
            #expect(try MappedFile("\(folder)/b.zip").bytes == MappedFile("\(folder)/a.zip").bytes)
            try AcceleratorPackage(at: "\(folder)/b").check()

            // One changed byte in the cache: nothing is placed.
            let blob = try #require(cache.package(for: key).get().files.first { $0.path == "weights-0000.bin" })
            let path = cache.folder.blobPath(blob.digest)
            var bytes = try MappedFile(path).bytes.array
            bytes[5] ^= 4
            try replace(path, bytes)
            #expect(try cache.place(key, at: "\(folder)/c").failure == CacheMiss(.wrongBytes(blob.digest)))
            #expect(Files.kind(of: "\(folder)/c") == nil)
        }
    }

    @Test("a conversion through the cache gives the same package, and computes nothing the second time")
    func conversion() throws {
        try withCache { cache, folder in
            let model = TinyModel(width: 128, rows: 256)
            try SafetensorsWriter.write(model.tensors, to: "\(folder)/model.safetensors", as: .part)
            try write(Array("{}".utf8), to: "\(folder)/config.json")
            let checkpoint = try Checkpoint(model: folder)
            let frozen = [try model.program().freezing(ShapeBindings(parsing: "sequence=4"))]
            let recipe = Recipe(default: try Codecs.codec("float16"))
            let counter = Locked(0)
            func compress(_ cache: Cache?) throws -> CompressedProgram {
                let digests = try ModelDigests(checkpoint, cache: cache, threads: 2)
                let kept = KeptTensors(cache: cache, digests: digests, output: "\(folder)/out", model: "tiny")
                return try recipe.compressing(
                    frozen, threads: 2, stored: kept.stored, reading: kept.reading,
                    store: { weights in
                        counter.withLock { $0 += weights.count }
                        return try kept.store(weights)
                    })
            }
            let without = try compress(nil)
            #expect(counter.withLock { $0 } == 4)
            let first = try compress(cache)
            // Two of the four tensors hold the same bytes.
            #expect(counter.withLock { $0 } == 4 + 3)
            let second = try compress(cache)
            #expect(counter.withLock { $0 } == 4 + 3)
            for other in [first, second] {
                #expect(other.weights.map(\.tensor.sections) == without.weights.map(\.tensor.sections))
                #expect(other.weights.map(\.distortion) == without.weights.map(\.distortion))
                #expect(other.weights.map(\.tensor.name) == without.weights.map(\.tensor.name))
            }
            // What was spilled without a cache has left nothing behind.
            #expect(try Files.list(folder) == ["cache", "config.json", "model.safetensors"])
        }
    }

    @Test("a cache that cannot be written warns once and costs nothing else")
    func unwritable() throws {
        try withTemporaryFolder { folder in
            try write([0], to: "\(folder)/file")
            let warnings = Locked<[String]>([])
            let cache = Cache(
                root: "\(folder)/file/cache", warn: { warning in warnings.withLock { $0.append(warning.text) } })
            let made = try compressed()
            for _ in 0..<3 {
                #expect(cache.store(made.tensor, made.distortion, for: try key(), model: "tiny") == nil)
                #expect(try find(cache).failure == CacheMiss(.noRecord))
            }
            #expect(warnings.withLock { $0.count } == 1)
            #expect(cache.entries.isEmpty)
        }
    }

    @Test("a cache of a newer layout is left alone")
    func newerLayout() throws {
        try withCache { cache, folder in
            try Files.makeFolder("\(folder)/cache/v1")
            try write(Array(#"{"layout":9,"min_reader":9}"#.utf8), to: "\(folder)/cache/v1/format.json")
            guard case .unusable? = try find(cache).failure?.reason else {
                Issue.record("it was read")
                return
            }
            let made = try compressed()
            #expect(cache.store(made.tensor, made.distortion, for: try key(), model: "tiny") == nil)
            #expect(try Array(files(in: "\(folder)/cache").keys) == ["v1/format.json"])
        }
    }

    @Test("many threads over one cache: each finds the right bytes or nothing")
    func concurrency() throws {
        try withTemporaryFolder { folder in
            let codecs = ["float16", "bfloat16", "float32"]
            let made = try codecs.map { try compressed($0) }
            let keys = try codecs.map { try key($0) }
            try Parallel.forEach(48, threads: 8) { turn in
                let cache = Cache(root: "\(folder)/cache")
                let choice = turn % 3
                switch turn % 4 {
                case 0, 1:
                    _ = cache.store(made[choice].tensor, made[choice].distortion, for: keys[choice], model: "tiny")
                case 2:
                    let found = cache.tensor(
                        for: keys[choice], source: Self.source, codec: made[choice].tensor.codec)
                    if case .success(let found) = found {
                        #expect(found.tensor.sections == made[choice].tensor.sections)
                    }
                default: _ = try cache.collect(maximumBytes: 0, graceSeconds: 0)
                }
            }
            #expect(try Cache(root: "\(folder)/cache").check().allSatisfy { $0.reason.contains("is gone") })
        }
    }

    @Test("the root is $ACCELC_CACHE, else the platform's folder")
    func root() {
        #expect(Cache.defaultRoot(["ACCELC_CACHE": "/a", "HOME": "/h"]) == "/a")
        #expect(Cache.defaultRoot([:]) == nil)
        #if !canImport(Darwin)
            #expect(Cache.defaultRoot(["HOME": "/h", "ACCELC_CACHE": ""]) == "/h/.cache/accelc")
            #expect(Cache.defaultRoot(["HOME": "/h", "XDG_CACHE_HOME": "/x"]) == "/x/accelc")
        #endif
    }
}
