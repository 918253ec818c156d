import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

/// Whether times of files tell of all writes where tests make theirs; in memory they do not, and nothing is remembered.
let temporaryFilesSettle: Bool = {
    let path = FileManager.default.temporaryDirectory.appending(path: "accelc-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    return FileManager.default.createFile(atPath: path, contents: Data([1])) && SyncedFile(path) != nil
}()

@Suite("Sources that have not changed are not read again")
struct ModelDigestsTests {
    private func withModel(_ body: (String, Cache) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let model = "\(folder)/model"
            try Files.makeFolder(model)
            try SafetensorsWriter.write(TinyModel().tensors, to: "\(model)/model.safetensors", as: .part)
            try write(Array("{}".utf8), to: "\(model)/config.json")
            // Its clock is ahead: the files are not young any more.
            let now = Int64(Date().timeIntervalSince1970 * 1e9)
            try body(model, Cache(root: "\(folder)/cache", clock: { now + 60_000_000_000 }))
        }
    }

    /// As schemas/package-format.md says.
    private func digest(of source: String, in model: String) throws -> Digest {
        let bytes = try MappedFile("\(model)/\(source)").bytes
        guard source.hasSuffix(".safetensors") else { return TreeDigest.digest(of: bytes) }
        let header = bytes.withBytes { Int($0.loadUnaligned(as: UInt64.self)) } + 8
        var parts = [bytes[0..<header]]
        for tensor in try SafetensorsFile(bytes, file: source).tensors { parts.append(tensor.bytes) }
        #expect(parts.reduce(0) { $0 + $1.count } == bytes.count)
        return SHA256.digest(of: ByteView(parts.flatMap { TreeDigest.digest(of: $0).bytes }))
    }

    @Test("digests are those of the files and tensors, with a memo and without")
    func digests() throws {
        try withModel { model, cache in
            let checkpoint = try Checkpoint(model: model)
            for turn in 0..<3 {
                let digests = try ModelDigests(checkpoint, cache: turn == 0 ? nil : cache, threads: 2)
                #expect(digests.sources.map(\.name) == ["config.json", "model.safetensors"])
                for source in digests.sources {
                    let bytes = try MappedFile("\(model)/\(source.name)").bytes
                    #expect(try source.digest == digest(of: source.name, in: model) && source.byteCount == bytes.count)
                }
                for tensor in checkpoint.tensors {
                    #expect(digests.digest(of: tensor) == TreeDigest.digest(of: tensor.bytes))
                    // Half of it, and others of its name, are other tensors.
                    let half = StoredTensor(
                        name: tensor.name, elementType: .uint8, shape: [tensor.bytes.count / 2],
                        bytes: tensor.bytes[0..<tensor.bytes.count / 2])
                    #expect(digests.digest(of: half) == TreeDigest.digest(of: half.bytes))
                    let made = StoredTensor(name: tensor.name, floats: [1, 2], shape: [2])
                    #expect(digests.digest(of: made) == TreeDigest.digest(of: made.bytes))
                }
            }
        }
    }

    @Test(
        "a memo is believed while the file is the same one, and not when it has changed",
        .enabled(if: temporaryFilesSettle))
    func memo() throws {
        try withModel { model, cache in
            let path = "\(model)/model.safetensors"
            _ = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            let identity = try #require(Files.identity(of: path))
            var memo = try #require(cache.memo(identity, tensors: 4))
            // A false memo shows that the tensors are not read again. The header is: it has to fit.
            let header = TreeDigest.digest(of: try SafetensorsFile(path).header)
            memo.tensors[0] = SHA256.digest(of: "false")
            memo.file = TreeDigest.combining([header] + memo.tensors)
            cache.store(memo)
            let believed = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            #expect(believed.sources.last?.digest == memo.file)
            memo.file = SHA256.digest(of: "another header")
            cache.store(memo)
            let read = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            #expect(try read.sources.last?.digest == digest(of: "model.safetensors", in: model))

            try SafetensorsWriter.write(TinyModel(seed: 9).tensors, to: path, as: .part)
            let changed = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            #expect(try changed.sources.last?.digest == digest(of: "model.safetensors", in: model))
        }
    }

    @Test("a memo of a file that was written or renamed two seconds ago or later is not stored")
    func times() throws {
        try withTemporaryFolder { folder in
            let cache = Cache(root: "\(folder)/cache", clock: { 1_000_000_000_000 })
            for (inode, seconds) in [(10, 10), (1.9, 10), (10, 1.9), (0, 0), (-5, 10), (2.1, 2.1)].enumerated() {
                let times = [seconds.0, seconds.1].map { cache.now - Int64($0 * 1e9) }
                let identity = FileIdentity(
                    device: 1, inode: UInt64(inode), size: 3, modifiedNanoseconds: times[0],
                    changedNanoseconds: times[1])
                cache.store(
                    DigestMemo(identity: identity, read: cache.now, file: SHA256.digest(of: "f"), tensors: []))
                let isOld = min(seconds.0, seconds.1) > 2
                #expect((cache.memo(identity, tensors: 0) != nil) == isOld, "\(seconds)")
            }
        }
    }

    @Test("a memo counts for a day", .enabled(if: temporaryFilesSettle))
    func age() throws {
        try withModel { model, cache in
            _ = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            let identity = try #require(Files.identity(of: "\(model)/model.safetensors"))
            let now = cache.now
            for (hours, isBelieved) in [(0.0, true), (23.9, true), (24.1, false), (-1, false)] {
                let later = Cache(root: cache.root, clock: { now + Int64(hours * 3.6e12) })
                #expect((later.memo(identity, tensors: 4) != nil) == isBelieved, "\(hours)")
            }
        }
    }

    @Test("no memo hides what is written through a shared map that was there before", arguments: folders)
    func maps(_ parent: String) throws {
        let folder = "\(parent)/accelc-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Files.makeFolder(folder)
        let path = "\(folder)/model.safetensors"
        try SafetensorsWriter.write(TinyModel().tensors, to: path, as: .part)
        try write(Array("{}".utf8), to: "\(folder)/config.json")
        let now = Int64(Date().timeIntervalSince1970 * 1e9)
        let cache = Cache(root: "\(folder)/cache", clock: { now + 60_000_000_000 })
        let size = try MappedFile(path).bytes.count
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        let map = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0))
        defer { munmap(map, size) }
        let last = map.advanced(by: size - 1).assumingMemoryBound(to: UInt8.self)
        last.pointee ^= 1
        // That they stay is what makes a memo wrong: the control.
        Thread.sleep(forTimeInterval: 0.02)
        let first = Files.identity(of: path)
        last.pointee ^= 1
        #expect(Files.identity(of: path) == first)
        for _ in 0..<3 {
            let digests = try ModelDigests(Checkpoint(model: folder), cache: cache, threads: 2)
            #expect(try digests.sources.last?.digest == digest(of: "model.safetensors", in: folder))
            Thread.sleep(forTimeInterval: 0.02)
            last.pointee ^= 1
        }
    }

    /// On a disk, as a rule, and in memory, where there is such a folder.
    private static let folders = [FileManager.default.temporaryDirectory.path, "/dev/shm"].filter {
        Files.kind(of: $0) == .folder && FileManager.default.isWritableFile(atPath: $0)
    }

    @Test("a file that was changed a moment ago gets no memo: it could change again at the same time")
    func young() throws {
        try withModel { model, cache in
            let cache = Cache(root: cache.root)
            _ = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            let identity = try #require(Files.identity(of: "\(model)/model.safetensors"))
            #expect(cache.memo(identity, tensors: 4) == nil)
        }
    }

    @Test("a file that changes during the conversion is noticed")
    func changing() throws {
        try withModel { model, cache in
            let digests = try ModelDigests(Checkpoint(model: model), cache: cache, threads: 2)
            try digests.requireUnchanged()
            try write(Array("{ }".utf8), to: "\(model)/config.json")
            #expect(throws: RequestError.self) { try digests.requireUnchanged() }
        }
    }
}
