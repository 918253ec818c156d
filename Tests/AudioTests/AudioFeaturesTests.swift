import AccelByteIO
import AccelFrontEnds
import AccelTensors
import TestSupport
import Testing

@testable import AccelAudio

@Suite("Features of sound by preprocessor_config.json")
struct AudioFeaturesTests {
    private func features(_ files: [String: String]) throws -> AudioFeatures? {
        try AudioFeatures(
            files: NamedFiles(in: "model", names: files.keys.sorted()) { name in
                files[name].map { ByteView(Array($0.utf8)) }
            })
    }

    private func features(_ settings: String) throws -> AudioFeatures? {
        try features(["preprocessor_config.json": settings])
    }

    @Test("Whisper's settings, and the defaults of its class")
    func whisper() throws {
        let usual = try #require(try features(#"{"feature_extractor_type": "WhisperFeatureExtractor"}"#))
        guard case .logMel(let extractor, let window) = usual.kind else {
            Issue.record("no log-mel features")
            return
        }
        #expect(extractor.bandCount == 80 && extractor.hop == 160 && extractor.sampleRate == 16000)
        #expect(window == 480_000 && usual.sampleRate == 16000)
        let large = try #require(
            try features(
                #"{"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 128, "chunk_length": 15, "dither": 0.0}"#
            ))
        guard case .logMel(let extractor, let window) = large.kind else {
            Issue.record("no log-mel features")
            return
        }
        #expect(extractor.bandCount == 128 && window == 240_000)
    }

    @Test("Settings in processor_config.json, and those of other models")
    func others() throws {
        let nested = try features([
            "processor_config.json":
                #"{"feature_extractor": {"feature_extractor_type": "Wav2Vec2FeatureExtractor", "do_normalize": false}}"#
        ])
        guard case .samples(isNormalised: false)? = nested?.kind else {
            Issue.record("no plain samples")
            return
        }
        #expect(try features(#"{"image_processor_type": "ViTImageProcessor"}"#) == nil)
        #expect(try features(#"{"feature_extractor_type": "CLIPFeatureExtractor"}"#) == nil)
        #expect(try features([:]) == nil)
    }

    @Test(
        "A field of another type or range is named",
        arguments: [
            ("feature_size", "0"), ("feature_size", "\"80\""), ("n_fft", "1"), ("hop_length", "-160"),
            ("sampling_rate", "1e9"),
            ("chunk_length", "100000"), ("dither", "0.1"), ("padding_value", "1"),
        ])
    func wrong(_ name: String, _ value: String) throws {
        let text = #"{"feature_extractor_type": "WhisperFeatureExtractor", "\#(name)": \#(value)}"#
        let error = #expect(throws: FormatError.self) { _ = try features(text) }
        #expect(error?.location == .field(name))
    }

    @Test("Parakeet's settings, and the defaults of its class")
    func parakeet() throws {
        let usual = try #require(try features(#"{"feature_extractor_type": "ParakeetFeatureExtractor"}"#))
        guard case .normalisedLogMel(let extractor) = usual.kind else {
            Issue.record("no normalised features")
            return
        }
        #expect(extractor.bandCount == 80 && extractor.hop == 160 && extractor.sampleRate == 16000)
        #expect(extractor.windowLength == 400 && extractor.preemphasis == 0.97)
        let other = try features(
            #"{"feature_extractor_type": "ParakeetFeatureExtractor", "feature_size": 128, "win_length": 320, "preemphasis": null}"#
        )
        guard case .normalisedLogMel(let extractor)? = other?.kind else {
            Issue.record("no normalised features")
            return
        }
        #expect(extractor.bandCount == 128 && extractor.windowLength == 320 && extractor.preemphasis == 0)
    }

    @Test(
        "A field of Parakeet's settings of another type or range is named",
        arguments: [
            ("feature_size", "0"), ("n_fft", "511"), ("win_length", "513"), ("hop_length", "\"160\""),
            ("preemphasis", "1.5"), ("preemphasis", "true"), ("padding_value", "1"), ("sampling_rate", "1"),
        ])
    func wrongParakeet(_ name: String, _ value: String) throws {
        let text = #"{"feature_extractor_type": "ParakeetFeatureExtractor", "\#(name)": \#(value)}"#
        let error = #expect(throws: FormatError.self) { _ = try features(text) }
        #expect(error?.location == .field(name))
    }

    @Test("Samples are normalised as by Wav2Vec2FeatureExtractor")
    func normalised() throws {
        let file = try SafetensorsFile(Fixtures.path("sound/features.safetensors"))
        let signal = try #require(file["signal"]).integers().prefix(1600).map { Float($0) / 32768 }
        #expect(try #require(file["wav2vec2.plain"]).floats() == signal)
        let expected = try #require(file["wav2vec2.normal"]).floats()
        #expect(zip(AudioFeatures.normalised(signal), expected).allSatisfy { abs($0 - $1) < 1e-5 })
        #expect(AudioFeatures.normalised([0, 0]) == [0, 0])
    }

    @Test("A sound becomes samples of one channel at the model's rate")
    func samples() throws {
        let sound = Sound(frames: [1, 0, 1, 0], channelCount: 2, sampleRate: 16000)
        #expect(try AudioFeatures().samples(of: sound) == [0.5, 0.5])
        #expect(try AudioFeatures().samples(of: Sound(frames: [0, 0], sampleRate: 8000)).count == 4)
    }
}
