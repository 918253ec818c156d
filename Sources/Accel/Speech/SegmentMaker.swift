import AccelAudio
import AccelByteIO
import AccelPrograms

/// Makes the segments of a sound, one after the other. A kind of speech recognizer is one conforming type.
protocol SegmentMaker: Actor {
    /// The code of the spoken language; nil while it is not known, and where the model tells none.
    nonisolated var language: Locked<String?> { get }
    /// The seconds of sound that were taken for silence.
    nonisolated var secondsWithoutSpeech: Locked<Double> { get }
    /// The seconds from the beginning of the sound whose segments are computed.
    nonisolated var secondsDone: Locked<Double> { get }
    /// Returns the next segment of the sound so far; nil after the last one.
    func next() async throws(AccelError) -> TranscriptionSegment?
    /// Goes on with a window of the sound, after the segments of the one before.
    func hear(_ window: SpeechWindow)
}

extension AccelModel {
    /// Returns the recognizer of this model.
    /// - Parameter sound: nil if all sound comes later (`hear`).
    /// - Throws: as `transcribe(_:_:)`.
    func segmentMaker(_ sound: Sound?, _ options: TranscriptionOptions) throws(AccelError) -> any SegmentMaker {
        if let functions = CTCFunctions(self) {
            return try FrameTranscriber(self, try CTCReader(functions, of: self), sound, options)
        }
        if let functions = TransducerFunctions(self) {
            return try FrameTranscriber(self, try TransducerReader(functions, of: self), sound, options)
        }
        if let functions = try SampleFunctions(self) { return try SampleTranscriber(self, functions, sound, options) }
        return try Transcriber(self, sound, options)
    }
}
