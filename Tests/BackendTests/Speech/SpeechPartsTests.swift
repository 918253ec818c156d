import AccelAudio
import AccelByteIO
import Testing

@testable import Accel

@Suite("Parts of a sound with speech")
struct SpeechPartsTests {
    /// Parts in chunks of 100 samples.
    private func parts(
        _ probabilities: [Float], _ change: (inout VoiceActivityOptions) -> Void = { _ in }
    ) -> [Range<Int>] {
        var options = VoiceActivityOptions()
        (options.shortestPause, options.padding) = (200.0 / 16_000, 0)
        change(&options)
        return SpeechParts(probabilities, chunk: 100, sampleCount: probabilities.count * 100 - 50, options).parts
    }

    @Test(
        "speech begins above one limit and ends in a pause below another one",
        arguments: [
            ([], []), ([0.4, 0.4], []), ([0.5], [0..<50]), ([0.1, 0.9, 0.9], [100..<250]),
            // Between the limits speech goes on, and a pause that has begun does, too.
            ([0.9, 0.4, 0.4, 0.4, 0.4], [0..<450]), ([0.9, 0.1, 0.4, 0.1, 0.4, 0.4], [0..<100]),
            // A pause has 200 samples at least.
            ([0.9, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1], [0..<400]), ([0.9, 0.1, 0.1, 0.1, 0.9], [0..<100, 400..<450]),
            ([0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1], [100..<200, 600..<700]),
        ] as [([Float], [Range<Int>])])
    func limits(_ probabilities: [Float], _ expected: [Range<Int>]) {
        #expect(parts(probabilities) == expected)
    }

    @Test("short speech is none, and padding takes at most half of a pause and no more than the sound")
    func padding() {
        let two: [Float] = [0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.1, 0.1, 0.1]
        #expect(parts(two) { $0.shortestSpeech = 100.0 / 16_000 } == [600..<800])
        #expect(parts(two) { $0.padding = 150.0 / 16_000 } == [0..<350, 450..<950])
        #expect(parts(two) { $0.padding = 201.0 / 16_000 } == [0..<400, 400..<1001])
        #expect(parts(two) { $0.padding = 1 } == [0..<400, 400..<1050])
    }

    @Test("times of joined parts lead back to the sound; the end of a part is not the beginning of the next one")
    func times() {
        let samples = (0..<100).map(Float.init)
        // 10 samples per second; the ranges go beyond the sound, and the third one is empty.
        let parts = SpokenParts([1...2, 5...6, 7...7, 9...12], sampleCount: 100, rate: 10)
        #expect(parts.joined(samples) == [10..<20, 50..<60, 90..<100].flatMap { Array(samples[$0]) })
        for (time, start, end) in [
            (0.0, 1.0, 1.0), (0.5, 1.5, 1.5), (1, 5, 2), (1.25, 5.25, 5.25), (2, 9, 6), (3, 10, 10), (3.5, 10.5, 10.5),
        ] {
            #expect(
                abs(parts.time(time, isEnd: false) - start) < 1e-9 && abs(parts.time(time, isEnd: true) - end) < 1e-9)
        }
        #expect(SpokenParts([], sampleCount: 100, rate: 10).joined(samples).isEmpty)
        #expect(SpokenParts([], sampleCount: 100, rate: 10).time(2, isEnd: true) == 2)
        // Overlapping ranges count once.
        #expect(
            SpokenParts([1...3, 2...4, -1...0], sampleCount: 100, rate: 10).joined(samples) == Array(samples[10..<40]))
    }

    @Test("options without a meaning and samples that are no sound are rejected")
    func rejected() throws {
        for change in [
            { $0.threshold = .nan }, { $0.threshold = 1.5 }, { $0.endThreshold = 0.6 }, { $0.padding = -1 },
            { $0.shortestPause = .infinity },
        ] as [(inout VoiceActivityOptions) -> Void] {
            var options = VoiceActivityOptions()
            change(&options)
            #expect(throws: AccelError.self) { try options.check() }
        }
        #expect(throws: Never.self) { try VoiceActivityOptions().check() }
        for bad in [Float.nan, .infinity, 1e30] {
            let sound = try Sound(samples: [0, bad], sampleRate: 16_000)
            let error = #expect(throws: RequestError.self) { try sound.samples(at: 16_000) }
            #expect("\(try #require(error))".contains("sample at 6.25e-05 s is"))
        }
    }
}
