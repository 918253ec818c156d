public import AccelByteIO

/// Samples of one or more channels at a fixed rate.
public struct Sound: Equatable, Sendable {
    /// Samples of each channel per second.
    public let sampleRate: Int
    /// The number of channels.
    public let channelCount: Int
    /// The samples, frame by frame: one of each channel. Full scale is -1 to 1.
    public let samples: [Float]

    /// Creates a sound.
    /// - Throws: `RequestError` unless the number of channels and the rate are positive and the samples are whole frames.
    public init(samples: [Float], channelCount: Int = 1, sampleRate: Int) throws(RequestError) {
        guard channelCount > 0, sampleRate > 0, samples.count.isMultiple(of: channelCount) else {
            throw RequestError(
                "sound: expected whole frames of a positive rate, found \(samples.count) samples of \(channelCount) channels at \(sampleRate) Hz"
            )
        }
        self.init(frames: samples, channelCount: channelCount, sampleRate: sampleRate)
    }

    /// Creates a sound of whole frames, with a positive rate.
    package init(frames: [Float], channelCount: Int = 1, sampleRate: Int) {
        (samples, self.channelCount, self.sampleRate) = (frames, channelCount, sampleRate)
    }

    /// Reads a WAVE, AIFF or AIFF-C file.
    /// - Throws: `FormatError` with the byte offset, for another kind of file, for a corrupt one, and for samples that are not finite.
    public init(_ bytes: ByteView, file: String) throws(FormatError) {
        let start = bytes[0..<min(bytes.count, 12)].withBytes { Array($0) }
        func has(_ text: String, at offset: Int) -> Bool { start.dropFirst(offset).starts(with: text.utf8) }
        if has("RIFF", at: 0), has("WAVE", at: 8) {
            self = try WaveReader(bytes, file: file).sound()
        } else if has("FORM", at: 0), has("AIFF", at: 8) || has("AIFC", at: 8) {
            self = try AIFFReader(bytes, file: file).sound()
        } else {
            throw FormatError(
                file: file, location: .offset(0), reason: "is not a WAVE or AIFF file", code: .unknownSoundFormat)
        }
    }

    /// Reads a WAVE, AIFF or AIFF-C file.
    /// - Throws: `FormatError` as `init(_:file:)`; `RequestError` if the file cannot be read.
    public init(contentsOf path: String) throws { try self.init(try MappedFile(path).bytes, file: path) }

    /// The number of samples of each channel.
    public var frameCount: Int { samples.count / channelCount }

    /// The length in seconds.
    public var duration: Double { Double(frameCount) / Double(sampleRate) }

    /// The mean of all channels.
    public var mono: Sound {
        guard channelCount > 1 else { return self }
        let share = 1 / Float(channelCount)
        let mixed = [Float](unsafeUninitializedCapacity: frameCount) { target, count in
            for frame in 0..<frameCount {
                var sum: Float = 0
                for channel in 0..<channelCount { sum += samples[frame * channelCount + channel] }
                target[frame] = sum * share
            }
            count = frameCount
        }
        return Sound(frames: mixed, sampleRate: sampleRate)
    }

    /// The same sound at another rate, by the filter of `Resampler`.
    /// - Throws: `RequestError` for rates whose common divisor is too small for a table of the filter, and without memory for the samples.
    public func resampled(to rate: Int) throws(RequestError) -> Sound {
        guard rate != sampleRate else { return self }
        let resampler = try Resampler(from: sampleRate, to: rate)
        // Several channels are joined from their own samples.
        let count = resampler.count(of: frameCount) * channelCount * (channelCount > 1 ? 2 : 1)
        try MachineMemory.require(
            count * MemoryLayout<Float>.stride,
            for: "a sound of \(NumberText.fixed(duration, digits: 0)) s at \(rate) Hz")
        guard channelCount > 1 else { return Sound(frames: resampler.resample(samples), sampleRate: rate) }
        let channels = (0..<channelCount).map { channel in
            resampler.resample(stride(from: channel, to: samples.count, by: channelCount).map { samples[$0] })
        }
        let frames = channels[0].count
        var joined = [Float](repeating: 0, count: frames * channelCount)
        for (channel, values) in channels.enumerated() {
            for frame in 0..<frames { joined[frame * channelCount + channel] = values[frame] }
        }
        return Sound(frames: joined, channelCount: channelCount, sampleRate: rate)
    }
}

extension Diagnostic.Code {
    /// A sound file of a kind that is not read.
    package static let unknownSoundFormat: Self = "unknown-sound-format"
}
