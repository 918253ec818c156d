import AccelByteIO
import AccelTensors
import Testing

@testable import AccelWeightCompression

@Suite("Sums of slices")
struct MomentTreeTests {
    private static let columns = 37

    /// The sums of 16 slices, of which some have drifted.
    private static func parts() -> [MomentPart] {
        let sums = MomentSums(columns: columns, hasDrift: true, slices: 16)
        return (0..<16).map { slice in
            for vector in 0..<slice + 3 {
                let x = (0..<columns).map { Float(($0 * 7 + vector * 3 + slice) % 23) * 0.37 - 4 }
                let y = x.map { slice % 3 == 0 ? $0 : $0 * 1.01 }
                if vector == 0 { sums.hold(x, original: y) } else { sums.add(x, original: y, threads: 1) }
            }
            return sums.takePart(threads: 1)
        }
    }

    private static func root(_ order: [Int], mostWaitingBytes: Int = 1 << 20) throws -> ActivationStatistics {
        var tree = MomentTree(16, mostWaitingBytes: mostWaitingBytes)
        let parts = parts()
        for slice in order { try tree.add(parts[slice], of: slice..<slice + 1, threads: 2) }
        #expect(tree.nodes.count == 1)
        return try #require(tree.root?.statistics(threads: 1))
    }

    @Test("the order in which slices come does not change a bit")
    func order() throws {
        let expected = try Self.root(Array(0..<16))
        #expect(expected.count == (0..<16).reduce(0) { $0 + $1 + 2 } && !expected.drift.isEmpty)
        #expect(expected.heldOut.vectors.count == 16 * Self.columns)
        for order in [Array((0..<16).reversed()), [5, 4, 12, 0, 1, 15, 7, 6, 3, 2, 8, 9, 14, 13, 11, 10]] {
            let found = try Self.root(order)
            #expect(found.digest == expected.digest)
            // Large sums wait in files.
            #expect(try Self.root(order, mostWaitingBytes: 0).digest == expected.digest)
        }
    }

    @Test("nodes go through files, and what has other columns is none")
    func files() throws {
        let expected = try Self.root(Array(0..<16))
        var (first, tree) = (MomentTree(16, mostWaitingBytes: 0), MomentTree(16))
        for (slice, part) in Self.parts().enumerated() where slice != 9 {
            try first.add(part, of: slice..<slice + 1, threads: 1)
        }
        #expect(first.nodes.map(\.slices) == [0..<8, 8..<9, 10..<12, 12..<16] && first.root == nil)
        for node in first.nodes {
            let bytes = try node.part.content().flatMap { part in part.withBytes { Array($0) } }
            let file = try SafetensorsFile(ByteView(bytes), file: "sums")
            let read = try #require(MomentPart(file, columns: Self.columns, hasDrift: true))
            #expect(MomentPart(file, columns: Self.columns + 1, hasDrift: true) == nil)
            try tree.add(read, of: node.slices, threads: 1)
        }
        #expect(tree.root == nil)
        try tree.add(Self.parts()[9], of: 9..<10, threads: 1)
        #expect(tree.root?.statistics(threads: 1)?.digest == expected.digest)
    }
}
