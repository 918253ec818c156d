import AccelByteIO
import AccelText
import TestSupport
import TextGoldens

extension FuzzTarget {
    /// A byte that says which kind of file, and a file: what is read as a tokenizer keeps its laws for a few texts.
    static let tokenizerFiles = FuzzTarget(
        name: "tokenizer-files",
        seeds: samples.compactMap { sample in
            for (kind, ending) in ["json", "model", "metadata"].enumerated() {
                let file = try? MappedFile("\(sample.folder)/\(sample.name).\(ending)").bytes.withBytes { Array($0) }
                if let file { return [UInt8(kind)] + file }
            }
            return nil
        }
    ) { bytes in
        guard let kind = bytes.withBytes({ $0.first }) else { return }
        let file = bytes[1..<bytes.count]
        let tokenizer =
            switch kind % 3 {
            case 0: try Tokenizer(json: file, file: "fuzz")
            case 1: try Tokenizer(sentencePiece: file, file: "fuzz")
            default: try Tokenizer(gguf: GGUFMetadata.vocabulary(file, file: "fuzz"))
            }
        _ = (tokenizer.vocabularySize, tokenizer.specialTokens, tokenizer.tokenID(of: "a"), tokenizer.token(0))
        for text in ["", " the words 12 漢字 é\n<s>  I'm [MASK] \u{1F600}\u{301}"] {
            keepLaws(tokenizer, Array(text.utf8), [0, 5, 300, -1, .max])
        }
    }

    /// A byte that says which tokenizer, and a text for it.
    static let tokenizerTexts = FuzzTarget(
        name: "tokenizer-texts",
        seeds: tokenizers.indices.flatMap { index in
            lines.enumerated().filter { $0.offset % 4 == index % 4 }.map { [UInt8(index)] + $0.element }
        }
    ) { bytes in
        guard let index = bytes.withBytes({ $0.first }), !tokenizers.isEmpty else { return }
        let text = bytes[1..<bytes.count].withBytes { Array($0) }
        // The bytes are numbers of tokens, too.
        keepLaws(tokenizers[Int(index) % tokenizers.count], text, text.prefix(64).map { TokenID($0) * 3 })
    }

    private static let samples = (try? GoldenSample.all(in: Fixtures.path("tokenizers"))) ?? []
    private static let lines = (try? GoldenReader.lines(Fixtures.path("tokenizers/lines.bin"))) ?? []

    /// The leak sanitizer does not see the references that enumerations of a tokenizer hold.
    private static let tokenizers = withoutLeakDetection { samples.compactMap { try? $0.tokenizer() } }

    /// Offsets lie in the text, and tokens are the same without them; the parts of a stream are the decoded text.
    /// - Parameter further: tokens that are decoded after those of the text.
    private static func keepLaws(_ tokenizer: Tokenizer, _ text: [UInt8], _ further: [TokenID]) {
        let encoding = text.withUnsafeBufferPointer { try? tokenizer.encoding(ofUTF8: $0) }
        let ids = text.withUnsafeBufferPointer { try? tokenizer.encode(utf8: $0) }
        precondition(encoding?.ids == ids, "tokens depend on whether offsets are wanted")
        if let encoding {
            // U+FFFD takes the place of invalid sequences.
            let count = String(decoding: text, as: UTF8.self).utf8.count
            precondition(encoding.offsets.count == encoding.ids.count && encoding.typeIDs.count == encoding.ids.count)
            precondition(encoding.offsets.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= count })
            let pair = try? tokenizer.encodePair(String(decoding: text, as: UTF8.self), "a b")
            precondition(pair != nil || (try? tokenizer.encode("a b")) == nil, "a pair cannot be encoded")
        }
        let tokens = (ids ?? []) + further
        for skips in [false, true] {
            var stream = tokenizer.streamDecoder(skipSpecialTokens: skips)
            let streamed = (tokens.map { stream.append($0) } + [stream.finish()]).joined()
            precondition(
                streamed.utf8.elementsEqual(tokenizer.decode(tokens, skipSpecialTokens: skips).utf8),
                "a stream differs from the decoded text")
        }
    }
}
