/// A trie of byte strings that finds all of them that a text begins with.
///
/// Children lie side by side in the order of their bytes. A string that has no other below it is a leaf with the rest of its bytes.
struct PrefixTrie: Sendable {
    private struct Node {
        /// The first child, or where the rest of a leaf's string starts.
        var first: UInt32 = 0
        /// The number of children, or the length of a leaf's rest.
        var count: UInt32 = 0
        /// The value of the string that ends here; -1 for none.
        var value: Int32 = -1
        var byte: UInt8 = 0
        var isLeaf = false
    }

    private var nodes: [Node] = [Node()]
    private var bytes: [UInt8] = []
    private var roots = [UInt32](repeating: 0, count: 256)

    /// - Parameter words: the last of equal ones counts; empty ones are left out.
    init(_ words: [(range: Range<Int>, value: Int32)], in pool: [UInt8]) {
        bytes = pool
        let sorted = Self.sorted(words, pool)
        guard !sorted.isEmpty else { return }
        // Node, its strings, and the number of their bytes on the way to it.
        var queue: [(node: Int, words: Range<Int>, depth: Int)] = [(0, sorted.indices, 0)]
        var next = 0
        while next < queue.count {
            let (node, words, depth) = queue[next]
            next += 1
            var first = words.lowerBound
            while first < words.upperBound, sorted[first].range.count == depth {
                nodes[node].value = sorted[first].value
                first += 1
            }
            guard first < words.upperBound else { continue }
            let last = sorted[words.upperBound - 1]
            if first == words.upperBound - 1, node != 0, nodes[node].value < 0 {
                nodes[node].isLeaf = true
                nodes[node].value = last.value
                nodes[node].first = UInt32(last.range.lowerBound + depth)
                nodes[node].count = UInt32(last.range.count - depth)
                continue
            }
            nodes[node].first = UInt32(nodes.count)
            while first < words.upperBound {
                let byte = pool[sorted[first].range.lowerBound + depth]
                var end = first + 1
                while end < words.upperBound, pool[sorted[end].range.lowerBound + depth] == byte { end += 1 }
                if node == 0 { roots[Int(byte)] = UInt32(nodes.count) }
                queue.append((nodes.count, first..<end, depth + 1))
                nodes.append(Node(byte: byte))
                nodes[node].count += 1
                first = end
            }
        }
    }

    /// Sorts by bytes, equal strings by their order.
    private static func sorted(
        _ words: [(range: Range<Int>, value: Int32)], _ pool: [UInt8]
    ) -> [(range: Range<Int>, value: Int32)] {
        pool.withUnsafeBufferPointer { pool in
            var keys: [(key: UInt64, index: Int)] = []
            keys.reserveCapacity(words.count)
            for (index, word) in words.enumerated() where !word.range.isEmpty {
                var key: UInt64 = 0
                for offset in 0..<8 {
                    let byte = offset < word.range.count ? pool[word.range.lowerBound + offset] : 0
                    key = key << 8 | UInt64(byte)
                }
                keys.append((key, index))
            }
            keys.sort { left, right in
                if left.key != right.key { return left.key < right.key }
                let (one, other) = (words[left.index].range, words[right.index].range)
                let common = min(one.count, other.count)
                for offset in min(8, common)..<common {
                    let (a, b) = (pool[one.lowerBound + offset], pool[other.lowerBound + offset])
                    if a != b { return a < b }
                }
                return (one.count, left.index) < (other.count, right.index)
            }
            return keys.map { words[$0.index] }
        }
    }

    /// Calls `body` with the length and the value of each string that the text begins with at an offset, the shortest first.
    @inline(__always)
    func prefixes(
        of text: UnsafeBufferPointer<UInt8>, from start: Int, _ body: (_ length: Int, _ value: Int32) -> Void
    ) {
        guard start < text.count else { return }
        nodes.withUnsafeBufferPointer { nodes in
            var current = Int(roots[Int(text[start])])
            var index = start + 1
            while current != 0 {
                let node = nodes[current]
                if node.isLeaf {
                    let count = Int(node.count)
                    guard text.count - index >= count else { return }
                    for offset in 0..<count where text[index + offset] != bytes[Int(node.first) + offset] { return }
                    return body(index + count - start, node.value)
                }
                if node.value >= 0 { body(index - start, node.value) }
                guard index < text.count, node.count > 0 else { return }
                current = Self.child(nodes, node, text[index])
                index += 1
            }
        }
    }

    @inline(__always)
    private static func child(_ nodes: UnsafeBufferPointer<Node>, _ node: Node, _ byte: UInt8) -> Int {
        var (low, high) = (Int(node.first), Int(node.first) + Int(node.count))
        while high - low > 8 {
            let middle = (low + high) / 2
            if nodes[middle].byte <= byte { low = middle } else { high = middle }
        }
        while low < high {
            if nodes[low].byte == byte { return low }
            low += 1
        }
        return 0
    }
}

extension Vocabulary {
    /// Returns a trie of the words that begin with a prefix, without it.
    func trie(after prefix: [UInt8] = []) -> PrefixTrie {
        var pool: [UInt8] = []
        var words: [(range: Range<Int>, value: Int32)] = []
        words.reserveCapacity(count)
        forEach { word, id in
            guard word.count >= prefix.count, word.starts(with: prefix) else { return }
            let start = pool.count
            pool.append(contentsOf: word.dropFirst(prefix.count))
            words.append((start..<pool.count, id))
        }
        return PrefixTrie(words, in: pool)
    }
}
