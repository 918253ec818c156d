/// The model of a tokenizer, which makes tokens of the pieces of a text.
enum Model: Sendable {
    case bpe(BPEModel)
    case wordPiece(WordPieceModel)
    case unigram(UnigramModel)
    case wordLevel(Vocabulary, unknownToken: String)

    var vocabulary: Vocabulary {
        switch self {
        case .bpe(let model): model.vocabulary
        case .wordPiece(let model): model.vocabulary
        case .unigram(let model): model.vocabulary
        case .wordLevel(let vocabulary, _): vocabulary
        }
    }

    /// A token's text is that of the piece, even if the token is the unknown one.
    var tokensHaveOwnText: Bool {
        if case .unigram = self { return true }
        return false
    }

    /// Pieces may be given as bytes instead of their scalars in the byte alphabet.
    var takesBytes: Bool {
        if case .bpe(let model) = self { return model.takesBytes }
        return false
    }

    /// Appends the tokens of a piece. Returns false if it is unknown, and the vocabulary has no unknown token.
    func append(
        _ word: UnsafeBufferPointer<UInt8>, mapsBytes: Bool, _ work: inout ModelWork, to output: inout TokenOutput
    ) -> Bool {
        if case .wordLevel(let vocabulary, let unknownToken) = self {
            var id = vocabulary.find(word)
            if id < 0 { id = vocabulary.find(unknownToken) }
            guard id >= 0 else { return false }
            output.append(id, 0, Int32(truncatingIfNeeded: word.count))
            return true
        }
        let key = WordCache.key(word)
        if let key, work.cache.appendTokens(of: key, to: &output) { return true }
        let first = output.ids.count
        let isKnown: Bool
        switch self {
        case .bpe(let model): isKnown = model.append(word, mapsBytes: mapsBytes, &work, to: &output)
        case .wordPiece(let model): isKnown = model.append(word, to: &output)
        case .unigram(let model): isKnown = model.append(word, &work, to: &output)
        case .wordLevel: isKnown = false
        }
        if isKnown, let key { work.cache.store(key, output, from: first) }
        return isKnown
    }
}

/// Memory of a model that is used again.
struct ModelWork: Sendable {
    var cache = WordCache()
    var merger = PairMerger()
    var lattice: [LatticeNode] = []
    var bytes: [UInt8] = []
}
