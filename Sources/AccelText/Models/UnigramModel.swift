/// Unigram: the way through a word whose tokens have the largest sum of scores.
struct UnigramModel: Sendable {
    let vocabulary: Vocabulary
    private let scores: [Double]
    let unknown: TokenID
    private let fallsBackToBytes: Bool
    private let trie: PrefixTrie
    private let byteTokens: [TokenID]
    private let unknownScore: Double
    /// Sums are rounded to float32, as in sentencepiece.
    private let isSingle: Bool
    /// A token that takes the place of others whatever their scores; its score depends on its length.
    private let userDefined: Set<TokenID>
    private let largestScore: Double

    private static let unknownPenalty = 10.0

    /// - Parameter words: all tokens, the number of each being its index.
    /// - Parameter usable: those that are found in texts; nil: all.
    init(
        _ vocabulary: Vocabulary, scores: [Double], unknown: TokenID, fallsBackToBytes: Bool, usable: PrefixTrie? = nil,
        isSingle: Bool = false, userDefined: Set<TokenID> = [], scoreRange: ClosedRange<Double>? = nil
    ) {
        self.vocabulary = vocabulary
        self.scores = scores
        self.unknown = unknown
        self.fallsBackToBytes = fallsBackToBytes
        self.isSingle = isSingle
        self.userDefined = userDefined
        trie = usable ?? vocabulary.trie()
        byteTokens = ByteTokens.all(vocabulary)
        let penalized = (scoreRange?.lowerBound ?? scores.min() ?? 0) - Self.unknownPenalty
        unknownScore = isSingle ? Double(Float(penalized)) : penalized
        largestScore = scoreRange?.upperBound ?? 0
    }

    /// Appends the tokens of a word. Returns false if it has an unknown character, and the model no unknown token.
    func append(_ word: UnsafeBufferPointer<UInt8>, _ work: inout ModelWork, to output: inout TokenOutput) -> Bool {
        guard search(word, &work.lattice) else { return false }
        // From the end to the start, then the other way round.
        let first = output.ids.count
        var end = word.count
        var unknownEnd = -1
        while end > 0 {
            let node = work.lattice[end]
            let start = Int(node.start)
            if node.id == unknown {
                if unknownEnd < 0 { unknownEnd = end }
            } else {
                if unknownEnd >= 0 { emit(word, end..<unknownEnd, nil, &output) }
                unknownEnd = -1
                emit(word, start..<end, node.id, &output)
            }
            end = start
        }
        if unknownEnd >= 0 { emit(word, 0..<unknownEnd, nil, &output) }
        output.ids[first...].reverse()
        output.starts[first...].reverse()
        output.ends[first...].reverse()
        return true
    }

    private func search(_ word: UnsafeBufferPointer<UInt8>, _ lattice: inout [LatticeNode]) -> Bool {
        lattice.removeAll(keepingCapacity: true)
        lattice.append(contentsOf: repeatElement(LatticeNode(), count: word.count + 1))
        return lattice.withUnsafeMutableBufferPointer { lattice in
            scores.withUnsafeBufferPointer { scores in
                var start = 0
                while start < word.count {
                    let reached = lattice[start].score
                    let length = UTF8Text.length(word[start])
                    var hasSingle = false
                    func offer(_ end: Int, _ score: Double, _ id: TokenID) {
                        let sum = isSingle ? Double(Float(score + reached)) : score + reached
                        if lattice[end].start < 0 || sum > lattice[end].score {
                            lattice[end] = LatticeNode(score: sum, start: Int32(truncatingIfNeeded: start), id: id)
                        }
                    }
                    trie.prefixes(of: word, from: start) { count, id in
                        var score = scores[Int(id)]
                        if !userDefined.isEmpty, userDefined.contains(id) {
                            score = Double(Float(Double(Float(count) * Float(largestScore)) - 0.1))
                        }
                        offer(start + count, score, id)
                        if count == length { hasSingle = true }
                    }
                    if !hasSingle {
                        guard unknown >= 0 else { return false }
                        offer(start + length, unknownScore, unknown)
                    }
                    start += length
                }
                return true
            }
        }
    }

    /// Appends a token in reverse order; nil stands for characters that were fused to an unknown token.
    private func emit(
        _ word: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ id: TokenID?, _ output: inout TokenOutput
    ) {
        let (start, end) = (Int32(truncatingIfNeeded: range.lowerBound), Int32(truncatingIfNeeded: range.upperBound))
        if let id { return output.append(id, start, end) }
        let text = UnsafeBufferPointer(rebasing: word[range])
        let whole = vocabulary.find(text)
        if whole >= 0 { return output.append(whole, start, end) }
        if fallsBackToBytes, text.allSatisfy({ byteTokens[Int($0)] >= 0 }) {
            for byte in text.reversed() { output.append(byteTokens[Int(byte)], start, end) }
            return
        }
        output.append(unknown, start, end)
    }
}

/// The best way to an offset of a word.
struct LatticeNode: Sendable {
    var score = 0.0
    /// Where the last token starts; -1 if no way is known.
    var start: Int32 = -1
    var id: TokenID = 0
}
