import AccelByteIO
import Testing

@testable import Accel

@Suite("Codes of speech among tokens")
struct CodeFramesTests {
    /// Two codes for each slot of Orpheus's frames, from token 10 on.
    private static let small = CodeTokens(
        first: 10, codebookSize: 2, slots: [0, 1, 2, 2, 1, 2, 2], before: [3], after: [9, 4], end: 2)

    private func frames(_ reader: inout CodeFrameReader, _ tokens: [Int64]) throws -> [CodeFrame] {
        try tokens.compactMap { try reader.append($0) }
    }

    @Test("a frame of Orpheus has one code of the coarsest codebook, two and four")
    func orpheus() throws {
        var reader = try CodeFrameReader()
        let codes: [Int64] = [7, 0, 4095, 1, 2, 3, 4]
        let tokens = codes.enumerated().map { 128_266 + Int64($0) * 4096 + $1 }
        #expect(try frames(&reader, Array(tokens.dropLast())).isEmpty && reader.pendingCount == 6)
        #expect(try frames(&reader, [tokens[6]]) == [CodeFrame([[7], [0, 2], [4095, 1, 3, 4]])])
        #expect(reader.frameCount == 1 && reader.pendingCount == 0 && !reader.hasEnded)
        #expect(CodeTokens.orpheus.codes.upperBound == 156_938)
    }

    @Test("code 0 is a code, and the end leaves out a frame that is not whole, and all later tokens")
    func ends() throws {
        var reader = try CodeFrameReader(Self.small)
        let zeros: [Int64] = [10, 12, 14, 16, 18, 20, 22]
        #expect(try frames(&reader, zeros) == [CodeFrame([[0], [0, 0], [0, 0, 0, 0]])])
        #expect(try frames(&reader, [11, 13, 2, 2, 0, 11] + zeros).isEmpty)
        #expect(reader.hasEnded && reader.frameCount == 1 && reader.pendingCount == 2)
    }

    @Test("a token of another slot is an error with its place, and changes nothing")
    func strays() throws {
        var reader = try CodeFrameReader(Self.small)
        _ = try frames(&reader, [10, 12, 14, 16, 18, 20, 22, 11, 13])
        for token in [10, 13, 16, 9, 24, -1, .max] as [Int64] {
            let error = #expect(throws: AccelError.self) { try reader.append(token) }
            #expect(error?.code == .invalid && error?.found == "\(token)")
            #expect(error?.expected == "a token from 14 to 15, or 2 at the end")
            #expect(error?.location == "codes of speech, frame 1, slot 2")
        }
        #expect(try frames(&reader, [15, 17, 19, 21, 23]) == [CodeFrame([[1], [1, 1], [1, 1, 1, 1]])])
    }

    @Test("tokens without a meaning are rejected")
    func meaningless() throws {
        let changes: [(inout CodeTokens) -> Void] = [
            { $0.first = -1 }, { $0.first = .max }, { $0.codebookSize = 0 }, { $0.codebookSize = .max },
            { $0.slots = [] }, { $0.slots = [0, 2] }, { $0.slots = [1] }, { $0.slots = [0, .max] },
            { $0.slots = [0, -1] }, { $0.slots = [Int](repeating: 0, count: 65) }, { $0.end = 10 }, { $0.end = 23 },
            { $0.end = -2 }, { $0.before = [-1] }, { $0.after = [.max] },
        ]
        for change in changes {
            var tokens = Self.small
            change(&tokens)
            let error = #expect(throws: AccelError.self) { try CodeFrameReader(tokens) }
            #expect(error?.code == .invalid, "\(tokens)")
        }
    }

    @Test("a token is chosen among the codes of its slot and the end, and earlier ones count as such")
    func chosen() throws {
        func choose(_ logits: [Float], after tokens: [Int64], penalty: Float = 1) throws -> Int64 {
            var chooser = CodeChooser(Self.small, after: 3, by: Sampler(.greedy, repetitionPenalty: penalty))
            return try chooser.choose(from: logits.span, after: tokens)
        }
        // The likeliest token is that of a text, then come codes from the last slot to the first.
        var logits = (0..<30).map { Float($0) / 10 }
        logits[5] = 9
        let prompt: [Int64] = [3, 5, 9]
        let whole: [Int64] = [10, 12, 14, 16, 18, 20, 22]
        #expect(try choose(logits, after: prompt) == 11)
        #expect(try choose(logits, after: prompt + [10, 12]) == 15)
        #expect(try choose(logits, after: prompt + whole + whole.prefix(6)) == 23)
        #expect(try choose(logits, after: prompt + [11] + whole.dropFirst(), penalty: 4) == 10)
        logits[2] = 5
        #expect(try choose(logits, after: prompt + [10]) == 2)
        // A vocabulary that ends before the codes of a slot.
        #expect(try choose(Array(logits.prefix(12)), after: prompt + [10]) == 2)
        logits[12] = .nan
        #expect(throws: AccelError.self) { try choose(logits, after: prompt + [10]) }
    }
}
