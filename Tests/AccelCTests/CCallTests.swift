import CCalls
import TestSupport
import Testing

@Suite("Calls of C with any arguments", .serialized)
struct CCallTests {
    @Test("give a status of the header, and harm nothing", arguments: 0..<4)
    func any(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<60 {
            let calls = CCalls((0..<600).map { _ in UInt8.random(in: 0...255, using: &generator) })
            for _ in 0..<64 where calls.hasMore { calls.call() }
        }
    }
}
