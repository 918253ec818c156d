import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelAudio

/// Goldens of torch, of torchaudio's formula, and of transformers (scripts/fixtures_sound.py).
@Suite("Spectra and resampling")
struct SpectrumTests {
    /// The greatest difference.
    private func distance(_ left: [Float], _ right: [Float]) -> Float {
        guard left.count == right.count else { return .infinity }
        return zip(left, right).reduce(0) { max($0, abs($1.0 - $1.1)) }
    }

    @Test(
        "The transform of any length is the sum that defines it", arguments: Array(1...66) + [97, 121, 254, 400, 499])
    func transform(_ count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        let values = (0..<count).map { _ in Float.random(in: -1...1, using: &generator) }
        let transform = RealTransform(count)
        let memory = LaneMemory(count: transform.memoryCount)
        transform.run(memory.values) { index in
            // Each lane has values of its own.
            Lanes(repeating: values[index]) * [1, 0, -1, 0.5, 2, 1, 1, 1]
        } _: { frequency, real, imaginary in
            var (er, ei) = (0.0, 0.0)
            for (index, value) in values.enumerated() {
                let angle = -2 * Double.pi * Double(frequency * index % count) / Double(count)
                er += Double(value) * cos(angle)
                ei += Double(value) * sin(angle)
            }
            let limit = 4e-7 * Double(count).squareRoot() * 4
            #expect(abs(Double(real[0]) - er) < limit && abs(Double(imaginary[0]) - ei) < limit, "at \(frequency)")
            #expect(real[1] == 0 && imaginary[1] == 0 && real[2] == -real[0] && imaginary[4] == 2 * imaginary[0])
        }
        withExtendedLifetime(memory) {}
    }

    @Test("Squared magnitudes are torch.stft's")
    func stft() throws {
        let file = try SafetensorsFile(Fixtures.path("sound/spectra.safetensors"))
        let signal = try #require(file["signal"]).floats()
        let goldens = file.tensors.filter { $0.name != "signal" }
        #expect(goldens.count == 12)
        for golden in goldens {
            let numbers = golden.name.split(separator: ".").compactMap { Int($0) }
            let spectrogram = Spectrogram(frameLength: numbers[0], hop: numbers[1])
            let (frames, width) = (spectrogram.frameCount(signal.count), spectrogram.frequencyCount)
            #expect(golden.shape.dimensions == [frames, width])
            var made = [Float](repeating: 0, count: frames * width)
            spectrogram.powers(of: signal, frames: 0..<frames) { first, power in
                for lane in 0..<min(8, frames - first) {
                    for index in 0..<width { made[(first + lane) * width + index] = power[index][lane] }
                }
            }
            let expected = golden.floats()
            #expect(distance(made, expected) <= 2e-6 * (expected.max() ?? 0), "\(golden.name)")
        }
    }

    @Test("Resampled sounds are torchaudio's")
    func resampling() throws {
        let file = try SafetensorsFile(Fixtures.path("sound/resampled.safetensors"))
        let signal = try #require(file["signal"]).floats()
        let goldens = file.tensors.filter { $0.name != "signal" }
        #expect(goldens.count == 6)
        for golden in goldens {
            let rates = golden.name.split(separator: ".").compactMap { Int($0) }
            let made = try Sound(frames: signal, sampleRate: rates[0]).resampled(to: rates[1])
            #expect(distance(made.samples, golden.floats()) < 1e-6, "\(golden.name)")
        }
    }

    @Test("A tone stays itself, and one above the new Nyquist frequency is gone")
    func tones() throws {
        func tone(_ frequency: Double, _ rate: Int) -> [Float] {
            (0..<rate / 4).map { Float(sin(2 * Double.pi * frequency * Double($0) / Double(rate))) }
        }
        for (source, target) in [(44100, 16000), (48000, 16000), (11025, 16000), (8000, 44100), (44101, 16000)] {
            let made = try Sound(frames: tone(1000, source), sampleRate: source).resampled(to: target).samples
            // The ends of the sound are steps.
            let inside = made.count / 4..<made.count * 3 / 4
            #expect(distance(Array(made[inside]), Array(tone(1000, target)[inside])) < 2e-5, "\(source) to \(target)")
        }
        let high = try Sound(frames: tone(9000, 44100), sampleRate: 44100).resampled(to: 16000).samples
        #expect(high[high.count / 4..<high.count * 3 / 4].allSatisfy { abs($0) < 1e-5 })
        #expect(throws: (any Error).self) {
            try Sound(frames: [0], sampleRate: 6_143_999).resampled(to: 16000)
        }
    }

    @Test(
        "A sound that is resampled in pieces has the samples of the whole one",
        arguments: [(44_100, 16_000), (8000, 16_000), (48_000, 16_000), (16_000, 22_050)] as [(Int, Int)],
        [1, 100, 4096])
    func pieces(_ rates: (from: Int, to: Int), _ size: Int) throws {
        for count in [0, 1, 50, 3001] {
            let samples = (0..<count).map { Float(($0 * 7919) % 2001 - 1000) / 1000 }
            var stream = try StreamedResampler(from: rates.from, to: rates.to)
            var made: [Float] = []
            for start in stride(from: 0, to: count, by: size) {
                made += stream.append(Array(samples[start..<min(start + size, count)]))
            }
            made += stream.finish()
            #expect(made == (try Resampler(from: rates.from, to: rates.to).resample(samples)))
        }
    }

    @Test("Channels are resampled apart, and no samples give none")
    func channels() throws {
        let (left, right) = ((0..<300).map { Float($0 % 7) / 7 }, (0..<300).map { Float($0 % 5) / 5 })
        let both = Sound(frames: zip(left, right).flatMap { [$0, $1] }, channelCount: 2, sampleRate: 8000)
        let made = try both.resampled(to: 12000)
        #expect(made.frameCount == 450)
        let alone = try Sound(frames: right, sampleRate: 8000).resampled(to: 12000)
        #expect(stride(from: 1, to: 900, by: 2).map { made.samples[$0] } == alone.samples)
        #expect(try Sound(frames: [], channelCount: 2, sampleRate: 8000).resampled(to: 7).samples.isEmpty)
    }

    @Test("The features are WhisperFeatureExtractor's", arguments: [80, 128])
    func whisper(_ bands: Int) throws {
        let file = try SafetensorsFile(Fixtures.path("sound/features.safetensors"))
        let signal = try #require(file["signal"]).integers().map { Float($0) / 32768 }
        let golden = try #require(file["whisper\(bands)"])
        let padded = signal + [Float](repeating: 0, count: 480_000 - signal.count)
        let made = LogMelSpectrogram(bandCount: bands).features(of: padded)
        #expect(made.frameCount == 3000)
        let expected = golden.floats()
        #expect(distance(made.window(0..<80), expected) < 2e-5)
        // Silence is as far below the loudest band everywhere.
        let silence = expected[79]
        #expect(made.window(80..<3000).allSatisfy { abs($0 - silence) < 1e-6 })
        #expect(made.window(2999..<3001)[1] == 0)
    }

    @Test("The features are ParakeetFeatureExtractor's", arguments: [(16, 4000), (80, 9600), (128, 9475)])
    func parakeet(_ bands: Int, _ count: Int) throws {
        let file = try SafetensorsFile(Fixtures.path("sound/features.safetensors"))
        let signal = try #require(file["signal"]).integers().prefix(count).map { Float($0) / 32768 }
        let golden = try #require(file["parakeet\(bands)"])
        let extractor = NormalisedLogMel(bandCount: bands)
        #expect(golden.shape.dimensions == [extractor.frameCount(count), bands])
        let (made, expected) = (extractor.features(of: signal), golden.floats())
        // Ten times the noise of float32.
        #expect(distance(made, expected) < 2e-4)
        let mean = zip(made, expected).reduce(0.0) { $0 + Double(abs($1.0 - $1.1)) } / Double(made.count)
        #expect(mean < 5e-6)
        // Another window, transform, emphasis or edge is noticed.
        for other in [
            NormalisedLogMel(bandCount: bands, windowLength: 398),
            NormalisedLogMel(bandCount: bands, transformLength: 510),
            NormalisedLogMel(bandCount: bands, preemphasis: 0.96),
        ] {
            #expect(distance(other.features(of: signal), expected) > 4e-3)
        }
    }

    @Test("Normalised features of few samples, and of silence, are finite")
    func shortNormalised() {
        let extractor = NormalisedLogMel()
        #expect(extractor.features(of: []).isEmpty && extractor.features(of: [0.1]).isEmpty)
        #expect(extractor.features(of: [Float](repeating: 0.1, count: 160)) == [Float](repeating: 0, count: 80))
        #expect(extractor.features(of: [Float](repeating: 0, count: 1600)) == [Float](repeating: 0, count: 800))
    }

    @Test("Sounds shorter than a frame have features")
    func short() {
        let extractor = LogMelSpectrogram()
        #expect(extractor.features(of: []).frameCount == 0)
        #expect(extractor.features(of: [Float](repeating: 0.1, count: 159)).values.isEmpty)
        let click = extractor.features(of: [1] + [Float](repeating: 0, count: 160)).values
        #expect(click.count == 80 && click.allSatisfy { $0.isFinite })
        // The minimum of all energies, and the same value everywhere.
        #expect(Set(extractor.features(of: [Float](repeating: 0, count: 1600)).values) == [-1.5])
    }
}
