/// The windows of a long sound. Each is as long as the function takes, and those in the middle give the frames in their own middle only, since
/// a frame depends on the sound at both of its sides.
struct CTCWindows: Equatable, Sendable {
    struct Window: Equatable, Sendable {
        /// In samples of the sound.
        let samples: Range<Int>
        /// The frames of the window that count.
        let frames: Range<Int>
    }
    private(set) var windows: [Window] = []

    /// - Parameters:
    ///   - length: the samples of a window.
    ///   - hop: the samples from a frame to the next one.
    ///   - frameCount: the frames of so many samples; nil for those whose samples are all there.
    init(of sampleCount: Int, length: Int, hop: Int, frameCount: ((Int) -> Int)? = nil) {
        // A sixth at both sides, as the pipelines of transformers have it.
        let margin = length / 6 / hop
        let step = max((length / hop - 2 * margin), 1)
        var start = 0
        while start * hop < sampleCount {
            let end = min(start * hop + length, sampleCount)
            let isLast = end == sampleCount
            let first = start == 0 ? 0 : margin
            let rest = end - start * hop
            let last = isLast ? frameCount?(rest) ?? rest / hop : margin + step
            if last > first { windows.append(Window(samples: start * hop..<end, frames: first..<last)) }
            if isLast { break }
            start += step
        }
    }
}
