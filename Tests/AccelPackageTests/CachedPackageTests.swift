import Accel
import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@Suite("An app opens packages in the cache, by key")
struct CachedPackageTests {
    /// Keeps the package of a small checkpoint.
    private func store(in root: String, _ compress: String = "float16") throws -> CacheKey {
        let checkpoint = try Checkpoint(model: Fixtures.path("bert_base"))
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: [])
        let frozen = try model.programs.freezing([ShapeBindings(parsing: "batch=1,sequence=8")])
        let recipe = Recipe(default: try Codecs.codec(compress))
        let compressed = try recipe.compressing(frozen, threads: 2)
        let contents = PackageContents(
            graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init), unusedTensors: [],
            provenance: Provenance(sources: [], family: "bert", recipe: recipe.json, shapes: []), assets: [])
        let key = CacheKey(
            sources: [], parts: [], shapes: contents.graph.functions.map(\.functionName), recipe: recipe.json)
        try PackageWriter.write(contents, to: "\(root).accelpkg") { path in
            Cache(root: root).store(packageAt: path, for: key, model: "bert")
        }
        return key
    }

    @Test("the package runs where it lies, and is gone for others after a clean-up only")
    func opening() throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/cache"
            let key = try store(in: root)
            var cached: CachedPackage? = try CachedPackage.open(key: key.digest.description, cache: root)
            let path = try #require(cached?.path)
            #expect(path.hasPrefix(root))
            #expect(cached?.package.digest == (try AcceleratorPackage(at: "\(root).accelpkg").digest))
            // Its files are the cache's contents under other names, not copies.
            let links = try FileManager.default.attributesOfItem(atPath: "\(path)/manifest.json")[.referenceCount]
            #expect(links as? Int == 2)
            // Opened once more, it is the same folder.
            #expect(try CachedPackage.open(key: key.digest.description, cache: root).path == path)
            let later = Int64(Date().timeIntervalSince1970 + 1200) * 1_000_000_000
            let cleaner = Cache(root: root, clock: { later })
            #expect(try cleaner.collect(maximumBytes: 0).removedRecords == 0)
            #expect(FileManager.default.fileExists(atPath: "\(path)/manifest.json"))
            cached = nil
            #expect(try cleaner.collect(maximumBytes: 0).removedRecords == 1)
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(throws: CacheMiss(.noRecord)) {
                try CachedPackage.open(key: key.digest.description, cache: root)
            }
        }
    }

    @Test("a damaged file is found when it is opened, and made whole from the contents where they are")
    func damage() throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/cache"
            let key = try store(in: root)
            let path = try CachedPackage.open(key: key.digest.description, cache: root).path
            let manifest = URL(filePath: "\(path)/manifest.json")
            let sound = try Data(contentsOf: manifest)
            // Another file of that name: the content itself is as it was.
            try FileManager.default.removeItem(at: manifest)
            try Data(sound.reversed()).write(to: manifest)
            #expect(try CachedPackage.open(key: key.digest.description, cache: root).package.manifest.files.count > 0)
            #expect(try Data(contentsOf: manifest) == sound)
            // The content is changed under both names.
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: manifest.path)
            let handle = try FileHandle(forWritingTo: manifest)
            try handle.write(contentsOf: Data("X".utf8))
            try handle.close()
            #expect(throws: CacheMiss.self) { try CachedPackage.open(key: key.digest.description, cache: root) }
        }
    }

    @Test("while one process cleans up without end and another stores, a reader finds a whole package or none")
    func cleaningUp() throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/cache"
            let key = try store(in: root)
            let expected = try AcceleratorPackage(at: "\(root).accelpkg")
            let names = expected.manifest.files.map(\.name)
            let isDone = Flag()
            let opened = Locked(0)
            try Parallel.forEach(4, threads: 4) { role in
                switch role {
                case 0:
                    while !isDone.isSet {
                        let later = Int64(Date().timeIntervalSince1970 + 1200) * 1_000_000_000
                        _ = try Cache(root: root, clock: { later }).collect(maximumBytes: 0)
                    }
                case 1:
                    while !isDone.isSet {
                        Cache(root: root).store(packageAt: expected.path, for: key, model: "bert")
                    }
                default:
                    defer { isDone.set() }
                    let end = ContinuousClock.now + .seconds(3)
                    while ContinuousClock.now < end, opened.withLock({ $0 }) < 200 {
                        guard let cached = try? CachedPackage.open(key: key.digest.description, cache: root) else {
                            continue
                        }
                        // Each file is opened by its name, while the other cleans up.
                        for name in names {
                            let bytes = try MappedFile("\(cached.path)/\(name)").bytes
                            #expect(bytes == (try MappedFile("\(expected.path)/\(name)").bytes))
                        }
                        opened.withLock { $0 += 1 }
                        withExtendedLifetime(cached) {}
                    }
                }
            }
            #expect(opened.withLock { $0 } > 0)
        }
    }

    @Test("what is no key is rejected")
    func noKey() {
        #expect(throws: RequestError.self) { try CachedPackage.open(key: "abc", cache: "/nowhere") }
        #expect(throws: CacheMiss(.noRecord)) {
            try CachedPackage.open(key: String(repeating: "a", count: 64), cache: "/nowhere")
        }
    }
}

private final class Flag: Sendable {
    private let state = Locked(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
