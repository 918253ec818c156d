import AccelByteIO
import AccelTensors
import TestSupport
import Testing

@testable import AccelAudio

/// Sound files. Tests/Fixtures/sound has those of Python's and scipy's writers (scripts/fixtures_sound.py).
@Suite("Sound files")
struct SoundFileTests {
    static let files = [
        "uint8.wav", "int16.wav", "int24.wav", "int32.wav", "float32.wav", "float64.wav", "int8.aiff", "int8.aifc",
        "int16.aiff", "int16.aifc", "int24.aiff", "int24.aifc", "int32.aiff", "int32.aifc",
    ]

    @Test("Each hostile file has its verdict", arguments: Attack.sounds)
    func hostile(_ attack: Attack) {
        #expect(attack.flaw { _ = try Sound($0, file: $1) } == nil)
    }

    @Test("Files of other programs have the samples that were written", arguments: files)
    func others(_ name: String) throws {
        let sound = try Sound(contentsOf: Fixtures.path("sound/\(name)"))
        let tensors = try SafetensorsFile(Fixtures.path("sound/samples.safetensors"))
        let expected = try #require(tensors[name.contains("int8") ? "frames8" : "frames"])
        #expect(sound.samples == expected.floats())
        #expect((sound.channelCount, sound.sampleRate) == (2, 44100))
        #expect(sound.frameCount == 9 && sound.duration == 9 / 44100.0)
    }

    @Test("A written file reads back", arguments: Sound.WaveSamples.allCases)
    func written(_ samples: Sound.WaveSamples) throws {
        // Multiples of 1/128 are exact in every encoding; an odd number of bytes is padded.
        let sound = Sound(frames: [0, 0.5, -1, 127 / 128, -0.25], sampleRate: 24000)
        let bytes = try sound.wave(samples)
        #expect(bytes.count.isMultiple(of: 2))
        #expect(try Sound(bytes, file: "written.wav") == sound)
    }

    @Test("Samples that are not whole frames of a positive rate are an error")
    func invalid() throws {
        #expect(try Sound(samples: [1, 2], channelCount: 2, sampleRate: 1).frameCount == 1)
        for (channels, rate) in [(0, 1), (-1, 1), (2, 0), (2, -1), (3, 1)] {
            #expect(throws: RequestError.self) { try Sound(samples: [1, 2], channelCount: channels, sampleRate: rate) }
        }
    }

    @Test("Integers are rounded to even and clipped")
    func rounding() throws {
        let sound = Sound(frames: [2, -2, 0.5 / 32768, 1.5 / 32768, 1, .nan], sampleRate: 8000)
        let read = try Sound(try sound.wave(.int16), file: "x")
        #expect(read.samples == [32767, -32768, 0, 2, 32767, 0].map { $0 / 32768 })
        let float = try Sound(Sound(frames: [2, -3.5], channelCount: 2, sampleRate: 8000).wave(.float32), file: "x")
        #expect(float.samples == [2, -3.5])
    }

    @Test("Python's writers and ours write the same bytes")
    func bytes() throws {
        for (name, samples) in [("int16", Sound.WaveSamples.int16), ("int24", .int24), ("uint8", .int8)] {
            let path = Fixtures.path("sound/\(name).wav")
            let (written, expected) = (try Sound(contentsOf: path).wave(samples), try MappedFile(path).bytes)
            #expect(written == expected, "\(name)")
        }
    }

    @Test("The mean of the channels is mono")
    func mono() {
        let sound = Sound(frames: [1, 0, -0.5, 0.25], channelCount: 2, sampleRate: 8000)
        #expect(sound.mono == Sound(frames: [0.5, -0.125], sampleRate: 8000))
        #expect(sound.mono.mono == sound.mono)
    }
}
