import AccelPlatform

/// The features of NeMo's speech recognizers, such as Parakeet: the logarithms of the energies of mel bands, where each band has a mean of 0
/// and a deviation of 1 over the sound. (transformers' ParakeetFeatureExtractor; NVIDIA NeMo.)
public struct NormalisedLogMel: Sendable {
    /// The number of mel bands.
    public let bandCount: Int
    /// The samples per second.
    public let sampleRate: Int
    /// The samples from a frame to the next one.
    public let hop: Int
    /// The samples of the window within a frame.
    package let windowLength: Int
    /// The factor of the sample before, which is subtracted from each.
    package let preemphasis: Float
    private let spectrogram: Spectrogram
    private let filters: MelFilters

    /// The number that is added to energies before their logarithm.
    private static let guardValue = Float(0x1p-24)
    /// The number that is added to deviations before the division.
    private static let epsilon = 1e-5

    /// Creates the extractor. Numbers below 1 count as 1.
    /// - Parameters:
    ///   - bandCount: the number of mel bands, from 0 Hz to half the rate.
    ///   - transformLength: the samples of a frame.
    ///   - windowLength: the samples of the Hann window in the middle of a frame.
    ///   - hop: the samples from a frame to the next one.
    ///   - preemphasis: the factor of the sample before, which is subtracted from each sample.
    public init(
        bandCount: Int = 80, sampleRate: Int = 16_000, transformLength: Int = 512, windowLength: Int = 400,
        hop: Int = 160, preemphasis: Float = 0.97
    ) {
        let (bandCount, sampleRate, hop) = (max(bandCount, 1), max(sampleRate, 1), max(hop, 1))
        (self.bandCount, self.sampleRate, self.hop, self.preemphasis) = (bandCount, sampleRate, hop, preemphasis)
        self.windowLength = max(windowLength, 1)
        spectrogram = Spectrogram(frameLength: transformLength, windowLength: windowLength, hop: hop)
        filters = MelFilters(
            bands: bandCount, frequencyCount: spectrogram.frequencyCount, sampleRate: Double(sampleRate),
            range: 0...Double(sampleRate) / 2)
    }

    /// Returns the number of frames of a sound.
    public func frameCount(_ sampleCount: Int) -> Int { max(sampleCount, 0) / hop }

    /// Returns the features of samples, frame by frame: `frameCount` rows of `bandCount` numbers. Those of a single frame are 0.
    public func features(of samples: [Float]) -> [Float] {
        let frames = frameCount(samples.count)
        var values = [Float](repeating: 0, count: bandCount * frames)
        values.withUnsafeMutableBufferPointer { values in
            spectrogram.powers(of: emphasised(samples), frames: 0..<frames) { first, power in
                for band in 0..<bandCount {
                    let energy = filters.energy(band, power)
                    for lane in 0..<min(Lanes.scalarCount, frames - first) {
                        values[(first + lane) * bandCount + band] = log(energy[lane] + Self.guardValue)
                    }
                }
            }
            for band in 0..<bandCount { normalise(band, of: values, frames: frames) }
        }
        return values
    }

    private func emphasised(_ samples: [Float]) -> [Float] {
        guard preemphasis != 0, let first = samples.first else { return samples }
        return [first] + zip(samples.dropFirst(), samples).map { $0 - preemphasis * $1 }
    }

    /// Gives a band a mean of 0, and divides it by its deviation, which counts one frame less than there are.
    private func normalise(_ band: Int, of values: UnsafeMutableBufferPointer<Float>, frames: Int) {
        let indices = stride(from: band, to: values.count, by: bandCount)
        let mean = indices.reduce(0) { $0 + Double(values[$1]) } / Double(max(frames, 1))
        let squares = indices.reduce(0) { $0 + (Double(values[$1]) - mean) * (Double(values[$1]) - mean) }
        let scale = 1 / ((squares / Double(max(frames - 1, 1))).squareRoot() + Self.epsilon)
        for index in indices { values[index] = Float((Double(values[index]) - mean) * scale) }
    }
}
