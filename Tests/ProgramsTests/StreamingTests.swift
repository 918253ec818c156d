import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPrograms

@Suite("Reference implementations that read rows of a weight when they need them")
struct StreamingTests {
    private static func floats(_ count: Int, seed: UInt64) -> [Float] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Float.random(in: -1...1, using: &generator) }
    }

    private static func stored(_ shape: Shape, _ type: ElementType, seed: UInt64) -> StoredTensor {
        let plain = StoredTensor(name: "w", floats: floats(shape.count, seed: seed), shape: shape)
        guard type == .bfloat16, let codec = try? Codecs.codec("bfloat16"),
            let (tensor, _) = try? CompressedTensor.compressing(plain, with: codec, threads: 1)
        else { return plain }
        return StoredTensor(name: "w", elementType: .bfloat16, shape: shape, bytes: tensor.sections[0])
    }

    @Test("a linear operator gives the same for a tensor, rows of a checkpoint, and rows of a stored weight")
    func linear() throws {
        for (count, rows, columns) in [(1, 300, 700), (3, 5, 9), (40, 300, 333), (9, 17, 4000), (2, 4, 0), (2, 0, 4)] {
            let x = HostTensor(Self.floats(count * columns, seed: 1), [count, columns])
            let bias = ReferenceOperand.tensor(HostTensor(Self.floats(rows, seed: 3), [rows]))
            let weight = Self.stored([rows, columns], .bfloat16, seed: 2)
            let whole = try Linear(activation: .relu).evaluate(operands: [
                .tensor(x), .tensor(HostTensor(weight)), bias,
            ])
            let read = try Linear(activation: .relu).evaluate(operands: [.tensor(x), ReferenceOperand(weight), bias])
            #expect(whole == read && whole[0].shape == [count, rows])
            guard rows > 0, columns > 0 else { continue }
            let (packed, _) = try CompressedTensor.compressing(weight, with: Codecs.codec("int4"), threads: 1)
            let decoded = HostTensor(packed.floats(), packed.shape)
            #expect(
                try Linear().evaluate(operands: [.tensor(x), ReferenceOperand(decoding: packed)])
                    == Linear().evaluate([x, decoded]))
        }
    }

    @Test("many vectors give what each gives alone, and some rows what all rows give there")
    func parts() throws {
        let (count, rows, columns) = (33, 150, 777)
        let x = HostTensor(Self.floats(count * columns, seed: 1), [count, columns])
        let weight = ReferenceOperand(Self.stored([rows, columns], .float32, seed: 2))
        let all = try Linear().evaluate(operands: [.tensor(x), weight])[0].floats
        for row in 0..<count {
            let one = HostTensor(Array(x.floats[row * columns..<(row + 1) * columns]), [1, columns])
            let alone = try Linear().evaluate(operands: [.tensor(one), weight])[0].floats
            // Sums in another order, in float64: at most the last bit of the float32 differs.
            for (a, b) in zip(alone, all[row * rows..<(row + 1) * rows]) { #expect(abs(a - b) <= b.ulp) }
        }
        let chosen = [0, 3, 77, 149]
        let some = try Linear().evaluate([.tensor(x), weight], rows: chosen)
        #expect(some.shape == [count, 4])
        for (index, value) in some.floats.enumerated() {
            let wanted = all[index / 4 * rows + chosen[index % 4]]
            #expect(abs(value - wanted) <= wanted.ulp)
        }
    }

    @Test("a table is read at the rows of the indices, and an index outside of it is the same error")
    func gather() throws {
        let table = Self.stored([50, 6], .bfloat16, seed: 4)
        let indices = HostTensor([Int64](arrayLiteral: 7, 49, 0, 7), [2, 2])
        let read = try Gather().evaluate(operands: [ReferenceOperand(table), .tensor(indices)])
        #expect(try read == Gather().evaluate([HostTensor(table), indices]))
        for wrong in [Int64(50), -1, .max] {
            let indices = HostTensor([0, wrong], [2])
            let error = #expect(throws: OperatorError.self) {
                try Gather().evaluate(operands: [ReferenceOperand(table), .tensor(indices)])
            }
            #expect(error?.description.contains("index \(wrong) (element 1 of the indices) is outside") == true)
        }
    }
}
