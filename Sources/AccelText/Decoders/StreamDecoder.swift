/// Makes text of tokens that come one after the other.
///
///     var decoder = tokenizer.streamDecoder()
///     for id in ids { print(decoder.append(id), terminator: "") }
///     print(decoder.finish())
///
/// The parts, put together, are what `Tokenizer.decode` gives for all tokens. No part ends within a character of UTF-8.
public struct StreamDecoder: Sendable {
    private let pipeline: Pipeline
    private let skipsSpecialTokens: Bool
    private var stages: [StreamStage]
    private var isFirst = true

    init(_ pipeline: Pipeline, skipsSpecialTokens: Bool) {
        self.pipeline = pipeline
        self.skipsSpecialTokens = skipsSpecialTokens
        stages = pipeline.decoder.map(StreamStage.stages) ?? []
    }

    /// Takes a token. Returns the text that is complete by now; often none.
    public mutating func append(_ id: TokenID) -> String {
        var tokens = TokenList()
        if let text = pipeline.text(of: id, skipsSpecialTokens: skipsSpecialTokens) {
            if pipeline.decoder == nil {
                tokens.append((isFirst ? [] : [0x20]) + text)
                isFirst = false
            } else {
                tokens.append(text)
            }
        }
        return pass(tokens, isEnd: false)
    }

    /// Returns the rest of the text, after the last token.
    public mutating func finish() -> String {
        defer {
            stages = pipeline.decoder.map(StreamStage.stages) ?? []
            isFirst = true
        }
        return pass(TokenList(), isEnd: true)
    }

    private mutating func pass(_ tokens: TokenList, isEnd: Bool) -> String {
        var tokens = tokens
        for index in stages.indices { tokens = stages[index].take(tokens, isEnd: isEnd) }
        return String(decoding: tokens.bytes, as: UTF8.self)
    }
}
