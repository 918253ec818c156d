import AccelByteIO
import AccelPrograms
import AccelTensors
import Testing

@testable import AccelCPURuntime
@testable import LoadTool

@Suite("Pieces of steps")
struct PieceTests {
    @Test("blocks cover every element once, and none is longer than it may be", arguments: [0, 1, 7, 64, 65, 200])
    func blocks(width: Int) {
        for rows in [0, 1, 3, 130] {
            let seen = Locked([Int](repeating: 0, count: rows * width))
            let longest = Locked(0)
            let step = KernelStep.blocks(rows, width: width, elements: 64) { range, columns in
                longest.withLock { $0 = max($0, range.count * columns.count) }
                seen.withLock { seen in
                    for row in range { for column in columns { seen[row * width + column] += 1 } }
                }
            }
            withUnsafeTemporaryAllocation(of: Float.self, capacity: 1) { scratch in
                guard let start = scratch.baseAddress else { return }
                for piece in 0..<step.pieces { step.body(piece, start) }
            }
            #expect(seen.withLock { $0.allSatisfy { $0 == 1 } })
            #expect(longest.withLock { $0 } <= 64)
        }
    }

    /// The work between two questions whether a run has to end: at most some milliseconds.
    private static let (elements, multiplyAdds) = (1 << 16, 1 << 23)

    @Test(
        "a run of any operator asks often whether it has to end, and leaves nothing behind when it does",
        arguments: Operators.all.map { $0.name })
    func cancellation(operation: String) throws {
        let loads = try #require(OperatorLoads(scale: 8).all.first { $0.operation == operation }).loads
        for make in loads {
            let load = try make()
            let session = try Session(load.program)
            func run(asking most: Int) throws -> (outputs: [HostTensor]?, questions: Int) {
                let questions = Locked(0)
                let cancellation = Cancellation(or: {
                    questions.withLock {
                        $0 += 1
                        return $0 > most
                    }
                })
                let outputs = try? session.run(0, load.inputs, until: cancellation).map { HostTensor($0) }
                return (outputs, questions.withLock { $0 })
            }
            let whole = try run(asking: .max)
            // Other questions are asked before each input and call, and at the end. A view is no call: its output is copied in parts.
            let calls = load.program.functions[0].calls.count
            let asked = whole.questions - load.inputs.count - calls - 1
            let expected = max(load.elements / Self.elements, load.multiplyAdds / Self.multiplyAdds)
            #expect(asked >= expected, "\(load.name): asked \(asked) times, expected \(expected)")
            let half = try run(asking: whole.questions / 2)
            #expect(half.outputs == nil && half.questions == whole.questions / 2 + 1, "\(load.name)")
            #expect(try run(asking: .max).outputs == whole.outputs, "\(load.name)")
        }
    }
}
