import AccelByteIO
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import AccelConversion
@testable import AccelPackages

@Suite("Results that are looked for before they are made")
struct CachedBuildTests {
    /// A result that lies in memory.
    private final class Shelf: CachedResult, Sendable {
        let kept = Locked<[Digest: String]>([:])
        let events = Locked<[String]>([])

        func note(_ event: String) { events.withLock { $0.append(event) } }
        func find(_ key: CacheKey, in cache: Cache) -> String? { kept.withLock { $0[key.digest] } }
        func store(_ draft: String, as key: CacheKey, in cache: Cache) {
            note("store")
            kept.withLock { $0[key.digest] = draft }
        }
        func digest(of product: String) -> Digest? { SHA256.digest(of: product) }
        func digest(under key: CacheKey, in cache: Cache) -> Digest? {
            find(key, in: cache).map { SHA256.digest(of: $0) }
        }

        func build(_ build: CachedBuild<Shelf>, _ text: String) throws -> String {
            let made = try build.run {
                note("make")
                return text
            } publish: {
                note("publish")
                return $0
            }
            return "\(made.product) \(made.cache)"
        }
    }
    private let key = CacheKey(kind: .package, fields: [.init("x", "1")])

    @Test("Made, stored, published, in this order; then found")
    func order() throws {
        try withTemporaryFolder { (folder: String) throws in
            let (shelf, cache) = (Shelf(), Cache(root: folder))
            let build = CachedBuild(shelf, as: key, in: cache)
            #expect(try shelf.build(build, "a") == "a miss")
            #expect(shelf.events.withLock { $0 } == ["make", "store", "publish"])
            #expect(try shelf.build(build, "b") == "a hit")
            #expect(shelf.events.withLock(\.count) == 3)
        }
    }

    @Test("Without a cache it is made and published; without a key it is not stored")
    func unkept() throws {
        try withTemporaryFolder { (folder: String) throws in
            let shelf = Shelf()
            #expect(try shelf.build(CachedBuild(shelf, as: nil, in: nil), "a") == "a off")
            #expect(try shelf.build(CachedBuild(shelf, as: nil, in: Cache(root: folder)), "a") == "a miss")
            #expect(shelf.events.withLock { $0 } == ["make", "publish", "make", "publish"])
        }
    }

    @Test("Made anew, it is compared with what was there before")
    func compared() throws {
        try withTemporaryFolder { (folder: String) throws in
            let shelf = Shelf()
            var build = CachedBuild(shelf, as: key, in: Cache(root: folder))
            build.isAnew = true
            let first = CacheComparison()
            build.comparison = first
            #expect(try shelf.build(build, "a") == "a miss")
            #expect((first.count, first.missing, first.differing) == (0, 1, []))
            for (text, differing) in [("a", []), ("b", ["the package"])] {
                let comparison = CacheComparison()
                build.comparison = comparison
                #expect(try shelf.build(build, text) == "\(text) miss")
                #expect((comparison.count, comparison.missing, comparison.differing) == (1, 0, differing))
            }
        }
    }

    @Test("Two that want the same at once: one makes it, the other waits and finds it")
    func claimed() throws {
        try withTemporaryFolder { (folder: String) throws in
            let (shelf, caches) = (Shelf(), [Cache(root: folder), Cache(root: folder)])
            let (key, outcomes) = (key, Locked<[CacheOutcome]>([]))
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                let build = CachedBuild(shelf, as: key, in: caches[index])
                let made = try? build.run {
                    shelf.note("make")
                    Thread.sleep(forTimeInterval: 0.1)
                    return "a"
                } publish: {
                    $0
                }
                if let made { outcomes.withLock { $0.append(made.cache) } }
            }
            #expect(shelf.events.withLock { $0.filter { $0 == "make" }.count } == 1)
            #expect(Set(outcomes.withLock { $0 }) == [.hit, .miss])
        }
    }

    @Test("A failure leaves nothing stored, and nobody waits for it")
    func failed() throws {
        try withTemporaryFolder { (folder: String) throws in
            let (shelf, cache) = (Shelf(), Cache(root: folder))
            let build = CachedBuild(shelf, as: key, in: cache)
            #expect(throws: RequestError.self) {
                try build.run(make: { throw RequestError("no") }, publish: { $0 })
            }
            #expect(try shelf.build(build, "a") == "a miss")
        }
    }
}
