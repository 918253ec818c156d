import AccelByteIO
import AccelTensors
import Synchronization

/// The threads of an executor, each with memory of its own that lasts from call to call.
///
/// Work is cut into pieces by its size alone, never by the number of threads, and each piece writes its own part of the
/// result: so the result does not depend on how many threads there are or which of them is first.
final class Workers {
    let count: Int
    private var scratch: [Scratch]

    init(count: Int) {
        self.count = max(count, 1)
        scratch = (0..<self.count).map { _ in Scratch() }
    }

    /// Calls `body` once for each of `0..<pieces`, with `scratchFloats` floats of any content for its use.
    func forEach(
        _ pieces: Int, scratchFloats: Int = 0, _ body: @Sendable (Int, UnsafeMutablePointer<Float>) -> Void
    ) {
        guard pieces > 0 else { return }
        let threads = min(count, pieces)
        for index in 0..<threads { scratch[index].reserve(scratchFloats) }
        let scratch = scratch
        let next = Atomic(0)
        // The body throws nothing, so neither does the loop.
        try? Parallel.forEach(threads, threads: threads) { worker in
            while true {
                let piece = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard piece < pieces else { return }
                body(piece, scratch[worker].floats)
            }
        }
    }

    /// Calls `body` with ranges that cover `0..<rows`, each with about `elements` elements in rows of `width`.
    func forEachRows(
        _ rows: Int, width: Int, elements: Int = 1 << 13, _ body: @Sendable (Range<Int>) -> Void
    ) {
        let rowsAtOnce = max(1, elements / max(width, 1))
        forEach((rows + rowsAtOnce - 1) / rowsAtOnce) { piece, _ in
            body(piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, rows))
        }
    }

    /// Memory of one worker; only the piece that the worker is at uses it.
    private struct Scratch: @unchecked Sendable {
        private var buffer = ByteBuffer(count: 64)

        var floats: UnsafeMutablePointer<Float> {
            // A buffer's memory is there even when it is empty.
            buffer.bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: Float.self)
        }

        mutating func reserve(_ count: Int) {
            guard buffer.bytes.count < count * MemoryLayout<Float>.stride else { return }
            buffer = ByteBuffer(count: count * MemoryLayout<Float>.stride)
        }
    }
}
