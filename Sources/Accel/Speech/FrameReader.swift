import AccelFrontEnds
import AccelPlatform

/// Makes segments of the frames of a sound.
protocol FrameSegments {
    associatedtype Frame: Sendable
    /// Goes on with the first frame of another sound.
    mutating func restart()
    /// Takes over the next frame.
    /// - Returns: the segment that ends with it; nil for none.
    mutating func append(_ frame: Frame) -> CTCSegments.Segment?
    /// Returns the segment that has begun; nil for none. The next frame begins another one.
    mutating func finish() -> CTCSegments.Segment?
}

/// Makes tokens of the frames of a sound. A kind of recognizer without a text decoder is one conforming type.
protocol FrameReader: Sendable {
    associatedtype Segments: FrameSegments & Sendable
    var input: SoundInput { get }
    var vocabulary: CTCVocabulary { get }
    /// The ports of the function that takes the longest sounds.
    var longest: SoundPorts { get }
    /// - Parameter pause: the frames without text that end a segment.
    func makeSegments(pause: Int) -> Segments
    /// Returns some frames of samples.
    /// - Parameter samples: at most as many as the longest function takes.
    /// - Throws: `AccelError` of the backend, (cancelled) when the task is, (timed out).
    func frames(
        _ range: Range<Int>, of samples: [Float], within deadline: Deadline, in session: AccelSession
    ) async throws(AccelError) -> [Segments.Frame]
}

extension FrameReader {
    /// Returns the vocabulary of a model's package.
    /// - Throws: `AccelError`: (unsupported) for a package without one; (corrupt) for one that cannot be read.
    static func vocabulary(of model: AccelModel) throws(AccelError) -> CTCVocabulary {
        let path = model.package.path
        let vocabulary: CTCVocabulary?
        do {
            vocabulary = try CTCVocabulary(files: model.package.assetFiles)
        } catch { throw AccelError(error, at: path) }
        guard let vocabulary else {
            throw AccelError(
                .unsupported, "the package has no vocab.json or tokenizer.json with the model's tokens", at: path)
        }
        return vocabulary
    }

    /// Returns the index of the largest score, and the logarithm of its probability.
    static func likeliest(_ scores: ArraySlice<Float>) -> (token: Int, logProbability: Double) {
        let best = scores.indices.reduce(scores.startIndex) { scores[$1] > scores[$0] ? $1 : $0 }
        let sum = scores.reduce(0.0) { $0 + exp(Double($1 - scores[best])) }
        return (best - scores.startIndex, -log(sum))
    }
}
