import AccelAudio
import Testing

@testable import Accel

/// Sounds at 1000 Hz, so that a frame has 20 samples.
@Suite("Windows of a sound that goes on")
struct SpeechCutterTests {
    /// Some seconds at a level.
    private func sound(_ parts: (seconds: Double, level: Float)...) -> [Float] {
        parts.flatMap { [Float](repeating: $0.level, count: Int(($0.seconds * 1000).rounded())) }
    }

    private func windows(
        _ samples: [Float], by size: Int, _ options: SpeechWindowOptions = .init()
    ) async throws -> [SpeechWindow] {
        let pieces = AsyncStream<Sound> { stream in
            for start in stride(from: 0, to: samples.count, by: size) {
                let piece = Array(samples[start..<min(start + size, samples.count)])
                if let sound = try? Sound(samples: piece, sampleRate: 1000) { stream.yield(sound) }
            }
            stream.finish()
        }
        var found: [SpeechWindow] = []
        for try await window in try pieces.speechWindows(options) { found.append(window) }
        return found
    }

    private func bounds(_ windows: [SpeechWindow]) -> [ClosedRange<Int>] {
        windows.map {
            let start = Int(($0.start * 1000).rounded())
            return start...start + $0.sound.frameCount
        }
    }

    @Test(
        "a window begins before speech and ends in the pause after it, whatever the pieces",
        arguments: [1, 7, 20, 1000, 100_000])
    func pauses(_ size: Int) async throws {
        let samples = sound((2, 0), (1, 0.5), (0.4, 0.001), (0.5, 0.5), (3, 0), (1, 0.5), (0.3, 0))
        let found = try await windows(samples, by: size)
        // A pause of 0.4 seconds ends nothing. The sound ends before the last window has a pause.
        #expect(bounds(found) == [1800...4100, 6700...8200])
        for window in found {
            let start = Int((window.start * 1000).rounded())
            #expect(window.sound.samples == Array(samples[start..<start + window.sound.frameCount]))
        }
    }

    @Test("an error of the source comes after the window that was begun")
    func failing() async throws {
        struct Lost: Error {}
        let samples = sound((2, 0), (1, 0.5))
        let pieces = AsyncThrowingStream<Sound, any Error> { stream in
            if let sound = try? Sound(samples: samples, sampleRate: 1000) { stream.yield(sound) }
            stream.finish(throwing: Lost())
        }
        var windows = try pieces.speechWindows().makeAsyncIterator()
        let found = try await windows.next()
        #expect(found.map { bounds([$0]) } == [1800...3000])
        await #expect(throws: Lost.self) { try await windows.next() }
        #expect(try await windows.next() == nil && windows.secondsHeard == 3)
    }

    @Test("silence, and sound below the level, have no window")
    func silence() async throws {
        #expect(try await windows(sound((20, 0)), by: 100).isEmpty)
        #expect(try await windows([], by: 1).isEmpty)
        // -46 and -44 dB.
        #expect(try await windows(sound((2, 0.005)), by: 100).isEmpty)
        #expect(bounds(try await windows(sound((2, 0.0063)), by: 100)) == [0...2000])
    }

    @Test("long speech is cut where its last quarter is quietest, and no sample is lost")
    func long() async throws {
        let samples = sound((3.5, 0.5), (0.1, 0.2), (3, 0.5))
        let found = try await windows(samples, by: 333)
        #expect(bounds(found)[0] == 0...3500)
        #expect(found.flatMap(\.sound.samples) == samples)
        for (window, next) in zip(found, found.dropFirst()) {
            #expect(abs(window.start + window.sound.duration - next.start) < 1e-9)
            #expect(window.sound.duration <= 4.2)
        }
    }

    @Test("long speech is cut in its longest pause, where it has one")
    func pausesInSpeech() async throws {
        let samples = sound((0.5, 0.5), (0.2, 0), (1.5, 0.5), (0.1, 0), (0.7, 0.5), (0.08, 0), (3, 0.5))
        let found = try await windows(samples, by: 1000)
        // The pause of 0.2 seconds is in the first quarter.
        #expect(bounds(found)[0] == 0...2240 && bounds(found)[1].lowerBound == 2240)
        #expect(found.flatMap(\.sound.samples) == samples)
    }

    @Test("options without a meaning are rejected")
    func options() async throws {
        let changes: [(inout SpeechWindowOptions) -> Void] = [
            { $0.quietLevel = .nan }, { $0.quietLevel = 1 }, { $0.pause = 0 }, { $0.longest = 0 }, { $0.margin = 1 },
            { $0.longest = .infinity },
        ]
        for change in changes {
            var options = SpeechWindowOptions()
            change(&options)
            let pieces = AsyncStream<Sound> { $0.finish() }
            #expect(throws: AccelError.self) { try pieces.speechWindows(options) }
        }
        let (first, second) = (
            try Sound(samples: [0, 1], sampleRate: 1000), try Sound(samples: [0], sampleRate: 2000)
        )
        let pieces = AsyncStream<Sound> { stream in
            stream.yield(first)
            stream.yield(second)
            stream.finish()
        }
        let error = await #expect(throws: AccelError.self) {
            for try await _ in try pieces.speechWindows() {}
        }
        #expect(error?.code == .invalid)
    }
}
