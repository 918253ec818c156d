import AccelByteIO
import AccelFrontEnds

/// The tokens by which a language model writes the codes of a neural audio codec, frame by frame. Each slot of a frame has its own tokens.
public struct CodeTokens: Equatable, Sendable {
    /// The token of code 0 in the first slot. The tokens of each slot follow those of the slot before.
    public var first: Int64
    /// The number of codes of each codebook.
    public var codebookSize: Int
    /// The codebook of each slot of a frame; 0 is the coarsest one.
    public var slots: [Int]
    /// The tokens before a text, which begins with those of the tokenizer.
    public var before: [Int64]
    /// The tokens between a text and the first code.
    public var after: [Int64]
    /// The token after the last code.
    public var end: Int64

    /// Creates the description of a model's tokens; see the properties.
    public init(first: Int64, codebookSize: Int, slots: [Int], before: [Int64], after: [Int64], end: Int64) {
        (self.first, self.codebookSize, self.slots) = (first, codebookSize, slots)
        (self.before, self.after, self.end) = (before, after, end)
    }

    /// The tokens of Orpheus 3B by Canopy Labs, whose codes are those of SNAC at 24 kHz.
    ///
    /// Source: github.com/canopyai/Orpheus-TTS at 835ac7c. `<custom_token_0>` is token 128256, the first one after those of Llama 3
    /// (pretrain/train.py). A code is N - 10 - slot * 4096 for `<custom_token_N>`, and a frame has a code of the first codebook, and
    /// two and four of the others (orpheus_tts/decoder.py). The tokens around a text are those of orpheus_tts/engine_class.py. Speech
    /// ends with 128258 (realtime_streaming_example/main.py; mlx-audio has the same numbers).
    public static let orpheus = CodeTokens(
        first: 128_266, codebookSize: 4096, slots: orpheusSlots, before: [128_259],
        after: [128_009, 128_260, 128_261, 128_257], end: 128_258)

    private static let orpheusSlots = [0, 1, 2, 2, 1, 2, 2]

    /// Finds the tokens of Orpheus by their names, for models with other vocabularies or codebooks.
    /// - Throws: `AccelError` (unsupported) if the tokenizer lacks one of them, or if codes have other tokens than those in a row.
    static func orpheus(
        in frontEnd: TextFrontEnd, codebookSize: Int, at path: String
    ) throws(AccelError) -> CodeTokens {
        func token(_ name: String) throws(AccelError) -> Int64 {
            if let token = frontEnd.tokenID(name) { return token }
            throw AccelError(
                .unsupported, "the tokenizer has no token \"\(name)\", as Orpheus has it", at: path,
                hint: "describe the tokens of another model as CodeTokens")
        }
        func custom(_ number: Int) throws(AccelError) -> Int64 { try token("<custom_token_\(number)>") }
        let tokens = CodeTokens(
            first: try custom(10), codebookSize: codebookSize, slots: orpheusSlots, before: [try custom(3)],
            after: [try token("<|eot_id|>"), try custom(4), try custom(5), try custom(1)], end: try custom(2))
        try tokens.check()
        let last = tokens.codes.upperBound - 1
        let name = "<custom_token_\(9 + tokens.codes.count)>"
        let found = try token(name)
        guard found == last else {
            throw AccelError(
                .unsupported, expected: "\(last), since the tokens of codes are in a row", found: "\(found)",
                at: "\(path), token \"\(name)\"")
        }
        return tokens
    }

    /// All tokens of codes.
    var codes: Range<Int64> { first..<first + Int64(slots.count * codebookSize) }

    /// The tokens of a slot's codes.
    func codes(ofSlot slot: Int) -> Range<Int64> {
        let start = first + Int64(slot * codebookSize)
        return start..<start + Int64(codebookSize)
    }

    /// The number of codes of each codebook in a frame.
    var codesPerFrame: [Int] {
        slots.reduce(into: [Int](repeating: 0, count: (slots.max() ?? -1) + 1)) { $0[$1] += 1 }
    }

    /// Returns the prompt that asks for the codes of a text.
    func prompt(_ text: [Int64]) -> [Int64] { before + text + after }

    /// - Throws: `AccelError` (invalid) for numbers without a meaning.
    func check() throws(AccelError) {
        let limit = Int64(Int32.max)
        let isValid =
            0...limit ~= first && 1...1 << 24 ~= codebookSize && 1...64 ~= slots.count
            && slots.allSatisfy { 0..<slots.count ~= $0 } && Set(slots).count == (slots.max() ?? 0) + 1
            && (before + after + [end]).allSatisfy { 0...limit ~= $0 } && !codes.contains(end)
        guard isValid else {
            throw AccelError(
                .invalid,
                expected: "1 to 64 slots of codebooks 0, 1, ..., tokens from 0 on, and an end outside of the codes",
                found: "\(self)", at: "the tokens of codes")
        }
    }
}
