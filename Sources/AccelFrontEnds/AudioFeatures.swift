public import AccelAudio
public import AccelByteIO

/// The sound at the beginning of a model: the computation of its input from samples, as its preprocessor_config.json states it.
public struct AudioFeatures: Sendable {
    /// The form of the input.
    public enum Kind: Sendable {
        /// Mel bands in windows of this many samples (WhisperFeatureExtractor).
        case logMel(LogMelSpectrogram, windowSamples: Int)
        /// Mel bands that are normalised over the sound (ParakeetFeatureExtractor).
        case normalisedLogMel(NormalisedLogMel)
        /// The samples themselves, or with a mean of 0 and a variance of 1 (Wav2Vec2FeatureExtractor).
        case samples(isNormalised: Bool)
    }
    /// The form of the input.
    public let kind: Kind
    /// The samples per second.
    public let sampleRate: Int

    /// Creates features; by default those of Whisper.
    public init(_ kind: Kind = .logMel(LogMelSpectrogram(), windowSamples: 480_000), sampleRate: Int = 16_000) {
        (self.kind, self.sampleRate) = (kind, sampleRate)
    }

    /// Reads the settings of a model.
    /// - Returns: nil if the model has none for sound, or those of an extractor that is not supported.
    /// - Throws: `FormatError` naming a field of another type or range.
    public init?(files: NamedFiles) throws {
        // Version 5 of transformers writes the settings of all parts of a processor to one file.
        let nested = try files.document("processor_config.json")["feature_extractor"]
        let alone = try files.document("preprocessor_config.json")
        let settings = alone.exists ? alone : nested
        let type = settings["feature_extractor_type"]
        guard type.exists else { return nil }
        func integer(_ name: String, in range: ClosedRange<Int>, default usual: Int) throws -> Int {
            try settings[name].exists ? settings[name].int(in: range) : usual
        }
        let rate = try integer("sampling_rate", in: 100...1_000_000, default: 16_000)
        switch try type.string() {
        case "WhisperFeatureExtractor":
            for name in ["dither", "padding_value"] where settings[name].exists {
                guard try settings[name].double() == 0 else { throw settings[name].error("only 0 is supported") }
            }
            let seconds = try integer("chunk_length", in: 1...3600, default: 30)
            let features = LogMelSpectrogram(
                bandCount: try integer("feature_size", in: 1...4096, default: 80), sampleRate: rate,
                frameLength: try integer("n_fft", in: 2...65536, default: 400),
                hop: try integer("hop_length", in: 1...65536, default: 160))
            self.init(.logMel(features, windowSamples: seconds * rate), sampleRate: rate)
        case "ParakeetFeatureExtractor":
            self.init(.normalisedLogMel(try Self.parakeet(settings, rate)), sampleRate: rate)
        case "Wav2Vec2FeatureExtractor":
            let normal = settings["do_normalize"]
            self.init(.samples(isNormalised: try normal.exists ? normal.bool() : true), sampleRate: rate)
        default: return nil
        }
    }

    /// Reads the settings of ParakeetFeatureExtractor.
    private static func parakeet(_ settings: JSONField, _ rate: Int) throws -> NormalisedLogMel {
        func integer(_ name: String, in range: ClosedRange<Int>, default usual: Int) throws -> Int {
            try settings[name].exists ? settings[name].int(in: range) : usual
        }
        if settings["padding_value"].exists, try settings["padding_value"].double() != 0 {
            throw settings["padding_value"].error("only 0 is supported")
        }
        let length = try integer("n_fft", in: 2...65536, default: 512)
        guard length % 2 == 0 else { throw settings["n_fft"].error("expected an even number, found \(length)") }
        // Without an emphasis the field is null.
        let emphasis = settings["preemphasis"]
        let factor: Double = try emphasis.exists ? emphasis.double() : emphasis.value == nil ? 0.97 : 0
        guard (0...1).contains(factor) else { throw emphasis.error("\(factor) is outside of 0...1") }
        return NormalisedLogMel(
            bandCount: try integer("feature_size", in: 1...4096, default: 80), sampleRate: rate,
            transformLength: length, windowLength: try integer("win_length", in: 1...length, default: min(400, length)),
            hop: try integer("hop_length", in: 1...65536, default: 160), preemphasis: Float(factor))
    }

    /// Returns the samples of a sound as the model takes them: one channel, at the model's rate.
    /// - Throws: `RequestError` for a rate that cannot be converted.
    public func samples(of sound: Sound) throws(RequestError) -> [Float] {
        try sound.mono.resampled(to: sampleRate).samples
    }

    /// Returns samples with a mean of 0 and a variance of 1, as Wav2Vec2FeatureExtractor makes them.
    public static func normalised(_ samples: [Float]) -> [Float] {
        let count = Double(max(samples.count, 1))
        let mean = samples.reduce(0) { $0 + Double($1) } / count
        let variance = samples.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / count
        // The extractor's own guard against silence.
        let scale = 1 / (variance + 1e-7).squareRoot()
        return samples.map { Float((Double($0) - mean) * scale) }
    }
}
