import AccelByteIO
import AccelPrograms
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("What the cache hands out is what its key asks for")
struct CacheResultTests {
    private static let other = SHA256.digest(of: "other")

    /// A cache with one package, and its record.
    private func withPackage(
        _ body: (_ cache: Cache, _ folder: String, _ contents: PackageContents, _ record: CacheRecord) throws -> Void
    ) throws {
        try withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache")
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            try PackageWriter.write(contents, to: "\(folder)/made") {
                cache.store(packageAt: $0, for: key, model: "tiny")
            }
            try body(cache, folder, contents, try cache.package(for: key).get())
        }
    }

    /// Every field of a key that can be seen in a package, changed.
    private static func wrongKeys(_ contents: PackageContents) -> [(field: String, key: CacheKey)] {
        let (sources, recipe) = (contents.provenance.sources, contents.provenance.recipe)
        let shapes = contents.graph.functions.map(\.functionName)
        var changed = sources
        changed[1].digest = other
        var resized = sources
        resized[1].byteCount += 1
        func key(
            _ sources: [Provenance.Source], _ shapes: [String], _ recipe: JSON, tool: String = Tool.version,
            versions: ResultVersions = ResultVersions()
        ) -> CacheKey {
            CacheKey(
                sources: sources, parts: [], shapes: shapes, recipe: recipe, versions: versions,
                toolVersion: tool)
        }
        return [
            ("shapes", key(sources, ["model[sequence=5]"], recipe)),
            ("a second shape", key(sources, shapes + ["model[sequence=5]"], recipe)),
            ("recipe", key(sources, shapes, ["default": "int8", "rules": []])),
            ("a source's digest", key(changed, shapes, recipe)), ("a source's size", key(resized, shapes, recipe)),
            ("a source less", key(Array(sources.dropLast()), shapes, recipe)),
            ("a source more", key(sources + [.init(name: "x", byteCount: 1, digest: other)], shapes, recipe)),
            ("tool version", key(sources, shapes, recipe, tool: "0.0.0")),
            ("a family", key(sources, shapes, recipe, versions: ResultVersions(family: "other 1"))),
            ("a pass", key(sources, shapes, recipe, versions: ResultVersions(passes: ["fold-constants": 7]))),
            ("a codec", key(sources, shapes, recipe, versions: ResultVersions(codecs: ["stored": 7]))),
        ]
    }

    @Test("a package under a key that it contradicts: fsck finds it, and it is a miss, its record in quarantine")
    func wrongPackages() throws {
        try withPackage { cache, folder, contents, record in
            #expect(try cache.check() == [])
            for (field, key) in Self.wrongKeys(contents) {
                try cache.folder.putRecord(
                    CacheRecord(key: key, files: record.files, model: "tiny", package: record.package))
                let path = cache.folder.recordPath(key.digest)
                let found = try cache.check()
                #expect(found.map(\.path) == [path], "\(field)")
                // The check alone changes nothing.
                #expect(try cache.check() == found)
                let miss = try cache.place(key, at: "\(folder)/placed").failure
                guard case .wrongResult? = miss?.reason else {
                    Issue.record("\(field): \(miss.map { "\($0.reason)" } ?? "a hit")")
                    continue
                }
                #expect(Files.kind(of: "\(folder)/placed") == nil && Files.kind(of: path) == nil, "\(field)")
                #expect(cache.package(for: key).failure == CacheMiss(.noRecord))
                #expect(try cache.check() == [])
            }
            #expect(try Files.list(cache.folder.quarantinePath).count == 2 * Self.wrongKeys(contents).count)
            #expect(try cache.place(record.key, at: "\(folder)/placed").get().digest == record.package)
        }
    }

    @Test("a record with files of two packages is found, whichever file is the other's", arguments: [0, 1, 2, 3])
    func mixedFiles(index: Int) throws {
        try withPackage { cache, folder, contents, record in
            // The same sizes but for the manifest, and other weights.
            let others = try TinyModel(seed: 2).contents()
            try PackageWriter.write(others, to: "\(folder)/others") {
                cache.store(packageAt: $0, for: CacheKey(of: others), model: "tiny")
            }
            let names = [
                PackageFormat.manifestName, PackageFormat.weightsName, PackageFormat.sourceMapName,
                PackageFormat.blobName(0),
            ]
            let stranger = try #require(
                try cache.package(for: CacheKey(of: others)).get().files.first { $0.path == names[index] })
            var mixed = record
            mixed.files = record.files.map { $0.path == stranger.path ? stranger : $0 }
            try cache.folder.putRecord(mixed)
            #expect(try cache.check().map(\.path) == [cache.folder.recordPath(record.key.digest)])
            #expect(try cache.check(repairing: true).count == 1)
            #expect(try cache.check() == [])
            #expect(cache.package(for: record.key).failure == CacheMiss(.noRecord))
        }
    }

    @Test("a package is not stored under a key that it contradicts, with a warning")
    func storing() throws {
        try withPackage { cache, folder, contents, _ in
            for (field, key) in Self.wrongKeys(contents) {
                let warnings = Locked<[String]>([])
                let cache = Cache(root: cache.root, warn: { warning in warnings.withLock { $0.append(warning.text) } })
                cache.store(packageAt: "\(folder)/made", for: key, model: "tiny")
                #expect(cache.package(for: key).failure == CacheMiss(.noRecord), "\(field)")
                #expect(warnings.withLock { $0.count } == 1, "\(field)")
            }
        }
    }

    @Test("a package of a solved target has another recipe than its key, and everything else in common")
    func targets() throws {
        try withPackage { _, _, contents, _ in
            var manifest = try Manifest(files: contents)
            let key = CacheKey(
                sources: contents.provenance.sources, parts: [], shapes: contents.graph.functions.map(\.functionName),
                recipe: ["default": "int8", "rules": []], options: [("target", "bits 4")])
            #expect(key.contradiction(with: manifest) == nil)
            manifest.provenance.sources.removeLast()
            #expect(key.contradiction(with: manifest) != nil)
        }
    }

    @Test("an export is compared with its key by what it says of its origin")
    func exports() throws {
        let contents = try TinyModel().contents()
        let package = CacheKey(of: contents)
        let key = CacheKey(exporting: package, as: "coreml 3", choices: [])
        let right = [
            "accelc.version": Tool.version, "accelc.recipe": contents.provenance.recipe.text(),
            "accelc.shapes": contents.graph.functions.map(\.functionName).joined(separator: " "),
        ].merging(contents.provenance.sources.map { ("accelc.source.\($0.name)", $0.digest.description) }) { a, _ in a }
        #expect(key.contradiction(withExport: right) == nil)
        // A rule that the exporter needed comes before those asked for.
        var plain = right
        plain["accelc.recipe"] = right["accelc.recipe"]?
            .replacing("\"rules\":[]", with: "\"rules\":[{\"match\":\"w\",\"compress\":\"float16\"}]")
        #expect(plain != right && key.contradiction(withExport: plain) == nil)
        for name in right.keys.sorted() {
            var wrong = right
            wrong[name] = "other"
            #expect(key.contradiction(withExport: wrong) != nil, "\(name)")
            wrong[name] = nil
            #expect(key.contradiction(withExport: wrong) != nil, "without \(name)")
        }
        var more = right
        more["accelc.source.x"] = Self.other.description
        #expect(key.contradiction(withExport: more) != nil)
        let ofPackage = CacheKey(exporting: Self.other, as: "coreml 3", choices: [])
        #expect(ofPackage.contradiction(withExport: ["accelc.package": Self.other.description]) == nil)
        #expect(ofPackage.contradiction(withExport: right) != nil)
    }

    @Test("an export under a key that it contradicts is found by fsck, and is a miss")
    func wrongExports() throws {
        try withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache")
            let digests = ["a", "b"].map { SHA256.digest(of: $0) }
            let keys = digests.map { CacheKey(exporting: $0, as: "text 1", choices: []) }
            let provenance: Cache.ExportProvenance = { file in
                let text = try file("origin")?.withBytes { String(decoding: $0, as: UTF8.self) }
                return ["accelc.package": text ?? ""]
            }
            try Files.makeFolder("\(folder)/draft")
            try write(Array(digests[0].description.utf8), to: "\(folder)/draft/origin")
            for key in keys { cache.store(exportAt: "\(folder)/draft", report: ["lines": []], for: key, model: "m") }
            let wrong = cache.folder.recordPath(keys[1].digest)
            #expect(try cache.check(exports: { $0 == "text" ? provenance : nil }).map(\.path) == [wrong])
            #expect(
                try cache.place(exported: keys[0], at: "\(folder)/x", as: .internal, provenance: provenance).failure
                    == nil)
            let miss = try cache.place(exported: keys[1], at: "\(folder)/y", as: .internal, provenance: provenance)
                .failure
            guard case .wrongResult? = miss?.reason else {
                Issue.record("it was placed")
                return
            }
            #expect(Files.kind(of: "\(folder)/y") == nil && Files.kind(of: wrong) == nil)
        }
    }
}

extension Manifest {
    /// That of a package with these contents.
    fileprivate init(files contents: PackageContents) throws {
        self = try withTemporaryFolder { folder in
            try PackageWriter.write(contents, to: "\(folder)/p")
            return try AcceleratorPackage(at: "\(folder)/p").manifest
        }
    }
}
