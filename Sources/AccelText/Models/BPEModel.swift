/// Byte pair encoding: the characters of a word, merged pair by pair in the order of their ranks.
struct BPEModel: Sendable {
    let vocabulary: Vocabulary
    let merges: MergeTable
    let options: Options
    /// The token of each byte's scalar in the byte alphabet; -1 for none.
    private let alphabetTokens: [TokenID]
    /// The token `<0x00>` and so on of each byte; -1 for none.
    private let byteTokens: [TokenID]
    private let unknown: TokenID

    struct Options: Sendable {
        var unknownToken: String?
        var continuingPrefix: [UInt8] = []
        var endSuffix: [UInt8] = []
        /// Several unknown characters are one token.
        var fusesUnknown = false
        /// Bytes of an unknown character are tokens such as `<0x0A>`.
        var fallsBackToBytes = false
        /// A word of the vocabulary is a token, whatever merges give.
        var ignoresMerges = false
        /// A run of newlines that is a word of the vocabulary is a token, whatever merges give.
        var ignoresMergesOfNewlines = false
    }

    init(_ vocabulary: Vocabulary, _ merges: MergeTable, _ options: Options) {
        self.vocabulary = vocabulary
        self.merges = merges
        self.options = options
        alphabetTokens = (0..<256).map { byte in
            var word: [UInt8] = []
            UTF8Text.append(ByteAlphabet.scalar(UInt8(byte)), to: &word)
            return vocabulary.find(word)
        }
        byteTokens = ByteTokens.all(vocabulary)
        unknown = options.unknownToken.map { vocabulary.find($0) } ?? -1
    }

    /// The unknown token is named, but not in the vocabulary.
    var lacksUnknown: Bool { options.unknownToken != nil && unknown < 0 }

    /// Words may be given as bytes instead of their scalars in the byte alphabet.
    var takesBytes: Bool { options.continuingPrefix.isEmpty && options.endSuffix.isEmpty }

    /// Appends the tokens of a word. Returns false if the word has an unknown character, and the vocabulary no unknown token.
    /// - Parameter mapsBytes: the bytes of the word stand for scalars of the byte alphabet.
    func append(
        _ word: UnsafeBufferPointer<UInt8>, mapsBytes: Bool, _ work: inout ModelWork, to output: inout TokenOutput
    ) -> Bool {
        if options.ignoresMerges || options.ignoresMergesOfNewlines && word.allSatisfy({ $0 == 0x0A }) {
            let whole: TokenID
            if mapsBytes {
                work.bytes.removeAll(keepingCapacity: true)
                ByteAlphabet.append(word, to: &work.bytes)
                whole = vocabulary.find(work.bytes)
            } else {
                whole = vocabulary.find(word)
            }
            if whole >= 0 {
                output.append(whole, 0, Int32(truncatingIfNeeded: word.count))
                return true
            }
        }
        work.merger.begin()
        if mapsBytes {
            for byte in word {
                let id = alphabetTokens[Int(byte)]
                guard id >= 0 else { return appendMapped(word, &work, to: &output) }
                work.merger.add(id, 1)
            }
        } else {
            guard addSymbols(word, &work) else { return false }
        }
        work.merger.finish(merges, to: &output)
        return true
    }

    /// Appends the tokens of a word with a byte that has no token of its own: those of its scalars in the byte alphabet.
    private func appendMapped(
        _ word: UnsafeBufferPointer<UInt8>, _ work: inout ModelWork, to output: inout TokenOutput
    ) -> Bool {
        var mapped: [UInt8] = []
        ByteAlphabet.append(word, to: &mapped)
        let first = output.ids.count
        work.merger.begin()
        guard mapped.withUnsafeBufferPointer({ addSymbols($0, &work) }) else { return false }
        work.merger.finish(merges, to: &output)
        // The byte of each byte of the mapped text.
        var bytes: [Int32] = []
        for byte in mapped { bytes.append((bytes.last ?? -1) + (UTF8Text.continues(byte) ? 0 : 1)) }
        for index in first..<output.ids.count where output.starts[index] < output.ends[index] {
            output.starts[index] = bytes[Int(output.starts[index])]
            output.ends[index] = bytes[Int(output.ends[index]) - 1] + 1
        }
        return true
    }

    private func addSymbols(_ word: UnsafeBufferPointer<UInt8>, _ work: inout ModelWork) -> Bool {
        var unknownLength = 0
        func flush() {
            if unknownLength > 0 { work.merger.add(unknown, unknownLength) }
            unknownLength = 0
        }
        let isPlain = options.continuingPrefix.isEmpty && options.endSuffix.isEmpty
        var index = 0
        while index < word.count {
            let length = UTF8Text.length(word[index])
            let scalar = UnsafeBufferPointer(rebasing: word[index..<index + length])
            let isFirst = index == 0
            index += length
            let id: TokenID
            if isPlain {
                id = vocabulary.find(scalar)
            } else {
                work.bytes.removeAll(keepingCapacity: true)
                if !isFirst { work.bytes += options.continuingPrefix }
                work.bytes.append(contentsOf: scalar)
                if index == word.count { work.bytes += options.endSuffix }
                id = vocabulary.find(work.bytes)
            }
            if id >= 0 {
                flush()
                work.merger.add(id, length)
                continue
            }
            if options.fallsBackToBytes {
                let bytes = isPlain ? Array(scalar) : work.bytes
                if bytes.allSatisfy({ byteTokens[Int($0)] >= 0 }) {
                    // A pending unknown token comes after the bytes, as in `tokenizers`.
                    for byte in bytes { work.merger.add(byteTokens[Int(byte)], 1) }
                    continue
                }
            }
            if options.unknownToken != nil {
                guard unknown >= 0 else { return false }
                if !options.fusesUnknown { flush() }
                unknownLength += length
            }
        }
        flush()
        return true
    }
}

/// Tokens that stand for a byte.
enum ByteTokens {
    /// Returns the number of `<0x00>` to `<0xFF>`; -1 for those that the vocabulary lacks.
    static func all(_ vocabulary: Vocabulary) -> [TokenID] {
        (0..<256).map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return vocabulary.find("<0x\(digits.count == 1 ? "0" : "")\(digits)>")
        }
    }
}
