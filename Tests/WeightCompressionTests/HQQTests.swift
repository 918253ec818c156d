import AccelPlatform
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@Suite("HQQ with few bits")
struct HQQTests {
    /// A quantizer of 2 and of 4 levels keeps 4.4 and 9.3 dB of normal values at best (Max, "Quantizing for Minimum Distortion", 1960; levels
    /// of equal distance); groups of 64 are fitted each by itself.
    @Test("normal values keep nearly what a uniform quantizer can", arguments: [(1, 4.0), (2, 8.5)])
    func accuracy(bits: Int, least: Double) throws {
        var generator = SeededGenerator(seed: 5)
        let floats = (0..<64 * 256).map { _ in
            let radius = (-2 * log(Double.random(in: 0x1p-53...1, using: &generator))).squareRoot()
            return Float(radius * cos(2 * Double.pi * Double.random(in: 0..<1, using: &generator)))
        }
        let source = StoredTensor(name: "w", floats: floats, shape: [64, 256])
        let others = bits == 1 ? [] : ["affine:bits=\(bits),block=64,fit=hqq"]
        for scheme in ["hqq:bits=\(bits),group=64"] + others {
            let codec = try Codecs.codec(scheme)
            let (_, distortion) = try CompressedTensor.compressing(source, with: codec, threads: 1)
            #expect(distortion.sqnr >= least, "\(scheme): \(distortion.sqnr)")
        }
    }
}
