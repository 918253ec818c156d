import AccelByteIO
import AccelPackages

/// One of several shards of a conversion's weights. The split depends on the conversion alone, so each process computes its
/// shard without knowing of the others.
public struct WeightShard: Equatable, Sendable, CustomStringConvertible {
    private static let most = 1 << 16
    /// The index of the shard, from 1 to `count`.
    public let number: Int
    /// The number of shards, at most 65536.
    public let count: Int

    /// A shard by its number.
    /// - Throws: `RequestError` unless 1 <= number <= count <= 65536.
    public init(_ number: Int, of count: Int) throws {
        guard (1...Self.most).contains(count), (1...count).contains(number) else {
            throw RequestError(
                "shard \(number)/\(count): expected I/N, share I of N, with I from 1 to N and N at most \(Self.most)")
        }
        (self.number, self.count) = (number, count)
    }

    /// Parses a shard, e.g. `2/4`; or `auto`, the job of an array job of Slurm, Kubernetes or AWS Batch; or `auto/4`, the same where the
    /// scheduler does not state the count.
    /// - Parameter environment: the process's variables.
    /// - Throws: `RequestError` if the text is none of these, or the environment describes no such job.
    public init(parsing text: String, environment: [String: String] = [:]) throws {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        let count = sides.count == 2 ? Int(sides[1]) : nil
        if sides[0] == "auto", sides.count == 1 || count != nil {
            let job = try ArrayJob(environment, count: count)
            try self.init(job.number, of: job.count)
            return
        }
        guard let number = Int(sides[0]), let count else {
            throw RequestError("shard \(text): expected I/N, share I of N, e.g. 1/4, or auto in an array job")
        }
        try self.init(number, of: count)
    }

    public var description: String { "\(number)/\(count)" }

    /// Returns the jobs of this shard; each job belongs to exactly one. Jobs are assigned largest first, each to the shard with
    /// the fewest bytes so far. Duplicates count once, and the order of `jobs` does not matter.
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
