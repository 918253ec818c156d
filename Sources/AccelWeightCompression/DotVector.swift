import AccelByteIO
import CAccelKernels

/// A vector that many rows of weights are multiplied with, in the orders in which kernels read it.
public struct DotVector: Sendable {
    public let floats: [Float]
    /// As `ck_dot_codes4` wants it.
    let pairs: [Float]

    public init(_ values: UnsafeBufferPointer<Float>) {
        floats = Array(values)
        pairs = [Float](unsafeUninitializedCapacity: (values.count + 31) / 32 * 32) { buffer, count in
            count = (values.count + 31) / 32 * 32
            ck_split_pairs(values.baseAddress, values.count, buffer.baseAddress)
        }
    }
}

extension WeightCodec {
    public func dot(
        _ rows: Range<Int>, of weight: CompressedTensor, with x: DotVector, into target: UnsafeMutablePointer<Float>
    ) {
        dotDecoded(rows, of: weight, with: x, into: target)
    }

    /// Decodes the rows, some at a time.
    func dotDecoded(
        _ rows: Range<Int>, of weight: CompressedTensor, with x: DotVector, into target: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.shape.columns
        let step = max(1, (1 << 12) / max(columns, 1))
        withUnsafeTemporaryAllocation(of: Float.self, capacity: max(step * columns, 1)) { decoded in
            for start in stride(from: rows.lowerBound, to: rows.upperBound, by: step) {
                let part = start..<min(start + step, rows.upperBound)
                decode(part, of: weight, into: UnsafeMutableBufferPointer(rebasing: decoded[..<(part.count * columns)]))
                ck_dot(
                    x.floats, decoded.baseAddress, columns, part.count, columns, target + (start - rows.lowerBound))
            }
        }
    }
}

/// Rows of float32 that are multiplied from where they lie.
/// - Returns: false when they do not lie on a boundary of 4 bytes.
func dotInPlace(
    _ rows: Range<Int>, of weight: CompressedTensor, with x: DotVector, into target: UnsafeMutablePointer<Float>
) -> Bool {
    let columns = weight.shape.columns
    return weight.sections[0].withBytes { bytes in
        guard let start = bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<Float>.alignment == 0 else {
            return false
        }
        let floats = start.assumingMemoryBound(to: Float.self) + rows.lowerBound * columns
        ck_dot(x.floats, floats, columns, rows.count, columns, target)
        return true
    }
}
