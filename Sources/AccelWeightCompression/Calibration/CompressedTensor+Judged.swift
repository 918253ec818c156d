public import AccelTensors

extension CompressedTensor {
    /// Compresses a weight for its inputs; by gptq unless the codec without statistics serves the vectors that were held
    /// out better: then so. (An importance of each column alone is judged by the model's outputs, weight by weight it is not:
    /// which of the two gives a weight's own outputs less error by chance says nothing of theirs.)
    public static func compressing(
        _ source: StoredTensor, with codec: any WeightCodec, judgedBy statistics: ActivationStatistics, threads: Int
    ) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        let made = try compressing(source, with: codec, given: statistics, threads: threads)
        guard codec.method == .gptq, !statistics.heldOut.vectors.isEmpty else { return made }
        let plain = try compressing(source, with: codec.dataFree, threads: threads)
        let error = try statistics.heldOutError(of: made.tensor, from: source, threads: threads)
        let bound = try statistics.heldOutError(of: plain.tensor, from: source, threads: threads)
        return error <= bound ? made : plain
    }
}
