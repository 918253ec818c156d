import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

@Suite("tables of vectors")
struct VectorCodecTests {
    @Test(
        "no scalar palette of as many bits a weight has less error",
        arguments: [(4, 2, 2), (8, 2, 4), (6, 2, 3), (4, 4, 1), (8, 4, 2)])
    func objective(bits: Int, size: Int, scalarBits: Int) throws {
        for seed in [50, 51] as [UInt64] {
            let source = OddTensor("w", [40, 96], OddTensor.normal(40 * 96, seed: seed)).tensor
            let vectors = try CompressedTensor.compressing(
                source, with: Codecs.codec("vector:bits=\(bits),size=\(size),entries=float32"), threads: 1)
            let scalars = try CompressedTensor.compressing(
                source, with: Codecs.codec("palette:bits=\(scalarBits)"), threads: 1)
            #expect(vectors.distortion.squaredError <= scalars.distortion.squaredError * (1 + 1e-5))
            #expect(vectors.tensor.sections[0].count == scalars.tensor.sections[0].count)
        }
    }

    @Test("vectors that repeat are stored exactly")
    func exact() throws {
        let pairs: [[Float]] = [[1, -2], [0.5, 0.25], [3, 3], [-7, 0]]
        let floats = (0..<200).flatMap { pairs[$0 * $0 % 4] }
        let source = StoredTensor(name: "w", floats: floats, shape: [20, 20])
        let weight = try CompressedTensor.compressing(source, with: Codecs.codec("vector:bits=4"), threads: 1).tensor
        #expect(weight.floats() == floats)
    }

    @Test("a table has an entry for every code and whole values in it")
    func rejections() {
        let error = #expect(throws: RequestError.self) { try Codecs.codec("vector:bits=6,size=4") }
        #expect(error?.description.contains("not a multiple") == true)
    }
}
