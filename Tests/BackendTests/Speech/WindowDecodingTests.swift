import Testing

@testable import Accel

@Suite("Windows of a transcript")
struct WindowDecodingTests {
    /// Times are tokens from 100 on, two frames apart; the window has 40 frames of sound.
    @Test(
        "a window is cut between times, and the next one begins at the last time of a pair",
        arguments: [
            // One text with its times: the window is complete.
            ([100, 1, 2, 110], [([100, 1, 2, 110], 0, 20)], 40),
            // No time at the end, or that of the beginning: all of the window.
            ([100, 1, 2], [([100, 1, 2], 0, 40)], 40), ([103, 1, 2], [([103, 1, 2], 0, 6)], 40),
            ([], [([], 0, 40)], 40),
            // A pair of times cuts. The text after the last pair is cut off.
            ([100, 1, 105, 105, 2], [([100, 1, 105], 0, 10)], 10),
            ([101, 1, 105, 106, 2, 108, 109], [([101, 1, 105], 2, 10), ([106, 2, 108], 12, 16)], 16),
            // With one time at the end all texts are complete.
            ([100, 1, 105, 105, 2, 112], [([100, 1, 105], 0, 10), ([105, 2, 112], 10, 24)], 40),
            // Nothing but times of 0 leads on all the same.
            ([100, 100, 1], [([100], 0, 0)], 40),
        ] as [([Int64], [([Int64], Int, Int)], Int)])
    func parts(_ tokens: [Int64], _ expected: [([Int64], Int, Int)], _ next: Int) {
        let parts = WindowParts(tokens, first: 100, step: 2, length: 40)
        #expect(parts.next == next)
        #expect(parts.parts == expected.map { WindowParts.Part(tokens: $0.0, start: $0.1, end: $0.2) })
    }

    @Test(
        "repeated and improbable texts are decoded again, silence is not",
        arguments: [
            // Compression ratio, mean log-probability, probability of no speech; rejected, silence.
            (2.4, -1, 0.1, false, false), (2.41, -0.1, 0.1, true, false), (1, -1.01, 0.1, true, false),
            (1, -1.01, 0.61, false, true), (2.5, -0.9, 0.9, true, false), (1, -0.9, 0.9, false, false),
            (1, -2, 0.6, true, false),
        ] as [(Double, Double, Float, Bool, Bool)])
    func limits(_ ratio: Double, _ mean: Double, _ noSpeech: Float, _ isRejected: Bool, _ isSilence: Bool) {
        let window = DecodedWindow(
            tokens: [], text: "", temperature: 0, meanLogProbability: mean, noSpeechProbability: noSpeech,
            compressionRatio: ratio)
        let options = TranscriptionOptions()
        #expect(options.rejects(window) == isRejected)
        #expect(options.isSilence(window) == isSilence)
    }

    @Test(
        "of rejected texts the most probable one counts, without repetitions if there is one",
        arguments: [
            // Compression ratios and mean log-probabilities; the index of the best.
            ([(1, -1.5), (1, -1.2), (1, -3)], 1), ([(3, -0.1), (1, -1.2), (2.4, -1.1)], 2),
            ([(3, -0.1), (4, -0.05)], 1), ([(1, -2), (1, -2)], 0),
        ] as [([(Double, Double)], Int)])
    func best(_ measures: [(Double, Double)], _ best: Int) {
        let windows = measures.enumerated().map { index, measure in
            DecodedWindow(
                tokens: [Int64(index)], text: "", temperature: 0, meanLogProbability: measure.1,
                noSpeechProbability: 0, compressionRatio: measure.0)
        }
        #expect(TranscriptionOptions().best(of: windows) == windows[best])
        #expect(TranscriptionOptions().best(of: []) == nil)
    }

    @Test("the compression ratio is that of Python's zlib.compress")
    func ratios() throws {
        // len(text.encode()) / len(zlib.compress(text.encode())) of CPython 3.11.
        for (text, bytes, compressed) in [
            ("", 0, 8), ("Hello", 5, 13), (String(repeating: "la ", count: 40), 120, 14), ("Où est la gare ?", 17, 25),
        ] {
            #expect(try DecodedWindow.compressionRatio(of: text) == Double(bytes) / Double(compressed), "\(text)")
        }
    }
}
