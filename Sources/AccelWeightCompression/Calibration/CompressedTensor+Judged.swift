public import AccelTensors

extension CompressedTensor {
    /// Compresses a weight with its activation statistics. For `gptq`, the weight is also compressed without
    /// calibration, and the result with the smaller error on the held-out vectors is taken. (`weighted` is not judged
    /// weight by weight: a small difference between the errors of one weight's outputs does not predict the error of
    /// the model's outputs.)
    public static func compressing(
        _ source: StoredTensor, with codec: any WeightCodec, judgedBy statistics: ActivationStatistics, threads: Int
    ) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        if codec.method == .gptq, let order = (codec as? any FeedbackCodec)?.feedbackOrder(source.shape) {
            // On all threads, before each of them asks for it.
            _ = statistics.factor(order, threads: threads)
        }
        let made = try compressing(source, with: codec, given: statistics, threads: threads)
        guard codec.method == .gptq, !statistics.heldOut.vectors.isEmpty else { return made }
        let plain = try compressing(source, with: codec.dataFree, threads: threads)
        let error = try statistics.heldOutError(of: made.tensor, from: source, threads: threads)
        let bound = try statistics.heldOutError(of: plain.tensor, from: source, threads: threads)
        return error <= bound ? made : plain
    }
}
