/// A trie of byte strings that finds all of them that a text begins with.
///
/// Children lie side by side in the order of their bytes. A string that has no other below it is a leaf with the rest of its bytes.
struct PrefixTrie: Sendable {
    /// A string of the trie.
    struct Word {
        /// Eight bytes, the first one on top; zeros after the end.
        fileprivate var key: UInt64
        fileprivate let start: UInt32
        fileprivate let count: UInt32
        fileprivate let value: Int32

        /// - Parameter range: where the string lies in `pool`.
        init(_ range: Range<Int>, value: Int32, in pool: [UInt8]) {
            key = 0
            start = UInt32(range.lowerBound)
            count = UInt32(range.count)
            self.value = value
            key = pool.withUnsafeBytes { key(at: 0, $0) }
        }

        /// Returns the eight bytes at an offset.
        @inline(__always)
        fileprivate func key(at offset: Int, _ pool: UnsafeRawBufferPointer) -> UInt64 {
            let first = Int(start) + offset
            let count = Int(count) - offset
            guard count > 0 else { return 0 }
            if first + 8 <= pool.count {
                let bytes = UInt64(bigEndian: pool.loadUnaligned(fromByteOffset: first, as: UInt64.self))
                return count >= 8 ? bytes : bytes & ~(UInt64.max &>> UInt64(count * 8))
            }
            return (0..<min(count, 8)).reduce(0) { $0 | UInt64(pool[first + $1]) &<< UInt64(56 - $1 * 8) }
        }

        /// The byte at an offset, if the key is that of the offset rounded down to a multiple of eight.
        @inline(__always)
        fileprivate func byte(_ offset: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: key &>> UInt64(56 - (offset & 7) * 8))
        }
    }

    private struct Node {
        /// The first child, or where the rest of a leaf's string starts. Before the node is expanded: its first string.
        var first: UInt32 = 0
        /// The number of children, or the length of a leaf's rest. Before the node is expanded: the number of its strings.
        var count: UInt32 = 0
        /// The value of the string that ends here; -1 for none.
        var value: Int32 = -1
        var byte: UInt8 = 0
        var isLeaf = false
    }

    private var nodes: [Node] = [Node()]
    private var bytes: [UInt8]
    private var roots = [UInt32](repeating: 0, count: 256)

    /// - Parameter words: the last of equal ones counts; empty ones are left out.
    init(_ words: [Word], in pool: [UInt8]) {
        bytes = pool
        var sorted = pool.withUnsafeBytes { Self.sorted(words.filter { $0.count > 0 }, $0) }
        guard !sorted.isEmpty else { return }
        nodes.reserveCapacity(sorted.count * 3 / 2)
        nodes[0].count = UInt32(sorted.count)
        pool.withUnsafeBytes { pool in
            sorted.withUnsafeMutableBufferPointer { sorted in
                // Level by level: all nodes of one lie side by side.
                var (level, depth) = (0..<1, 0)
                while !level.isEmpty {
                    for node in level {
                        if depth > 0, depth & 7 == 0 {
                            let first = Int(nodes[node].first)
                            for word in first..<first + Int(nodes[node].count) {
                                sorted[word].key = sorted[word].key(at: depth, pool)
                            }
                        }
                        expand(node, depth, UnsafeBufferPointer(sorted))
                    }
                    level = level.upperBound..<nodes.count
                    depth += 1
                }
            }
        }
        for child in nodes[0].first..<nodes[0].first + nodes[0].count { roots[Int(nodes[Int(child)].byte)] = child }
    }

    /// Makes the children of a node, or a leaf of it.
    private mutating func expand(_ index: Int, _ depth: Int, _ sorted: UnsafeBufferPointer<Word>) {
        var node = nodes[index]
        var first = Int(node.first)
        let end = first + Int(node.count)
        while first < end, Int(sorted[first].count) == depth {
            node.value = sorted[first].value
            first += 1
        }
        if first == end - 1, index != 0, node.value < 0 {
            let word = sorted[first]
            node.isLeaf = true
            node.value = word.value
            node.first = word.start + UInt32(depth)
            node.count = word.count - UInt32(depth)
        } else {
            node.first = UInt32(nodes.count)
            node.count = 0
            while first < end {
                let byte = sorted[first].byte(depth)
                var next = first + 1
                while next < end, sorted[next].byte(depth) == byte { next += 1 }
                nodes.append(Node(first: UInt32(first), count: UInt32(next - first), byte: byte))
                node.count += 1
                first = next
            }
        }
        nodes[index] = node
    }

    /// Sorts by bytes, equal strings by their order: by the first eight bytes in passes of eleven bits, then by the rest.
    private static func sorted(_ words: [Word], _ pool: UnsafeRawBufferPointer) -> [Word] {
        var (words, other) = (words, words)
        for shift in stride(from: UInt64(0), to: 64, by: 11) {
            var starts = [Int](repeating: 0, count: 1 << 11)
            for word in words { starts[Int(word.key &>> shift & 0x7FF)] += 1 }
            if starts.contains(words.count) { continue }
            var sum = 0
            for digit in starts.indices { (starts[digit], sum) = (sum, sum + starts[digit]) }
            for word in words {
                let digit = Int(word.key &>> shift & 0x7FF)
                other[starts[digit]] = word
                starts[digit] += 1
            }
            swap(&words, &other)
        }
        words.withUnsafeMutableBufferPointer { words in
            var first = 0
            while first < words.count {
                var end = first + 1
                while end < words.count, words[end].key == words[first].key { end += 1 }
                if end - first > 1 { sort(UnsafeMutableBufferPointer(rebasing: words[first..<end]), pool) }
                first = end
            }
        }
        return words
    }

    /// Sorts strings with equal keys. Most groups of them are small.
    private static func sort(_ words: UnsafeMutableBufferPointer<Word>, _ pool: UnsafeRawBufferPointer) {
        guard words.count <= 8 else {
            var words = words
            return words.sort { precedes($0, $1, pool) }
        }
        for end in 1..<words.count {
            var index = end
            while index > 0, precedes(words[index], words[index - 1], pool) {
                words.swapAt(index, index - 1)
                index -= 1
            }
        }
    }

    /// Compares strings with equal keys; of equal strings the first one in the pool precedes.
    private static func precedes(_ one: Word, _ other: Word, _ pool: UnsafeRawBufferPointer) -> Bool {
        for offset in stride(from: 8, to: Int(min(one.count, other.count)), by: 8) {
            let (a, b) = (one.key(at: offset, pool), other.key(at: offset, pool))
            if a != b { return a < b }
        }
        return (one.count, one.start) < (other.count, other.start)
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
