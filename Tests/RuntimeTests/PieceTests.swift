import AccelByteIO
import AccelPrograms
import AccelTensors
import Testing

@testable import AccelCPURuntime

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

    @Test("a single long row is divided between pieces", arguments: pointwise)
    func divided(name: String, operation: any Operator, types: [ElementType]) throws {
        let program = try SmallProgram { maker in
            let inputs = types.map { maker.input(HostTensor(1, filling: TensorType($0, shape: [1, 1 << 16]))) }
            return try [maker.builder.apply(operation, inputs)]
        }
        #expect(try Executor(program.program, threads: 1).kernels.flatMap(\.steps).contains { $0.step.pieces >= 2 })
    }

    private static let pointwise: [(String, any Operator, [ElementType])] =
        ([Add(), Subtract(), Multiply(), Divide(), Maximum(), Minimum(), Power(), Modulo(), Atan2(), Compare(.less)]
        as [any Operator]).map { ($0.name, $0, [.float32, .float32]) }
        + [(Select.name, Select(), [.bool, .float32, .float32]), (Relu.name, Relu(), [.float32])]
}
