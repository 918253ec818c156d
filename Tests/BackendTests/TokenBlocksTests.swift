import Testing

@testable import Accel

@Suite("Blocks of tokens")
struct TokenBlocksTests {
    private static func layout(
        _ lengths: [Int], capacity: Int = 4096, isPadded: Bool = true, isRepeatable: Bool = true
    ) -> TokenBlocks {
        TokenBlocks(
            lengths: lengths, capacity: capacity, padded: isPadded ? Set(lengths) : [],
            repeatable: isRepeatable ? Set(lengths) : [])
    }

    @Test(
        "Blocks take every token once, in order, within the cache, and in fewer runs than steps of one token",
        arguments: [[1], [4, 1], [64, 1], [256, 64, 1], [128, 16, 4, 1]], [true, false])
    func law(lengths: [Int], isPadded: Bool) throws {
        let capacity = 400
        for start in [0, 7, 70] {
            for end in start + 1...300 {
                let layout = Self.layout(lengths, capacity: capacity, isPadded: isPadded)
                let blocks = try #require(layout.covering(start..<end))
                #expect(blocks.first?.tokens.lowerBound == start && blocks.last?.tokens.upperBound == end)
                for (block, next) in zip(blocks, blocks.dropFirst()) {
                    #expect(block.tokens.upperBound == next.tokens.lowerBound)
                }
                for block in blocks {
                    #expect(lengths.contains(block.length) && block.first >= 0 && !block.tokens.isEmpty)
                    #expect(block.first <= block.tokens.lowerBound && block.first + block.length <= capacity)
                    #expect(
                        block.rows.upperBound <= block.length && (isPadded || block.rows.upperBound == block.length))
                }
                #expect(blocks.count <= end - start)
            }
        }
    }

    @Test("63 tokens after a block of 64 are one block more, and not 63 steps; a few stay steps")
    func rest() throws {
        func lengths(_ tokens: Range<Int>, _ layout: TokenBlocks) -> [Int]? { layout.covering(tokens)?.map(\.length) }
        let layout = Self.layout([64, 1])
        #expect(lengths(0..<127, layout) == [64, 64])
        #expect(layout.covering(0..<127)?.last == TokenBlocks.Block(length: 64, first: 63, tokens: 64..<127))
        #expect(lengths(0..<72, layout) == [64] + Array(repeating: 1, count: 8))
        #expect(lengths(0..<63, layout) == [64])
        // Without rows for each token the logits of a padded block would be of its end.
        #expect(lengths(0..<63, Self.layout([64, 1], isPadded: false)) == Array(repeating: 1, count: 63))
        #expect(lengths(0..<63, Self.layout([64, 1], capacity: 63)) == Array(repeating: 1, count: 63))
        #expect(lengths(0..<127, Self.layout([64, 1], isRepeatable: false))?.count == 64)
        #expect(lengths(0..<63, Self.layout([64])) == [64])
        #expect(lengths(0..<63, Self.layout([64], isPadded: false)) == nil)
    }
}
