import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("A cache removes what it has made, and nothing else")
struct CacheForeignTests {
    private static let old = Date(timeIntervalSinceNow: -30 * 86400)
    private static let later: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 + 1200) * 1_000_000_000 }

    /// A cache that has something in every folder of the layout.
    private func withFullCache(_ body: (_ root: String, _ key: CacheKey) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/cache"
            let cache = Cache(root: root)
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            try PackageWriter.write(contents, to: "\(folder)/made") {
                cache.store(packageAt: $0, for: key, model: "tiny")
            }
            _ = try cache.openLasting(key.digest).get()
            let identity = try #require(Files.identity(of: "\(folder)/made/manifest.json"))
            var memo = DigestMemo(identity: identity, read: Self.later(), file: key.digest, tensors: [])
            memo.identity.modifiedNanoseconds = 0
            memo.identity.changedNanoseconds = 0
            cache.store(memo)
            cache.folder.keep(VerificationNote(digest: key.digest, identity: identity))
            let damaged = cache.folder.blobPath(SHA256.digest(of: "damaged"))
            try cache.folder.makeParent(of: damaged)
            try write([1], to: damaged)
            cache.folder.quarantine(damaged, reason: "damaged")
            try Files.makeFolder(try cache.workPath())
            let lock = cache.folder.lockPath(key.digest)
            try cache.folder.makeParent(of: lock)
            try write([], to: lock)
            cache.tidy()
            for place in CacheFolder.Subfolder.allCases {
                #expect(!cache.folder.survey(place).entries.isEmpty, "\(place) is empty")
            }
            try body(root, key)
        }
    }

    /// Every folder of the cache, but those of tmp, which are named by 128 random bits and hold what is being made.
    private func folders(below path: String) throws -> [String] {
        let inner = try Files.list(path).map { "\(path)/\($0)" }.filter {
            Files.kindWithoutFollowing($0) == .folder && !path.hasSuffix("/tmp")
        }
        return try [path] + inner.flatMap(folders)
    }

    private static let names = [
        "main.go", "notes", ".hidden", "a", "ab", "0123456789abcdef", String(repeating: "a", count: 63), "x.partial",
        ".x.partial",
        ".main.go.0123456789abcdef.partial", "v1", "README.md", "\(String(repeating: "g", count: 64))",
    ]

    /// Puts foreign things into every folder: young and old files, folders with the names that files of the cache have, and the reverse.
    private func plant(in root: String) throws -> [String] {
        let digest = SHA256.digest(of: "x").description
        var planted: [String] = []
        for folder in try folders(below: root) {
            for name in Self.names {
                let path = "\(folder)/\(name)"
                // "ab" is a name that the cache gives to folders, v1 too.
                if Files.kindWithoutFollowing(path) != nil { continue }
                try write(Array(name.utf8), to: path)
                planted.append(path)
            }
            let isOfPackages = folder.hasPrefix("\(root)/v1/packages/\(Files.name(of: folder))")
            for name in ["folder"] + (isOfPackages ? [] : [digest]) {
                let path = "\(folder)/\(name)"
                if Files.kindWithoutFollowing(path) != nil { continue }
                try Files.makeFolder("\(path)/inner")
                try write([1], to: "\(path)/inner/file")
                planted.append("\(path)/inner/file")
            }
            let link = "\(folder)/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../..")
            planted.append(link)
        }
        for path in planted where Files.kindWithoutFollowing(path) == .file && path.utf8.count % 2 == 0 {
            try FileManager.default.setAttributes([.modificationDate: Self.old], ofItemAtPath: path)
        }
        return planted
    }

    enum Action: String, CaseIterable {
        case clear, collect, repair, tidy, open
    }

    @Test("foreign files of every age in every folder survive, and are listed", arguments: Action.allCases)
    func foreign(action: Action) throws {
        try withFullCache { root, key in
            let planted = try plant(in: root)
            #expect(planted.count > 200)
            let cache = Cache(root: root, clock: Self.later)
            let listed = cache.foreign
            for path in planted {
                #expect(listed.contains { path == $0 || path.hasPrefix($0 + "/") }, "\(path) is not listed")
            }
            let own = try folders(below: root).filter { folder in !planted.contains { $0.hasPrefix(folder + "/") } }
            #expect(!listed.contains { own.contains($0) })
            switch action {
            case .clear: try cache.clear()
            case .collect: _ = try cache.collect(maximumBytes: 0, graceSeconds: 0)
            case .repair:
                let record = try cache.package(for: key).get()
                let blob = cache.folder.blobPath(record.files[0].digest)
                try FileManager.default.removeItem(atPath: blob)
                try write([1], to: blob)
                #expect(!(try cache.check(repairing: true)).isEmpty)
            case .tidy: Cache(root: root, clock: { Self.later() + 90_000_000_000_000 }).tidy(maximumBytes: 0)
            case .open: _ = try? cache.open(key.digest)
            }
            for path in planted { #expect(Files.kindWithoutFollowing(path) != nil, "\(action) has removed \(path)") }
            // A package that is gone does not say any more what its folders were called: they are listed as a whole.
            let now = cache.foreign
            for path in planted {
                #expect(
                    now.contains { path == $0 || path.hasPrefix($0 + "/") }, "\(path) is not listed after \(action)")
            }
        }
    }

    @Test("without foreign files nothing of the cache stays after a clear but its marks")
    func clearing() throws {
        try withFullCache { root, _ in
            #expect(Cache(root: root).foreign == [])
            try Cache(root: root).clear()
            #expect(try Files.list(root) == ["CACHEDIR.TAG", "README"])
        }
    }

    @Test(
        "a folder with anything else in it is no cache: it is not written to, and nothing in it is removed",
        arguments: [
            "v1/main.go", "v1/tmp/notes", "v1/lease/notes", "v1/cas/ab/notes", "v1/verified/x/y", "main.go", "README",
            "CACHEDIR.TAG", "v1/format.json/x", "v2/x", "v1/ac/ab/abcd", "v1/quarantine/x.json",
        ])
    func rejected(name: String) throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/p"
            let path = "\(root)/\(name)"
            try Files.makeFolder(Files.parentFolder(of: path) ?? root)
            try write(Array("theirs".utf8), to: path)
            try FileManager.default.setAttributes([.modificationDate: Self.old], ofItemAtPath: path)
            let before = try files(in: root)
            let warnings = Locked<[String]>([])
            let cache = Cache(root: root, warn: { warning in warnings.withLock { $0.append(warning.text) } })
            let contents = try TinyModel().contents()
            try PackageWriter.write(contents, to: "\(folder)/made") {
                cache.store(packageAt: $0, for: CacheKey(of: contents), model: "tiny")
            }
            cache.tidy()
            #expect(warnings.withLock { $0.count } == 1)
            #expect(warnings.withLock { $0.first?.contains("accelc has not made this folder") } == true)
            #expect(throws: RequestError.self) { try cache.clear() }
            #expect(throws: RequestError.self) { try cache.collect(maximumBytes: 0) }
            #expect(throws: RequestError.self) { try cache.check(repairing: true) }
            #expect(try files(in: root) == before)
        }
    }

    @Test("a cache that was killed while it was made is completed, whatever was there")
    func unfinished() throws {
        try withTemporaryFolder { folder in
            let whole = "\(folder)/whole"
            try CacheFolder(root: whole).prepare()
            let made = try files(in: whole)
            // In the order of this version, and of the one before; half-made files, and files that a power cut has emptied.
            let orders = [["CACHEDIR.TAG", "README", "v1/format.json"], ["v1/format.json", "CACHEDIR.TAG", "README"]]
            var number = 0
            for order in orders {
                for count in 0...3 {
                    for state in ["whole", "partial", "empty", "zeros"] where count < 3 || state == "whole" {
                        number += 1
                        let root = "\(folder)/\(number)"
                        try Files.makeFolder("\(root)/v1/lease")
                        for (index, name) in order[..<min(3, count + 1)].enumerated()
                        where index < count || state != "whole" {
                            let isLast = index == count
                            let path = "\(root)/\(name)"
                            let partial =
                                "\(Files.parentFolder(of: path) ?? root)/.\(Files.name(of: path)).0123456789abcdef.partial"
                            let bytes = made[name]?.array ?? []
                            let content = state == "zeros" ? [UInt8](repeating: 0, count: bytes.count) : []
                            try write(isLast ? content : bytes, to: isLast && state == "partial" ? partial : path)
                        }
                        let remark = "\(order[0]), \(count), \(state)"
                        let place = CacheFolder(root: root)
                        #expect(place.unusableReason() == nil, "\(remark)")
                        try place.prepare()
                        #expect(place.standing == .cache, "\(remark)")
                        for (name, content) in made { #expect(try MappedFile("\(root)/\(name)").bytes == content) }
                    }
                }
            }
        }
    }

    @Test("names are recognised as they are made, also by the file layer, and earlier versions' are")
    func names() throws {
        for _ in 0..<100 {
            let (random, digest) = (CacheNames.random(), SHA256.digest(of: CacheNames.random()))
            #expect(CacheNames.isRandom(random) && random.utf8.count == 32)
            #expect(CacheNames.isQuarantined(CacheNames.quarantined(digest)))
            #expect(CacheNames.isQuarantined("\(CacheNames.quarantined(digest)).json"))
            #expect(CacheNames.isQuarantined("1-\(digest)"))
            #expect(CacheNames.isPartial(".\(random).partial") { _ in false })
        }
        #expect(Files.bootIdentifier.map(CacheNames.isBoot) != false)
        for name in ["", "-", "..", ".partial", "..partial", "..0.partial", "0-0", "A1", "ab-cd"] {
            #expect(!CacheNames.isRandom(name) && !CacheNames.isBoot(name) && !CacheNames.isQuarantined(name))
            #expect(!CacheNames.isPartial(name, of: CacheNames.isStartOfDigest) && !CacheNames.isWork(name))
        }
        // What the file layer makes while a file is written, in each folder.
        try withFullCache { root, key in
            let folder = CacheFolder(root: root)
            let quarantined = "\(folder.quarantinePath)/\(CacheNames.quarantined(key.digest)).json"
            let targets = [
                folder.recordPath(key.digest), folder.blobPath(key.digest), folder.memoPath(key.digest),
                folder.lockPath(key.digest),
                "\(folder.leasesPath)/\(CacheNames.random())", "\(folder.workPath)/\(CacheNames.random())",
                folder.tidiedPath,
                "\(folder.workPath)/.accelc-\(CacheNames.random()).tensor", quarantined, folder.formatPath,
                "\(root)/README",
            ]
            for target in targets {
                try folder.makeParent(of: target)
                let file = try AtomicFile(replacing: target, as: .internal)
                #expect(folder.foreign == [], "\(target)")
                withExtendedLifetime(file) {}
            }
            for name in [CacheNames.random(), "\(CacheNames.random()).plan"] {
                let draft = try AtomicFolder(replacing: "\(folder.workPath)/\(name)", as: .internal)
                #expect(folder.foreign == [], "\(name)")
                withExtendedLifetime(draft) {}
            }
        }
    }
}
