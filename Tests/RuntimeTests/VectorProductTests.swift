import AccelTensors
import AccelWeightCompression
import CAccelKernels
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Products of stored rows with a vector")
struct VectorProductTests {
    @Test(
        "they are those of the decoded rows, whole and one by one, within the scratch memory that they ask for",
        arguments: Codecs.all.map { $0.name })
    func products(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            // More than 128 rows have scales of several tiles of rows; some columns are in whole blocks of 256 of ggml.
            for (rows, columns) in [(37, 1), (37, 15), (37, 33), (37, 48), (37, 130), (131, 130), (5, 613)] {
                var generator = SeededGenerator(seed: UInt64(columns))
                let source = StoredTensor(
                    name: "w", floats: (0..<rows * columns).map { _ in Float.random(in: -1...1, using: &generator) },
                    shape: [rows, columns])
                guard codec.unsupportedReason(elementType: .float32, shape: source.shape) == nil else { continue }
                let weight = StoredWeight(try CompressedTensor.compressing(source, with: codec, threads: 1).tensor)
                let decoded = weight.floats()
                let x = (0..<columns).map { _ in Float.random(in: -1...1, using: &generator) }
                let product = VectorProducts.product(of: weight)
                let whole = multiply(product, rows: [0..<rows], x)
                let single = multiply(product, rows: (0..<rows).map { $0..<$0 + 1 }, x)
                #expect(whole == single, "\(codec.specification), \(columns) columns")
                for row in 0..<rows {
                    let products = x.indices.map { Double(x[$0]) * Double(decoded[row * columns + $0]) }
                    let (sum, size) = (products.reduce(0, +), products.reduce(0) { $0 + abs($1) })
                    #expect(
                        abs(Double(whole[row]) - sum) <= 1e-6 * size, "\(codec.specification), \(columns) columns")
                }
            }
        }
    }

    /// Multiplies each range by a call of its own, and checks that what lies after the scratch memory stays as it was.
    private func multiply(_ product: any VectorProduct, rows: [Range<Int>], _ x: [Float]) -> [Float] {
        var interleaved = [Float](repeating: 0, count: ck_interleaved_count(x.count))
        ck_interleave(x, x.count, &interleaved)
        var result = [Float](repeating: 0, count: rows.last?.upperBound ?? 0)
        for range in rows {
            let count = product.scratchFloats(rows: range.count)
            var scratch = [Float](repeating: 123, count: count + 64)
            scratch.withUnsafeMutableBufferPointer { scratch in
                result.withUnsafeMutableBufferPointer { result in
                    x.withUnsafeBufferPointer { x in
                        interleaved.withUnsafeBufferPointer { interleaved in
                            guard let x = x.baseAddress, let interleaved = interleaved.baseAddress,
                                let target = result.baseAddress, let memory = scratch.baseAddress
                            else { return }
                            product.multiply(
                                range, with: DotVector(floats: x, interleaved: interleaved),
                                into: target + range.lowerBound,
                                scratch: memory)
                        }
                    }
                }
            }
            #expect(scratch[count...].allSatisfy { $0 == 123 })
        }
        return result
    }
}
