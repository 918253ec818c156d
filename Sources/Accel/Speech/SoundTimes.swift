import AccelAudio

/// The way from times of the samples that a recognizer has to those of the whole sound.
struct SoundTimes {
    /// The parts that the samples are joined of; nil for the samples of a window, or of the whole sound.
    var parts: SpokenParts?
    /// The times at which the window begins and ends, in seconds.
    private var window: (start: Double, end: Double)

    /// - Parameter duration: that of the whole sound, in seconds; 0 if it comes in windows.
    init(duration: Double = 0) { window = (0, duration) }

    /// The end of the sound so far, in seconds.
    var end: Double { window.end }

    /// Goes on with a window.
    /// - Returns: the seconds between it and the one before.
    mutating func hear(_ next: SpeechWindow) -> Double {
        let silence = max(next.start - window.end, 0)
        window = (next.start, next.start + next.sound.duration)
        return silence
    }

    /// Returns how much of the sound is done, in seconds.
    /// - Parameters:
    ///   - seconds: the time in the samples up to which they are.
    ///   - isAll: all of them are.
    func done(upTo seconds: Double, isAll: Bool) -> Double { isAll ? end : min(time(seconds, isEnd: true), end) }

    /// Returns the time of the sound, in seconds.
    /// - Parameter isEnd: as `SpokenParts.time`.
    func time(_ seconds: Double, isEnd: Bool) -> Double {
        parts?.time(seconds, isEnd: isEnd) ?? window.start + seconds
    }
}
