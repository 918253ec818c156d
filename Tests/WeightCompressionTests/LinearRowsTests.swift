import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

@Suite("rows that kernels encode")
struct LinearRowsTests {
    private static let columns = 192

    /// Rows of ties, of tiny and huge values, of zeros, of few distinct values; as floats that halves hold too.
    private static func rows() -> [[Float]] {
        var generator = SeededGenerator(seed: 11)
        func row(_ value: (Int) -> Float) -> [Float] {
            (0..<columns).map { Half.rounded(value($0)) }
        }
        let normal = (0..<40).map { index in
            row { _ in Float.random(in: -1...1, using: &generator) * Float(1 + index) * 0.01 }
        }
        return normal + [
            row { _ in 0 }, row { $0 == 77 ? 0.5 : 0 }, row { Float($0 % 16) - 7.5 }, row { Float($0 % 29) - 14 },
            row { $0 % 2 == 0 ? 1 : -0.5 }, row { Float($0) * 6e-8 }, row { Float($0 - 96) * 600 },
            row { $0 < 100 ? 1e-7 * Float($0) : 3 }, row { -abs(Float($0 % 31)) }, row { _ in 65504 },
        ]
    }

    @Test("their codes and scales are those of grids, for each type", arguments: ["int8", "int4"])
    func equal(name: String) throws {
        var quick = 0
        for options in [
            "fit=absmax", "fit=absmax,scales=float32", "fit=absmax,range=7", "fit=absmax,block=16", "fit=mse",
            "fit=mse,scales=float32,block=64", "fit=mse,range=7", "fit=mse,block=channel",
        ] {
            guard let codec = try? Codecs.codec("\(name):\(options)") else { continue }
            for row in Self.rows() {
                let wide = StoredTensor(name: "float32", floats: row, shape: [1, Self.columns])
                // There is no kernel for float64.
                let careful = StoredTensor(
                    name: "float64", elementType: .float64, shape: wide.shape, bytes: ByteView(row.map(Double.init)))
                let halves = StoredTensor(
                    name: "float16", elementType: .float16, shape: wide.shape, bytes: ByteView(row.map(Half.bits)))
                let expected = try CompressedTensor.compressing(careful, with: codec, threads: 1)
                for source in [wide, halves] {
                    let (tensor, distortion) = try CompressedTensor.compressing(source, with: codec, threads: 1)
                    #expect(tensor.sections == expected.tensor.sections, "\(codec.specification) of \(row.prefix(9))")
                    #expect(distortion.maximumError == expected.distortion.maximumError)
                    if distortion.squaredError != expected.distortion.squaredError { quick += 1 }
                }
            }
        }
        // Sums in float32 tell that kernels were at work.
        #expect(quick > 50)
    }
}
