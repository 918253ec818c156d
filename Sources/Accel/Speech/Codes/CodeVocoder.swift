public import AccelAudio
import AccelByteIO
import AccelPrograms
import AccelTensors

/// Turns frames of codes into sound, by a model such as SNAC, in pieces that join exactly.
///
///     var vocoder = try CodeVocoder(snac)
///     try vocoder.append(frames)
///     vocoder.finish()
///     while let sound = try await vocoder.next() { play(sound) }
///
/// The samples are those of all frames decoded at once, but for the rounding of kernels: a piece is decoded with as many frames on both
/// sides as its samples depend on, which the convolutions of the model determine. The noise that SNAC adds is a function of its position
/// and the seed, so that neighbours have the same noise. The functions of the model have fixed numbers of frames. Of those that the frames
/// fill, the longest one runs. Only the end of a speech may fill a function partly.
///
/// For SNAC at 24 kHz a piece depends on three frames to either side, and a function has at least seven frames: one of 12 frames makes 6
/// frames of sound in a run, half of its work. A speech of less than six frames (half a second) is exact if a function has just its length.
public struct CodeVocoder: Sendable {
    /// Samples per second.
    public let sampleRate: Int
    /// The samples of a frame.
    public let samplesPerFrame: Int
    /// The number of codes of each codebook in a frame, from the coarsest codebook on: 1, 2 and 4 for SNAC at 24 kHz.
    public let codesPerFrame: [Int]
    /// The number of codes of each codebook.
    public let codebookSize: Int
    private let model: AccelModel
    private let functions: [VocoderFunction]
    private let seed: UInt64
    private var frames: [CodeFrame] = []
    private var windows: CodeWindows

    /// Creates a vocoder at the beginning of a sound.
    /// - Parameter seed: of the noise.
    /// - Throws: `AccelError` (unsupported) for a model that turns no codes into sound, for one whose samples depend on the whole sound
    ///   (SNAC with attention), and for functions that are all too short for exact pieces.
    public init(_ model: AccelModel, seed: UInt64 = 0) throws(AccelError) {
        let path = model.package.path
        functions = try VocoderFunction.all(of: model)
        let longest = functions[functions.count - 1]
        let name = longest.description.name
        guard let program = model.package.graph.functions.first(where: { $0.functionName == name }) else {
            throw AccelError(.internalFailure, "the package has no such function", at: "\(path), \(name)")
        }
        let reach = try CodeReach(of: program, audio: longest.audio.name, frames: longest.frames)
        windows = try CodeWindows(lengths: functions.map(\.frames), reach: reach, at: path)
        (sampleRate, samplesPerFrame, codesPerFrame) = (longest.rate, longest.samplesPerFrame, longest.codesPerFrame)
        codebookSize = longest.codes.compactMap { $0.role.integer("count") }.min() ?? Int(Int32.max)
        (self.model, self.seed) = (model, seed)
    }

    /// Adds frames after those before.
    /// - Throws: `AccelError` (invalid) for a frame with other codes than the model's, and after `finish`. Then nothing has changed.
    public mutating func append(_ more: [CodeFrame]) throws(AccelError) {
        guard !windows.isComplete else {
            throw AccelError(.invalid, "the sound has ended; frames cannot follow", at: "codes of speech")
        }
        for (index, frame) in more.enumerated() {
            guard frame.codes.map(\.count) == codesPerFrame,
                frame.codes.allSatisfy({ $0.allSatisfy { 0..<Int64(codebookSize) ~= $0 } })
            else {
                throw AccelError(
                    .invalid, expected: "\(codesPerFrame) codes from 0 to \(codebookSize - 1)", found: "\(frame.codes)",
                    at: "codes of speech, frame \(frames.count + index)")
            }
        }
        frames += more
        windows.append(more.count)
    }

    /// Ends the sound: no frames follow.
    public mutating func finish() { windows.finish() }

    /// Decodes the next piece of the sound.
    /// - Returns: nil if more frames are needed, or after the end.
    /// - Throws: `AccelError` (cancelled), and the backend's. The same piece may be asked for again.
    public mutating func next() async throws(AccelError) -> Sound? {
        guard let window = windows.next() else { return nil }
        let samples = try await samples(of: window)
        windows.advance(past: window)
        return Sound(frames: samples, sampleRate: sampleRate)
    }

    /// Runs a function on the frames of a window.
    private func samples(of window: CodeWindow) async throws(AccelError) -> [Float] {
        guard let function = functions.first(where: { $0.frames == window.length }) else {
            throw AccelError(.internalFailure, "no function has \(window.length) frames", at: model.package.path)
        }
        var inputs: AccelFunction.Inputs = [:]
        let taken = (0..<window.length).map { frames[min(max(window.start + $0, 0), frames.count - 1)] }
        for (book, port) in function.codes.enumerated() {
            inputs[port.name] = try AccelTensor(taken.flatMap { $0.codes[book] }).reshaped(port.shape)
        }
        for port in function.noise {
            let first = window.start * (port.shape.count / window.length)
            inputs[port.name] = try AccelTensor(port.noise(seed: seed, from: first)).reshaped(port.shape)
        }
        let outputs = try await AccelFunction(function.description, of: model).prediction(
            from: inputs, options: RunOptions(outputs: [function.audio.name]))
        let first = (window.kept.lowerBound - window.start) * samplesPerFrame
        return try outputs[function.audio.name].withSpan(of: Float.self) { samples throws(AccelError) in
            (first..<first + window.kept.count * samplesPerFrame).map { samples[$0] }
        }
    }
}
