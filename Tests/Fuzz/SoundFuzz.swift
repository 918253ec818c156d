import AccelAudio
import AccelByteIO
import TestSupport

extension FuzzTarget {
    /// A sound file: what is read is finite, reads back when it is written, and has features.
    static let sound = FuzzTarget(name: "sound", seeds: Attack.sounds.map(\.bytes)) { bytes in
        let sound = try Sound(bytes, file: "fuzz")
        precondition(sound.samples.allSatisfy(\.isFinite))
        precondition(sound.samples.count == sound.frameCount * sound.channelCount)
        let again = try Sound(try sound.wave(.float32), file: "fuzz")
        precondition(again == sound, "a written sound does not read back equal")
        guard sound.frameCount < 1 << 14 else { return }
        _ = LogMelSpectrogram(bandCount: 5).features(of: sound.mono.samples)
    }
}
