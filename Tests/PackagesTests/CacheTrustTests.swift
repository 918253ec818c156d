import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

@Suite("The cache is its owner's, and notices what others change")
struct CacheTrustTests {
    private static let size = CacheFolder.alwaysVerifiedBytes + 4096

    /// A large content in a cache, verified once.
    private func withContent(_ body: (_ folder: CacheFolder, _ file: CacheRecord.File, _ path: String) throws -> Void)
        throws
    {
        try withTemporaryFolder { folder in
            let cache = CacheFolder(root: "\(folder)/cache")
            try cache.prepare()
            let file = try cache.putBlob([ByteView([UInt8](repeating: 7, count: Self.size))])
            let path = cache.blobPath(file.digest)
            // Older than any tick of a clock.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -100)], ofItemAtPath: path)
            _ = try cache.verifiedBlob(file)
            // Where files are in memory only, none was kept.
            let identity = try #require(Files.identity(of: path))
            cache.keep(VerificationNote(digest: file.digest, identity: identity))
            try body(cache, file, path)
        }
    }

    private func notes(_ folder: CacheFolder) throws -> [VerificationNote] {
        try folder.survey(.verified).entries.map { try #require(VerificationNote(try MappedFile($0).bytes)) }
    }

    private func change(_ path: String) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.seek(toOffset: 5000)
        try handle.write(contentsOf: [8])
        try handle.close()
    }

    @Test("a changed content is found although its size and time of modification are what they were")
    func restoredTimes() throws {
        try withContent { folder, file, path in
            let time = try #require(try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date)
            Thread.sleep(forTimeInterval: 0.02)
            Files.setMode(0o644, of: path)
            try change(path)
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
            #expect(throws: CacheMiss(.wrongBytes(file.digest))) { try folder.verifiedBlob(file) }
        }
    }

    @Test("a note counts for the file that it was made of, and not for one with another size, time or place")
    func identities() throws {
        try withContent { folder, _, path in
            let (identity, other) = (try #require(Files.identity(of: path)), SHA256.digest(of: "other"))
            // That a note is believed shows where it is of the wrong digest.
            folder.keep(VerificationNote(digest: other, identity: identity))
            #expect(folder.isSound(try MappedFile(path), other))
            for change in [
                { $0.size += 1 }, { $0.modifiedNanoseconds += 1 }, { $0.changedNanoseconds += 1 },
                { $0.modifiedNanoseconds -= 1 },
            ] as [(inout FileIdentity) -> Void] {
                var note = VerificationNote(digest: other, identity: identity)
                change(&note.identity)
                folder.keep(note)
                #expect(!folder.isSound(try MappedFile(path), other), "\(note.text)")
            }
        }
    }

    @Test(
        "a content is read once, and once more after a day; its note counts for no other digest",
        .enabled(if: temporaryFilesSettle))
    func notes() throws {
        try withContent { folder, file, path in
            let note = try #require(try notes(folder).first)
            #expect(note.digest == file.digest && VerificationNote(ByteView(Array(note.text.utf8))) == note)
            // That it is not read: a note of the wrong digest of the right file is believed.
            var lie = note
            let other = SHA256.digest(of: "other")
            lie.digest = other
            folder.keep(lie)
            #expect(folder.isSound(try MappedFile(path), other))
            for age in [-10, 86500] as [Int64] {
                lie.verified = WallClock.nanoseconds / 1_000_000_000 - age
                folder.keep(lie)
                #expect(!folder.isSound(try MappedFile(path), other), "\(age)")
            }
            #expect(folder.isSound(try MappedFile(path), file.digest))
            for text in ["", "x", "\(note.text) 1", String(note.text.dropLast(20)), note.text.uppercased()] {
                let found = VerificationNote(ByteView(Array(text.utf8)))
                #expect(found == nil || found == note, "\(text)")
            }
        }
    }

    @Test(
        "another name of our own making leaves the note alone; somebody else's does not, nor does a write meanwhile",
        .enabled(if: temporaryFilesSettle))
    func names() throws {
        try withContent { folder, file, path in
            let before = try #require(try notes(folder).first)
            Thread.sleep(forTimeInterval: 0.02)
            try folder.keepingNotes(of: [file]) { try FileManager.default.linkItem(atPath: path, toPath: "\(path)-2") }
            let after = try #require(try notes(folder).first)
            #expect(after.identity == Files.identity(of: path) && after.identity != before.identity)
            #expect(after.verified == before.verified && after.digest == before.digest)
            Thread.sleep(forTimeInterval: 0.02)
            try FileManager.default.removeItem(atPath: "\(path)-2")
            #expect(try notes(folder).first?.identity != Files.identity(of: path))
            _ = try folder.verifiedBlob(file)
            #expect(try notes(folder).first?.identity == Files.identity(of: path))
            Files.setMode(0o644, of: path)
            _ = try folder.verifiedBlob(file)
            try folder.keepingNotes(of: [file]) { try change(path) }
            #expect(throws: CacheMiss(.wrongBytes(file.digest))) { try folder.verifiedBlob(file) }
        }
    }

    @Test("a content that may be written is copied, not linked, when it is handed out")
    func links() throws {
        try withContent { folder, file, path in
            #expect(folder.mayLink(path))
            for mode: UInt16 in [0o644, 0o464, 0o446, 0o666] {
                Files.setMode(mode, of: path)
                #expect(!folder.mayLink(path))
                // What others may write to is read each time.
                #expect(folder.isOurs(path) == (mode == 0o644))
            }
        }
    }

    @Test(
        "folders are their owner's alone and files are not writable by others, whatever the umask",
        .serialized, arguments: [0, 0o022])
    func modes(mask: UInt32) throws {
        try withTemporaryFolder { folder in
            let previous = umask(mode_t(mask))
            defer { umask(previous) }
            let cache = Cache(root: "\(folder)/cache")
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            try PackageWriter.write(contents, to: "\(folder)/made") {
                cache.store(packageAt: $0, for: key, model: "tiny")
            }
            _ = try cache.openLasting(key.digest).get()
            let claim = cache.claim(key)
            _ = try cache.workPath()
            cache.tidy()
            func look(_ path: String) throws {
                let access = try #require(Files.access(of: path))
                if Files.kind(of: path) == .folder {
                    #expect(access.mode == 0o700, "\(path)")
                    for name in try Files.list(path) { try look("\(path)/\(name)") }
                } else {
                    #expect(!access.isWritableByOthers, "\(path)")
                }
            }
            try look(cache.root)
            withExtendedLifetime(claim) {}
        }
    }

    @Test(
        "a cache that others may write to is rejected, unless asked for; an open one of one's own is closed",
        arguments: ["", "/v1"])
    func openFolders(_ name: String) throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/cache"
            try CacheFolder(root: root).prepare()
            for mode: UInt16 in [0o777, 0o770, 0o707, 0o720] {
                Files.setMode(mode, of: root + name)
                #expect(CacheFolder(root: root).unusableReason()?.code == .sharedCache)
                #expect(throws: RequestError.self) { try Cache(root: root).requireUsable() }
                #expect(throws: RequestError.self) { try Cache(root: root).clear() }
                #expect(Cache(root: root).package(for: SHA256.digest(of: "k")).failure != CacheMiss(.noRecord))
                try Cache(root: root, trustsOthers: true).requireUsable()
                #expect(Files.access(of: root + name)?.mode == mode)
            }
            Files.setMode(0o755, of: root)
            Files.setMode(0o755, of: "\(root)/v1")
            try Cache(root: root).requireUsable()
            #expect(Files.access(of: "\(root)/v1")?.mode == 0o700)
        }
    }

    @Test("a record, memo or content that others may have written is a miss, unless asked for; fsck tells of it")
    func openFiles() throws {
        try withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache")
            let trusting = Cache(root: cache.root, trustsOthers: true)
            let contents = try TinyModel().contents()
            let key = CacheKey(of: contents)
            func store() throws {
                try PackageWriter.write(contents, to: "\(folder)/made") {
                    cache.store(packageAt: $0, for: key, model: "tiny")
                }
            }
            try store()
            let identity = FileIdentity(
                device: 1, inode: 2, size: 3, modifiedNanoseconds: 4, changedNanoseconds: 5)
            cache.store(DigestMemo(identity: identity, read: cache.now, file: key.digest, tensors: []))
            let record = try cache.package(for: key).get()
            let paths =
                [cache.folder.recordPath(key.digest), cache.folder.memoPath(DigestMemo.name(identity))]
                + record.files.map { cache.folder.blobPath($0.digest) }
            func isFound(in cache: Cache) -> Bool {
                (try? cache.opened(key).get()) != nil && cache.memo(identity, tensors: 0) != nil
            }
            #expect(isFound(in: cache))
            #expect(try cache.check().isEmpty)
            for path in paths {
                let access = try #require(Files.access(of: path))
                func look() throws {
                    #expect(!isFound(in: cache) && isFound(in: trusting), "\(path)")
                    #expect(try cache.check().map(\.path).contains(path) && trusting.check().isEmpty, "\(path)")
                }
                for mode: UInt16 in [0o666, 0o464, 0o446] {
                    Files.setMode(mode, of: path)
                    try look()
                }
                Files.setMode(access.mode, of: path)
                if Files.user == 0 {
                    #expect(chown(path, 12345, 0) == 0)
                    try look()
                    #expect(chown(path, 0, 0) == 0)
                }
                #expect(isFound(in: cache))
            }
            // What is made anew takes their place.
            for path in paths { Files.setMode(0o666, of: path) }
            try store()
            #expect((try? cache.opened(key).get()) != nil)
            let reasons = try cache.check(repairing: true).map(\.path)
            #expect(reasons == [paths[1]])
            #expect(try cache.check().isEmpty)
        }
    }

    @Test("a cache of another user is rejected, unless asked for", .enabled(if: Files.user == 0))
    func otherUsers() throws {
        try withTemporaryFolder { folder in
            let root = "\(folder)/cache"
            try CacheFolder(root: root).prepare()
            for path in [root, "\(root)/v1"] {
                #expect(chown(path, 12345, 12345) == 0)
                #expect(CacheFolder(root: root).unusableReason()?.text.contains("another user (number 12345)") == true)
                try Cache(root: root, trustsOthers: true).requireUsable()
                #expect(chown(path, 0, 0) == 0)
            }
            try Cache(root: root).requireUsable()
        }
    }
}
