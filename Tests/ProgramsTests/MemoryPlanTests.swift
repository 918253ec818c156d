import TestSupport
import Testing

@testable import Programs

@Suite("Memory plan")
struct MemoryPlanTests {
    @Test("Buffers in use at the same time never overlap, and every offset is aligned", arguments: 0..<50)
    func noOverlap(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let buffers = (0..<Int.random(in: 1...40, using: &random)).map { _ in
            let first = Int.random(in: 0...30, using: &random)
            return MemoryPlan.Buffer(
                byteCount: Int.random(in: 0...5000, using: &random),
                lifetime: first...first + Int.random(in: 0...8, using: &random))
        }
        let plan = MemoryPlan(buffers)
        for (i, a) in buffers.enumerated() {
            #expect(plan.offsets[i] % 64 == 0)
            #expect(plan.offsets[i] + a.byteCount <= plan.arenaBytes)
            for (j, b) in buffers.enumerated() where j > i && a.lifetime.overlaps(b.lifetime) {
                let apart =
                    plan.offsets[i] + a.byteCount <= plan.offsets[j]
                    || plan.offsets[j] + b.byteCount <= plan.offsets[i]
                #expect(apart, "buffers \(i) and \(j)")
            }
        }
    }

    @Test("A chain of values needs no more than its two largest neighbours")
    func chain() {
        let buffers = (0..<10).map { MemoryPlan.Buffer(byteCount: 6400, lifetime: $0...$0 + 1) }
        #expect(MemoryPlan(buffers).arenaBytes == 12800)
    }
}
