import AccelPlatform

/// The features of Whisper: the logarithms of the energies of mel bands, limited to 80 dB below the loudest one, and scaled to about -1 to 1.
/// (Radford et al. 2022; transformers' WhisperFeatureExtractor.)
public struct LogMelSpectrogram: Sendable {
    /// The number of mel bands.
    public let bandCount: Int
    /// The samples per second.
    public let sampleRate: Int
    /// The samples from a frame to the next one.
    public let hop: Int
    /// The samples of a frame.
    package var frameLength: Int { spectrogram.frameLength }
    private let spectrogram: Spectrogram
    private let filters: MelFilters

    /// Creates the extractor.
    /// - Parameters:
    ///   - bandCount: the number of mel bands.
    ///   - frameLength: the samples of a frame.
    ///   - hop: the samples from a frame to the next one.
    /// Numbers below 1 count as 1.
    public init(bandCount: Int = 80, sampleRate: Int = 16_000, frameLength: Int = 400, hop: Int = 160) {
        let (bandCount, sampleRate, hop) = (max(bandCount, 1), max(sampleRate, 1), max(hop, 1))
        (self.bandCount, self.sampleRate, self.hop) = (bandCount, sampleRate, hop)
        spectrogram = Spectrogram(frameLength: frameLength, hop: hop)
        filters = MelFilters(
            bands: bandCount, frequencyCount: spectrogram.frequencyCount, sampleRate: Double(sampleRate),
            // That of the extractor, whatever the rate is.
            range: 0...8000)
    }

    /// Features of a sound: `bandCount` rows of `frameCount` numbers.
    public struct Features: Equatable, Sendable {
        /// The number of frames.
        public let frameCount: Int
        /// The numbers, band by band.
        public let values: [Float]

        /// Returns the features of some frames; those beyond the end are 0.
        public func window(_ frames: Range<Int>) -> [Float] {
            let bands = frameCount == 0 ? 0 : values.count / frameCount
            let within = frames.clamped(to: 0..<frameCount)
            var window = [Float](repeating: 0, count: bands * frames.count)
            for band in 0..<bands {
                for frame in within {
                    window[band * frames.count + frame - frames.lowerBound] = values[band * frameCount + frame]
                }
            }
            return window
        }
    }

    /// Returns the features of samples: a frame for each hop.
    public func features(of samples: [Float]) -> Features {
        // The transform has one frame more, which the extractor drops.
        features(of: samples, frames: samples.count / hop)
    }

    /// Returns the features of the first frames of samples.
    package func features(of samples: [Float], frames frameCount: Int) -> Features {
        features(of: samples, frames: frameCount) {}
    }

    /// The frames between two checks: a whole number of lanes, about 80 seconds of sound.
    private static let checkedFrames = 1024 * Lanes.scalarCount

    /// Returns the features of the first frames of samples.
    /// - Parameter check: is called before each part of the work; its error ends it.
    package func features(
        of samples: [Float], frames frameCount: Int, _ check: () throws -> Void
    ) rethrows -> Features {
        var largest = Lanes(repeating: -.infinity)
        var values = [Float](repeating: 0, count: bandCount * frameCount)
        try values.withUnsafeMutableBufferPointer { values in
            for start in stride(from: 0, to: frameCount, by: Self.checkedFrames) {
                try check()
                let frames = start..<min(start + Self.checkedFrames, frameCount)
                spectrogram.powers(of: samples, frames: frames) { first, power in
                    let count = min(Lanes.scalarCount, frameCount - first)
                    for band in 0..<bandCount {
                        let energy = filters.energy(band, power)
                        // Frames beyond the end are reflections.
                        if count == Lanes.scalarCount { largest = pointwiseMax(largest, energy) }
                        for lane in 0..<count {
                            if count < Lanes.scalarCount { largest[0] = max(largest[0], energy[lane]) }
                            values[band * frameCount + first + lane] = energy[lane]
                        }
                    }
                }
            }
            let floor = max(log10(max(largest.max(), 1e-10)) - 8, -10)
            for index in values.indices {
                values[index] = (max(log10(max(values[index], 1e-10)), floor) + 4) / 4
            }
        }
        return Features(frameCount: frameCount, values: values)
    }
}
