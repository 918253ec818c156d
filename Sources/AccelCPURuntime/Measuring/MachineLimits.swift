import AccelByteIO
import AccelTensors
import CAccelKernels

/// The measured limits of this machine, which kernels are compared with.
public struct MachineLimits: Sendable {
    /// Multiply-adds of float32 in a second, in registers, by all threads together.
    public let multiplyAddsPerSecond: Double
    /// Bytes in a second that all threads together read from memory outside of the caches.
    public let bytesPerSecond: Double

    /// Measures the limits, which takes less than a second. Each is the best of several attempts.
    /// - Parameter threads: the number of threads that work at once.
    /// - Throws: `RequestError` without 256 MB of free memory.
    public init(measuring threads: Int) throws {
        let threads = max(threads, 1)
        let rounds = 1 << 22
        var result: Float = 0
        let count = ck_multiply_adds(1, &result) * rounds
        multiplyAddsPerSecond = try Self.best(of: 5, threads, amount: count) { _ in
            var result: Float = 0
            _ = ck_multiply_adds(rounds, &result)
        }
        let buffer = try ByteBuffer(allocating: 1 << 28, for: "the measurement of memory")
        buffer.bytes.initializeMemory(as: UInt8.self, repeating: 1)
        let words = buffer.bytes.count / 8 / threads
        bytesPerSecond = try Self.best(of: 3, threads, amount: words * 8) { thread in
            let start = buffer.bytes.baseAddress.map { $0.assumingMemoryBound(to: UInt64.self) + thread * words }
            _ = ck_read_memory(start, words)
        }
    }

    /// - Parameter amount: what one thread does.
    private static func best(
        of rounds: Int, _ threads: Int, amount: Int, _ body: @Sendable (Int) -> Void
    ) throws -> Double {
        let clock = ContinuousClock()
        var least = Duration.seconds(3600)
        for _ in 0..<rounds {
            let start = clock.now
            try Parallel.forEach(threads, threads: threads, body)
            least = min(least, clock.now - start)
        }
        return Double(amount * threads) / max(least / .seconds(1), 1e-9)
    }
}
