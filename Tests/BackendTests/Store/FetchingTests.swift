import Accel
import AccelByteIO
import Foundation
import TestSupport
import Testing

@Suite("Packages on their way to a store")
struct FetchingTests {
    private struct Failing: PackageFetcher {
        let error: any Error & Sendable
        func fetch(
            into folder: String, progress: @escaping @Sendable (Int, Int?) -> Void
        ) async throws -> String {
            try Data("part".utf8).write(to: URL(filePath: "\(folder)/part"))
            throw error
        }
    }

    /// Writes a package of the store's folder, slowly and without an end.
    private struct Endless: PackageFetcher {
        let started: AsyncStream<Void>.Continuation
        func fetch(
            into folder: String, progress: @escaping @Sendable (Int, Int?) -> Void
        ) async throws -> String {
            try Data("part".utf8).write(to: URL(filePath: "\(folder)/part"))
            started.yield()
            for done in 1... {
                progress(done * 1000, nil)
                try await Task.sleep(for: .milliseconds(1))
            }
            return folder
        }
    }

    private func pieces(of path: String, _ count: Int = 1000) throws -> AsyncStream<[UInt8]> {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        return AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: count) {
                continuation.yield(Array(bytes[start..<min(start + count, bytes.count)]))
            }
            continuation.finish()
        }
    }

    @Test("an archive that arrives in pieces is the package of its bytes; a cut one is none")
    func streams() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let path = try bench.package(NumberedModel(5), asArchive: true)
        let size = Int(try #require(Files.identity(of: path)).size)
        let update = store.update("m", from: StreamedPackage(try pieces(of: path), byteCount: size))
        var last = 0
        for await event in update.events where event.kind == .fetching { last = event.done }
        #expect(last == size)
        #expect(try await StoreBench.number(in: store) == 5)
        #expect(try await update.value.byteCount == size)
        let error = await #expect(throws: AccelError.self) {
            try await store.update("m", from: StreamedPackage(try pieces(of: path), byteCount: size + 1)).value
        }
        #expect(error?.code == .corrupt)
    }

    @Test("what a fetcher fails with is the update's error, and nothing of it is left")
    func failures() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        let before = try bench.entries()
        let error = await #expect(throws: AccelError.self) {
            try await store.update("m", from: Failing(error: RequestError("the server sleeps"))).value
        }
        #expect(error?.problem == "the server sleeps")
        #expect(try bench.entries() == before)
    }

    @Test("a package that grows beyond the profile is stopped on its way, and so is a cancelled one")
    func endless() async throws {
        let bench = try StoreBench()
        let store = try bench.store(profile: DeviceProfile("tiny", packageBytes: 20_000))
        let before = try bench.entries()
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        let error = await #expect(throws: AccelError.self) {
            try await store.update("m", from: Endless(started: continuation)).value
        }
        #expect(error?.code == .storage && error?.problem.contains("tiny") == true)
        #expect(try bench.entries() == before)

        let roomy = try bench.store()
        let update = roomy.update("m", from: Endless(started: continuation))
        var iterator = started.makeAsyncIterator()
        _ = await iterator.next()
        _ = await iterator.next()
        // Meanwhile nobody else updates the model.
        let busy = await #expect(throws: AccelError.self) { try await roomy.update(from: bench.folder) }
        #expect(busy?.code == .busy)
        update.cancel()
        let cancelled = await #expect(throws: AccelError.self) { try await update.value }
        #expect(cancelled?.code == .cancelled)
        #expect(try bench.entries() == before)
    }
}
