import AccelByteIO
import CAccelKernels

extension Int8Codec {
    public func dot(
        _ rows: Range<Int>, of weight: CompressedTensor, with x: DotVector, into target: UnsafeMutablePointer<Float>
    ) {
        let columns = weight.shape.columns
        withUnsafeTemporaryAllocation(of: Float.self, capacity: max(rows.count, 1)) { zeros in
            weight.sections[0].withBytes { codes in
                guard let start = codes.baseAddress?.assumingMemoryBound(to: Int8.self) else { return }
                for (index, row) in rows.enumerated() { zeros[index] = Float(grid(of: weight, row: row).zero) }
                ck_dot_int8(
                    x.floats, start + rows.lowerBound * columns, columns, rows.count, columns, zeros.baseAddress, target
                )
                for (index, row) in rows.enumerated() { target[index] *= grid(of: weight, row: row).scale }
            }
        }
    }
}
