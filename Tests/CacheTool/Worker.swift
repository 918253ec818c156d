import AccelByteIO
import AccelPackages
import Foundation
import TestSupport

/// One of many processes over one cache.
struct Worker {
    private let cache: Cache
    private let count: Int
    private let folder: String
    private var generator: SeededGenerator
    private(set) var (hits, made, cleaned, twice) = (0, 0, 0, 0)
    private static let seeds = 24

    /// - Parameter folder: where each notes what it is making, so that two that make the same are found out.
    init(_ root: String, seed: Int, count: Int, folder: String) {
        cache = Cache(root: root)
        self.count = count
        self.folder = folder
        generator = SeededGenerator(seed: UInt64(seed))
    }

    mutating func run(seconds: Int) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let result = try SeededResult(Int.random(in: 0..<Self.seeds, using: &generator), count: count)
            switch Int.random(in: 0..<16, using: &generator) {
            case 0:
                // No one pauses for three seconds between a blob and its record.
                _ = try cache.collect(
                    maximumBytes: Int.random(in: 0...8, using: &generator) * count * 4, graceSeconds: 3)
                cleaned += 1
            case 1: _ = try result.store(in: Cache(root: cache.root))
            default: try take(result)
            }
        }
    }

    private mutating func take(_ result: SeededResult) throws {
        // A value of its own: leases of the past must not keep everything.
        let cache = Cache(root: cache.root)
        func find() throws -> Bool {
            guard let isRight = try result.found(in: cache) else { return false }
            guard isRight else {
                FileHandle.standardError.write(Data("wrong bytes\n".utf8))
                exit(1)
            }
            return true
        }
        if try find() {
            hits += 1
            return
        }
        let claim = cache.claim(result.key)
        if try find() {
            hits += 1
            return
        }
        let note = "\(folder)/\(result.key.digest)"
        if claim.isShared {
            if let text = try? String(contentsOfFile: note, encoding: .utf8), let other = Int32(text),
                other != getpid(),
                lives(other)
            {
                twice += 1
            }
            try Data("\(getpid())".utf8).write(to: URL(filePath: note))
        }
        _ = try result.store(in: cache)
        if claim.isShared { try? FileManager.default.removeItem(atPath: note) }
        made += 1
        _ = withExtendedLifetime(claim) { claim.hasWaited }
    }

    /// A process that was killed has a number until its parent notices, and no locks any more.
    private func lives(_ process: Int32) -> Bool {
        let end = ContinuousClock.now + .seconds(5)
        while kill(process, 0) == 0 {
            if ContinuousClock.now > end { return true }
            usleep(10_000)
        }
        return false
    }
}
