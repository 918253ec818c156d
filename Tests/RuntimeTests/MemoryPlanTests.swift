import AccelByteIO
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Memory plan")
struct MemoryPlanTests {
    @Test("Buffers in use at the same time never overlap, and every offset is aligned", arguments: 0..<50)
    func noOverlap(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let buffers = (0..<Int.random(in: 1...40, using: &random)).map { _ in
            let first = Int.random(in: 0...30, using: &random)
            return MemoryPlan.Buffer(
                byteCount: Int.random(in: 0...5000, using: &random),
                lifetime: first...first + Int.random(in: 0...8, using: &random))
        }
        let plan = try MemoryPlan(buffers, of: "f")
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
    func chain() throws {
        let buffers = (0..<10).map { MemoryPlan.Buffer(byteCount: 6400, lifetime: $0...$0 + 1) }
        #expect(try MemoryPlan(buffers, of: "f").arenaBytes == 12800)
    }

    @Test("A function that would need more memory or work than any real one is rejected, and no sum overflows")
    func limits() {
        let large = (0..<3).map { _ in MemoryPlan.Buffer(byteCount: 1 << 39, lifetime: 0...0) }
        let error = #expect(throws: RequestError.self) { try MemoryPlan(large, of: "f") }
        #expect(error?.description.contains("needs more than 1 TiB") == true)
        #expect(throws: RequestError.self) { try MemoryPlan([.init(byteCount: 1 << 51, lifetime: 0...0)], of: "f") }
        let many = (0..<20_000).map { MemoryPlan.Buffer(byteCount: 64, lifetime: $0...20_000) }
        let crowded = #expect(throws: RequestError.self) { try MemoryPlan(many, of: "f") }
        #expect(crowded?.description.contains("too many values at the same time") == true)
    }
}
