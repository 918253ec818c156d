import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelPackages

/// A file mapped so that what is written to it is in the file at once, and after the first time leaves its times alone.
private final class SharedMap {
    private let memory: UnsafeMutablePointer<UInt8>
    private let count: Int

    init(_ path: String) throws {
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        count = Int(try #require(Files.identity(of: path)).size)
        let address = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        memory = try #require(address == MAP_FAILED ? nil : address).assumingMemoryBound(to: UInt8.self)
    }

    func flip(_ offset: Int) { memory[count - 1 - offset] ^= 0x40 }

    deinit { munmap(memory, count) }
}

@Suite("Nothing is kept under a digest that is not that of the bytes it was made of")
struct ChangingSourcesTests {
    /// A model whose last tensor's bytes end the file, and a conversion of it up to where it is kept.
    private func withModel(_ body: (_ folder: String, _ cache: Cache) throws -> Void) throws {
        try withTemporaryFolder { folder in
            try SafetensorsWriter.write(
                TinyModel(width: 64, rows: 64).tensors, to: "\(folder)/model.safetensors", as: .part)
            try write(Array("{}".utf8), to: "\(folder)/config.json")
            let now = Int64(Date().timeIntervalSince1970 * 1e9)
            try body(folder, Cache(root: "\(folder)/cache", clock: { now + 60_000_000_000 }))
        }
    }

    private func compress(
        _ checkpoint: Checkpoint, _ digests: ModelDigests, _ cache: Cache?, reading: Bool = true
    ) throws -> KeptTensors {
        let kept = KeptTensors(cache: cache, digests: digests, output: "\(checkpoint.folder)/out", model: "tiny")
        for tensor in checkpoint.tensors {
            let codec = try Codecs.codec(tensor.shape.rank > 1 ? "int8" : "float16")
            guard try kept.stored(tensor, codec) == nil else { continue }
            let source = reading ? try kept.reading(tensor, threads: 2) : tensor
            let made = try CompressedTensor.compressing(source, with: codec, threads: 2)
            _ = try kept.store(tensor, made.tensor, made.distortion)
        }
        return kept
    }

    @Test("a copy has the digest that is known, whatever the size, and is the same tensor")
    func copies() throws {
        try withModel { folder, cache in
            let checkpoint = try Checkpoint(model: folder)
            for digests in [
                try ModelDigests(checkpoint, cache: nil, threads: 2),
                try ModelDigests(checkpoint, cache: cache, threads: 2),
            ] {
                for tensor in checkpoint.tensors {
                    #expect(!digests.isConfirmed(tensor))
                    let copy = try digests.copy(of: tensor, threads: 2)
                    #expect(copy.bytes == tensor.bytes && MemoryRange(copy.bytes) != MemoryRange(tensor.bytes))
                    #expect(digests.digest(of: tensor) == TreeDigest.digest(of: tensor.bytes))
                    #expect(digests.isConfirmed(tensor))
                }
                let made = StoredTensor(name: "made", floats: [1, 2], shape: [2])
                #expect(try MemoryRange(digests.copy(of: made, threads: 1).bytes) == MemoryRange(made.bytes))
                #expect(digests.isConfirmed(made))
            }
        }
    }

    @Test("with a change after the lookup nothing of it is kept, and the run ends", arguments: [true, false])
    func changed(throughMap: Bool) throws {
        try withModel { folder, cache in
            let path = "\(folder)/model.safetensors"
            let map = try SharedMap(path)
            map.flip(0)
            let checkpoint = try Checkpoint(model: folder)
            _ = try ModelDigests(checkpoint, cache: cache, threads: 2)
            let digests = try ModelDigests(checkpoint, cache: cache, threads: 2)
            if throughMap {
                map.flip(3)
            } else {
                let file = try FileHandle(forWritingTo: URL(filePath: path))
                try file.seek(toOffset: UInt64(try #require(Files.identity(of: path)).size) - 4)
                try file.write(contentsOf: Data([1, 2, 3, 4]))
                try file.close()
            }
            #expect(throws: RequestError.self) { try compress(checkpoint, digests, cache) }
            // The other tensors are right, and kept; a run on the changed file, which is sound now, does not find the old digest.
            #expect(cache.entries.count < checkpoint.tensors.count)
            let again = try Checkpoint(model: folder)
            let new = try ModelDigests(again, cache: cache, threads: 2)
            for tensor in again.tensors { #expect(new.digest(of: tensor) == TreeDigest.digest(of: tensor.bytes)) }
            _ = try compress(again, new, cache)
            try new.requireUnchanged(used: Set(again.tensors.map(\.name)))
        }
    }

    @Test("what was compressed where it is mapped is not kept: the copy is what counts")
    func unread() throws {
        try withModel { folder, cache in
            let checkpoint = try Checkpoint(model: folder)
            let digests = try ModelDigests(checkpoint, cache: cache, threads: 2)
            _ = try compress(checkpoint, digests, cache, reading: false)
            #expect(cache.entries.isEmpty)
            _ = try compress(checkpoint, digests, cache)
            #expect(!cache.entries.isEmpty)
        }
    }

    @Test("what was used in place is hashed again at the end; what was copied, or is not used, is not")
    func usedInPlace() throws {
        try withModel { folder, _ in
            let map = try SharedMap("\(folder)/model.safetensors")
            map.flip(0)
            let checkpoint = try Checkpoint(model: folder)
            let last = try #require(checkpoint.files[0].tensors.last)
            // Without a cache no file is synced, so its times stay when it is written again through the map.
            let digests = try ModelDigests(checkpoint, cache: nil, threads: 2)
            _ = try digests.copy(of: last, threads: 1)
            try digests.requireUnchanged(used: [last.name], isReadInPlace: true)
            map.flip(0)
            #expect(throws: RequestError.self) { try digests.requireUnchanged(used: [last.name], isReadInPlace: true) }
            let unread = try ModelDigests(checkpoint, cache: nil, threads: 2)
            try unread.complete()
            map.flip(1)
            #expect(throws: RequestError.self) { try unread.requireUnchanged(used: [last.name]) }
        }
    }

    @Test("a file that is opened once the key is made is an error: it would not be in it")
    func late() throws {
        try withModel { folder, cache in
            try write(Array("{}".utf8), to: "\(folder)/late.json")
            let checkpoint = try Checkpoint(model: folder)
            let digests = try ModelDigests(checkpoint, cache: cache, threads: 2)
            try digests.requireUnchanged()
            _ = try checkpoint.document("late.json")
            let error = #expect(throws: RequestError.self) { try digests.requireUnchanged() }
            #expect(error?.exitStatus == .internalFailure)
        }
    }
}
