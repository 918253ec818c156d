/// Finds phrases in a text, the leftmost first and the longest of those (Aho and Corasick's automaton).
///
/// A state that a match has led to goes on only to what may become an earlier or longer match, so that a search takes time proportional to
/// the text.
struct PhraseMatcher: Sendable {
    private struct State {
        var depth: Int32 = 0
        /// The state of the longest suffix; -1 ends the search.
        var failure: Int32 = 0
        /// The phrase that ends here, and its length; -1 for none.
        var phrase: Int32 = -1
        var length: Int32 = 0
        /// Where the first match on the way here starts.
        var matchStart: Int32 = .max
    }

    private var states = [State()]
    private var edges: [UInt64: Int32] = [:]
    private var root = [Int32](repeating: 0, count: 256)

    var isEmpty: Bool { states.count == 1 }

    /// - Parameter phrases: empty ones are never found. The last of equal ones is.
    init(_ phrases: [[UInt8]]) {
        var children: [[(byte: UInt8, state: Int32)]] = [[]]
        for (number, phrase) in phrases.enumerated() where !phrase.isEmpty {
            var state: Int32 = 0
            for byte in phrase {
                if let next = edges[Self.key(state, byte)] {
                    state = next
                } else {
                    let next = Int32(states.count)
                    states.append(State(depth: states[Int(state)].depth + 1))
                    children.append([])
                    children[Int(state)].append((byte, next))
                    edges[Self.key(state, byte)] = next
                    state = next
                }
            }
            states[Int(state)].phrase = Int32(number)
            states[Int(state)].length = Int32(phrase.count)
        }
        for (byte, state) in children[0] { root[Int(byte)] = state }
        connect(children)
    }

    private static func key(_ state: Int32, _ byte: UInt8) -> UInt64 { UInt64(state) << 8 | UInt64(byte) }

    /// Sets the failures, level by level.
    private mutating func connect(_ children: [[(byte: UInt8, state: Int32)]]) {
        var queue: [Int32] = [0]
        var next = 0
        while next < queue.count {
            let parent = queue[next]
            next += 1
            for (byte, child) in children[Int(parent)] {
                queue.append(child)
                var failure: Int32 = 0
                if parent != 0 {
                    var suffix = states[Int(parent)].failure
                    while suffix > 0, edges[Self.key(suffix, byte)] == nil { suffix = states[Int(suffix)].failure }
                    failure = suffix < 0 ? -1 : edges[Self.key(suffix, byte)] ?? 0
                }
                var state = states[Int(child)]
                state.matchStart = states[Int(parent)].matchStart
                if state.phrase >= 0 {
                    state.matchStart = 0
                } else if failure > 0, states[Int(failure)].phrase >= 0 {
                    let suffix = states[Int(failure)]
                    let start = state.depth - suffix.length
                    if start <= state.matchStart {
                        state.phrase = suffix.phrase
                        state.length = suffix.length
                        state.matchStart = min(state.matchStart, start)
                    }
                }
                let failureDepth = failure < 0 ? 0 : states[Int(failure)].depth
                if failure < 0 || state.depth - failureDepth > state.matchStart { failure = -1 }
                state.failure = failure
                states[Int(child)] = state
            }
        }
    }

    /// Returns the first match at or after an offset; nil if there is none.
    func find(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> (range: Range<Int>, phrase: Int)? {
        var index = start
        var state: Int32 = 0
        var found: (range: Range<Int>, phrase: Int)?
        while index < text.count {
            if state == 0 {
                while index < text.count, root[Int(text[index])] == 0 { index += 1 }
                guard index < text.count else { break }
            }
            let byte = text[index]
            while true {
                if state == 0 {
                    state = root[Int(byte)]
                    break
                }
                if let next = edges[Self.key(state, byte)] {
                    state = next
                    break
                }
                state = states[Int(state)].failure
                if state < 0 { return found }
            }
            index += 1
            let current = states[Int(state)]
            if current.phrase >= 0 {
                let range = index - Int(current.length)..<index
                if found.map({ range.lowerBound <= $0.range.lowerBound }) ?? true {
                    found = (range, Int(current.phrase))
                }
            }
            // Without a way on to an earlier or longer match, the search ends.
            if state == 0, found != nil { return found }
        }
        return found
    }

    /// Returns the longest phrase that a text begins with; nil if there is none.
    func prefix(of text: UnsafeBufferPointer<UInt8>) -> (length: Int, phrase: Int)? {
        var state: Int32 = 0
        var found: (length: Int, phrase: Int)?
        for index in text.indices {
            guard let next = edges[Self.key(state, text[index])] else { break }
            state = next
            let current = states[Int(state)]
            if current.phrase >= 0, Int(current.length) == index + 1 { found = (index + 1, Int(current.phrase)) }
        }
        return found
    }
}
