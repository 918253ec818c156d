import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import TestSupport
import Testing

@testable import Accel

@Suite("Windows over frames of codes")
struct CodeWindowsTests {
    private static let reach = CodeReach(before: 3, after: 3)

    /// The runs over a speech, whose frames arrive `step` at a time.
    /// - Parameter isKnown: the last frames arrive with the end.
    private func runs(
        _ lengths: [Int], _ reach: CodeReach, frames: Int, step: Int, isKnown: Bool = false
    ) throws -> [CodeWindow] {
        var windows = try CodeWindows(lengths: lengths, reach: reach, at: "a vocoder")
        var made: [CodeWindow] = []
        func run() {
            while let window = windows.next(), made.count < 1000 {
                made.append(window)
                windows.advance(past: window)
            }
        }
        while windows.count < frames {
            windows.append(min(step, frames - windows.count))
            if isKnown, windows.count == frames { windows.finish() }
            run()
        }
        windows.finish()
        run()
        return made
    }

    /// Whether the samples of a frame are those of the whole speech.
    private func isExact(_ frame: Int, in window: CodeWindow, _ reach: CodeReach, frames: Int) -> Bool {
        let taken = window.start..<window.start + window.length
        // Beyond the ends of the speech there is nothing, and nothing may be put there.
        let begin = frame - reach.before < 0 ? window.start == 0 : frame - reach.before >= taken.lowerBound
        let end = frame + reach.after >= frames ? taken.upperBound == frames : frame + reach.after < taken.upperBound
        return begin && end
    }

    @Test(
        "each frame is kept once, in order and exactly, unless the speech is shorter than the reach",
        arguments: [[7], [12], [4, 12], [7, 9], [7, 12, 40], [1, 8]], [1, 3, 100])
    func exact(lengths: [Int], step: Int) throws {
        for (before, after) in [(3, 3), (0, 0), (1, 4), (2, 0)] {
            let reach = CodeReach(before: before, after: after)
            for frames in 1...50 {
                let windows = try runs(lengths, reach, frames: frames, step: step, isKnown: step == 3)
                #expect(windows.flatMap { Array($0.kept) } == Array(0..<frames), "\(frames), \(windows)")
                for window in windows {
                    #expect(lengths.contains(window.length) && !window.kept.isEmpty)
                    #expect(window.kept.clamped(to: window.start..<window.start + window.length) == window.kept)
                    for frame in window.kept where !isExact(frame, in: window, reach, frames: frames) {
                        #expect(
                            frames < reach.before + reach.after && !lengths.contains(frames), "\(frame) of \(frames)")
                        #expect(frame < reach.before && frame + reach.after >= frames, "\(frame) of \(frames)")
                    }
                }
            }
        }
    }

    @Test("frames are decoded as soon as the shortest function has its reach, and by the longest one that they fill")
    func policy() throws {
        let soon = try runs([7, 12], Self.reach, frames: 13, step: 1)
        #expect(
            soon == [
                CodeWindow(start: 0, length: 7, kept: 0..<4), CodeWindow(start: 1, length: 7, kept: 4..<5),
                CodeWindow(start: 2, length: 7, kept: 5..<6), CodeWindow(start: 3, length: 7, kept: 6..<7),
                CodeWindow(start: 4, length: 7, kept: 7..<8), CodeWindow(start: 5, length: 7, kept: 8..<9),
                CodeWindow(start: 6, length: 7, kept: 9..<10), CodeWindow(start: 6, length: 7, kept: 10..<13),
            ])
        let known = try runs([7, 12], Self.reach, frames: 13, step: 13, isKnown: true)
        #expect(
            known == [CodeWindow(start: 0, length: 12, kept: 0..<9), CodeWindow(start: 6, length: 7, kept: 9..<13)])
        // Half a second, which fills no function: twice, with frames after its end and before its beginning.
        let short = try runs([12], Self.reach, frames: 7, step: 1)
        #expect(
            short == [CodeWindow(start: 0, length: 12, kept: 0..<4), CodeWindow(start: -5, length: 12, kept: 4..<7)])
    }

    @Test("functions that are too short for a frame with its reach are rejected")
    func tooShort() {
        for lengths in [[], [1], [4, 6]] {
            let error = #expect(throws: AccelError.self) {
                try CodeWindows(lengths: lengths, reach: Self.reach, at: "a vocoder")
            }
            #expect(error?.code == .unsupported && error?.expected == "a function of at least 7 frames")
        }
    }

    /// The graph of a fixture.
    private func function(_ fixture: String, frames: Int) throws -> FrozenProgram {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        let program = try #require(model.programs.first)
        return try program.freezing(ShapeBindings(["batch": 1, "frames": frames])).optimized()
    }

    @Test("the reach of SNAC is that of its convolutions, whatever the length; with attention there is none")
    func reaches() throws {
        for frames in [1, 4, 12] {
            let snac = try function("snac_chunks", frames: frames)
            #expect(try CodeReach(of: snac, audio: "audio", frames: frames) == Self.reach)
            let plain = try function("snac_plain", frames: frames)
            #expect(try CodeReach(of: plain, audio: "audio", frames: frames) == CodeReach(before: 12, after: 12))
        }
        let windows = try function("snac_windows", frames: 4)
        let error = #expect(throws: AccelError.self) { try CodeReach(of: windows, audio: "audio", frames: 4) }
        #expect(error?.code == .unsupported, "\(String(describing: error))")
        #expect(throws: AccelError.self) {
            try CodeReach(of: try function("snac_chunks", frames: 4), audio: "sound", frames: 4)
        }
    }
}
