import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension ScalingSite {
    /// Returns whether the encodings of the producers change only in their scales. That is not so for schemes whose
    /// rows share a table.
    func keepsProducers(_ exponents: [Int], _ plan: [String: PlannedWeight], threads: Int) throws -> Bool {
        for (name, scaling) in scalings(exponents) where !scaling.rows.isEmpty {
            guard let weight = plan[name], let scaled = weight.source.scaled(by: scaling) else { return false }
            let codec = weight.choice.codec.dataFree
            let plain = try CompressedTensor.compressing(weight.source, with: codec, threads: threads).tensor
            let made = try CompressedTensor.compressing(scaled, with: codec, threads: threads).tensor
            guard made.equals(plain, scaledBy: scaling) else { return false }
        }
        return true
    }
}

extension CompressedTensor {
    /// Returns whether it decodes to the same values as another tensor with its rows multiplied.
    fileprivate func equals(_ other: CompressedTensor, scaledBy scaling: ChannelScaling) -> Bool {
        var (own, wanted) = ([Float](repeating: 0, count: shape.columns), [Float](repeating: 0, count: shape.columns))
        for row in 0..<shape.rows {
            own.withUnsafeMutableBufferPointer { codec.decode(row..<row + 1, of: self, into: $0) }
            wanted.withUnsafeMutableBufferPointer {
                other.codec.decode(row..<row + 1, of: other, into: $0)
                scaling.apply(to: $0, rows: row..<row + 1)
            }
            guard own == wanted else { return false }
        }
        return true
    }
}
