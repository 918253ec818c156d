import AccelTensors
import Testing

@testable import AccelPrograms

@Suite("The reference of attention")
struct AttentionTests {
    /// Two batches; all products are computed where one number of the second batch is not moderate.
    private static func result(mask: [Float], keys: Float = 1, values: Float = 1, tokens: Int = 3) throws -> [Float] {
        let (heads, width, length) = (2, 8, 11)
        func tensor(_ name: String, _ sizes: [Int], last: Float) -> HostTensor {
            let stream = SeededStream(seed: 5, name: name)
            var floats = (0..<sizes.reduce(1, *)).map { stream.normal($0) }
            floats[floats.count - 1] *= last
            return HostTensor(floats, Shape(sizes))
        }
        let inputs = [
            tensor("q", [2, heads, tokens, width], last: 1), tensor("k", [2, 1, length, width], last: keys),
            tensor("v", [2, 1, length, width], last: values), HostTensor(mask, Shape([1, 1, tokens, length])),
        ]
        let result = try Attention(scale: 0.3).evaluate(inputs)[0]
        return Array(result.floats.prefix(result.floats.count / 2))
    }

    private static let numbers: [Float] = [-.infinity, -.greatestFiniteMagnitude, -1e30, -1e9]

    @Test(
        "keys that a mask excludes change no bit of the result",
        arguments: numbers)
    func excluded(by number: Float) throws {
        // A row that sees all keys, one that sees few, and one that sees none.
        var mask = (0..<33).map { $0 < 11 || $0 < 15 ? 0 : number }
        mask[3] = 0.5
        if number == -.infinity { mask[32] = 0 }
        let fast = try Self.result(mask: mask)
        #expect(fast.allSatisfy { $0.isFinite } && Set(fast).count >= 40)
        #expect(try Self.result(mask: mask, keys: 1e35) == fast)
        #expect(try Self.result(mask: mask, values: .infinity) == fast)
    }

    @Test("a number in the mask that is not finite is not excluded")
    func notFinite() throws {
        var mask = [Float](repeating: 0, count: 33)
        mask[4] = .nan
        mask[12] = .infinity
        let rows = try Self.result(mask: mask)
        #expect(rows[..<16].allSatisfy { $0.isNaN })
        #expect(rows[16..<24].allSatisfy { $0.isFinite })
    }
}
