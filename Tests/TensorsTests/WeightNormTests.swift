import TestSupport
import Testing

@testable import AccelTensors

@Suite("Weight normalisation")
struct WeightNormTests {
    private static let shapes: [(shape: Shape, lengths: Shape)] = [
        ([5, 7], [5, 1]), ([5, 7], [1, 7]), ([4, 3, 6], [4, 1, 1]), ([4, 3, 6], [1, 1, 6]), ([4, 3, 6], [1, 3, 1]),
        ([4, 3, 6], [4, 1, 6]), ([4, 3], [1, 1]), ([6], [6]), ([0, 3], [0, 1]),
    ]

    @Test(
        "lengths and directions that are made of a weight give it back, bit for bit", arguments: 0..<8 as Range<UInt64>)
    func exactInverse(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for (shape, lengthShape) in Self.shapes {
            var weight = (0..<shape.count).map { _ in Float.random(in: -3...3, using: &generator) }
            if seed == 1 { for index in 0..<min(12, weight.count) { weight[index] = 0 } }
            if seed == 2 { weight = weight.map { $0 * 0x1p-140 } }
            if seed == 3 { weight = weight.map { $0 * 1e30 } }
            let (lengths, directions) = WeightNorm.factors(of: weight, shape: shape, lengthShape: lengthShape)
            #expect(lengths.count == lengthShape.count && directions.count == shape.count)
            let again = WeightNorm.weight(
                directions: directions, lengths: lengths, shape: shape, lengthShape: lengthShape)
            #expect(again == weight, "seed \(seed), \(shape) by \(lengthShape)")
        }
    }

    @Test("the weight is v * g / |v|, and a direction without a length has none")
    func meaning() {
        let weight = WeightNorm.weight(
            directions: [3, 4, 0, 2], lengths: [10, 3], shape: [2, 2], lengthShape: [2, 1])
        #expect(weight == [6, 8, 0, 3])
        #expect(WeightNorm.weight(directions: [0], lengths: [1], shape: [1], lengthShape: [1])[0].isNaN)
        let (lengths, directions) = WeightNorm.factors(of: [0, 0, 3, 4], shape: [2, 2], lengthShape: [2, 1])
        #expect(lengths == [0, 5] && directions == [1, 0, 3, 4])
    }
}
