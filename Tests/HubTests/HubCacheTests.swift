import AccelByteIO
import AccelPlatform
import Foundation
import HubTestSupport
import Testing

@testable import AccelHub

@Suite("The Hub's cache")
struct HubCacheTests {
    private func createLink(_ path: String, to target: String) throws {
        try Files.makeFolder(Files.parentFolder(of: path) ?? "/")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    @Test("keeps a file that is in the snapshot, whatever it holds")
    func present() throws {
        try Scene.with { scene in
            try Files.makeFolder(scene.snapshot())
            let text = #"{"model_type":"gpt2"}"#
            try AtomicFile.write(text, to: "\(scene.snapshot())/config.json", as: .internal)
            _ = try scene.fetch()
            #expect(try scene.bytes("\(scene.snapshot())/config.json") == Array(text.utf8))
            #expect(scene.server.requests(of: "config.json").isEmpty)
        }
    }

    @Test("does not use a file of another size", arguments: [true, false])
    func otherSize(inSnapshot: Bool) throws {
        try Scene.with { scene in
            let path = inSnapshot ? "\(scene.snapshot())/config.json" : scene.blob(Scene.model["config.json"])
            try Files.makeFolder(Files.parentFolder(of: path) ?? "/")
            try AtomicFile.write("{}", to: path, as: .internal)
            #expect(
                scene.error() == HubError(.cacheFailure, subject: path, expected: "21 bytes", found: "2"))
            #expect(try scene.bytes(path) == Array("{}".utf8))
        }
    }

    @Test("links a blob that is there, without a request for it")
    func blob() throws {
        try Scene.with { scene in
            let blob = scene.blob(Scene.model["model.safetensors"])
            try Files.makeFolder("\(scene.repositoryFolder)/blobs")
            let bytes = Scene.model["model.safetensors"]?.bytes ?? []
            try AtomicFile.write(ByteView(bytes), to: blob, as: .internal)
            let headers = Locked(0)
            let checks = HubChecks(headers: { _, found in
                headers.withLock { $0 += found.count }
                #expect(found[0].bytes == ByteView(Array(bytes.prefix(8 + Int(bytes[0])))))
            })
            _ = try scene.fetch(checks: checks)
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.content.requests.isEmpty)
            #expect(headers.withLock { $0 } == 1)
        }
    }

    @Test("replaces links that lead to nothing, and no others")
    func brokenLinks() throws {
        try Scene.with { scene in
            try createLink("\(scene.snapshot())/config.json", to: "../../blobs/removed")
            _ = try scene.fetch()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
        try Scene.with { scene in
            try Files.makeFolder("\(scene.snapshot())/config.json")
            #expect(scene.error()?.code == .cacheFailure)
            #expect(Files.kind(of: "\(scene.snapshot())/config.json") == .folder)
        }
    }

    @Test("does not write through links in the place of an incomplete file")
    func incompleteLink() throws {
        try Scene.with { scene in
            let target = "\(scene.folder)/mine"
            try AtomicFile.write("mine", to: target, as: .internal)
            try createLink("\(scene.blob(Scene.model["config.json"])).incomplete", to: target)
            #expect(scene.error()?.code == .cacheFailure)
            #expect(try scene.bytes(target) == Array("mine".utf8))
        }
    }

    @Test("that has all files is used, even if nothing can be recorded")
    func unrecordable() throws {
        try Scene.with { scene in
            _ = try scene.fetch()
            for name in [".accelc", "refs"] {
                try Files.removeTree("\(scene.repositoryFolder)/\(name)")
                try AtomicFile.write("", to: "\(scene.repositoryFolder)/\(name)", as: .internal)
            }
            scene.server.forget()
            for _ in 0..<2 { #expect(try scene.fetch().folder == scene.snapshot()) }
            #expect(scene.server.requests.count == 2)
        }
    }

    @Test("that cannot be written is named")
    func unwritable() throws {
        try Scene.with { scene in
            try AtomicFile.write("", to: "\(scene.folder)/hub", as: .internal)
            let error = scene.error()
            #expect(error?.code == .cacheFailure)
            #expect(error?.subject.hasPrefix("\(scene.folder)/hub/") == true)
        }
    }

    @Test("on a full disk ends a download, and keeps what was written")
    func fullDisk() throws {
        #if os(Linux)
            let digest = try #require(ContentDigest(etag: String(repeating: "0", count: 64)))
            let full = FileDescriptor(open("/dev/full", O_WRONLY))
            let blob = try IncompleteBlob(full, path: "x.incomplete", final: "x", digest, byteCount: 10, count: 0)
            let error = #expect(throws: HubError.self) {
                try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try blob.append($0) }
            }
            #expect(error?.code == .noSpace)
            #expect(error?.subject == "x.incomplete")
            #expect(blob.count == 0)
        #endif
    }

    @Test("waits while another process downloads the same blob")
    func locks() throws {
        try Scene.with { scene in
            let locks = "\(scene.folder)/hub/.locks/models--owner--model"
            try Files.makeFolder(locks)
            let lock = open("\(locks)/\(Scene.model["tokenizer.json"]?.etag ?? "").lock", O_RDWR | O_CREAT, 0o644)
            #expect(flock(lock, LOCK_EX) == 0)
            let (scene, result) = (scene, WorkQueue<Result<HubSnapshot, any Error>>())
            DetachedThread.start { result.add(Result { try scene.fetch() }) }
            // The weights are beside it.
            while scene.content.sentBytes < Scene.model["model.safetensors"]?.bytes.count ?? 0 { usleep(1000) }
            usleep(100_000)
            #expect(scene.server.requests(of: "tokenizer").isEmpty)
            close(lock)
            _ = try result.next()?.get()
            try scene.expectSnapshot(.modelNames, of: Scene.model)
        }
    }

    @Test("gets each byte once for two downloads at the same time")
    func twice() throws {
        try Scene.with { scene in
            scene.content.fail("/content/", .slow(microseconds: 5_000), times: 4)
            let (scene, results) = (scene, WorkQueue<Result<HubSnapshot, any Error>>())
            for _ in 0..<2 { DetachedThread.start { results.add(Result { try scene.fetch() }) } }
            for _ in 0..<2 { _ = try results.next()?.get() }
            try scene.expectSnapshot(.modelNames, of: Scene.model)
            #expect(scene.content.sentBytes == Scene.model["model.safetensors"]?.bytes.count)
        }
    }
}
