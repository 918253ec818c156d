import AccelByteIO
import AccelPackages

/// One of several shares of a conversion's work. Each share is what it is whoever asks: a process needs to know nothing of the
/// others.
public struct WeightShard: Equatable, Sendable, CustomStringConvertible {
    private static let most = 1 << 16
    /// 1 to `count`.
    public let number: Int
    public let count: Int

    /// - Throws: `RequestError` unless 1 <= number <= count.
    public init(_ number: Int, of count: Int) throws {
        guard (1...Self.most).contains(count), (1...count).contains(number) else {
            throw RequestError(
                "shard \(number)/\(count): expected I/N, share I of N, with I from 1 to N and N at most \(Self.most)")
        }
        (self.number, self.count) = (number, count)
    }

    /// - Parameter text: e.g. `2/4`
    public init(parsing text: String) throws {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let number = sides[0], let count = sides[1] else {
            throw RequestError("shard \(text): expected I/N, share I of N, e.g. 1/4")
        }
        try self.init(number, of: count)
    }

    public var description: String { "\(number)/\(count)" }

    /// The jobs of this share, of which each is in exactly one: the largest first, each to the share that has the fewest
    /// bytes so far. Equal jobs count once; the order of `jobs` does not matter.
    func share(of jobs: [WeightJob]) -> [WeightJob] {
        var seen: Set<Digest> = []
        let ordered = jobs.filter { seen.insert($0.key.digest).inserted }.sorted {
            ($1.byteCount, $0.key.digest) < ($0.byteCount, $1.key.digest)
        }
        var bytes = [Int](repeating: 0, count: count)
        return ordered.filter { job in
            let least = bytes.indices.min { (bytes[$0], $0) < (bytes[$1], $1) } ?? 0
            bytes[least] += max(job.byteCount, 1)
            return least == number - 1
        }
    }
}
