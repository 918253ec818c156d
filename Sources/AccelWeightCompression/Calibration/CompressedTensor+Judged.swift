public import AccelTensors

extension CompressedTensor {
    /// Compresses a weight with its activation statistics: all units of a `JudgedCompression`.
    public static func compressing(
        _ source: StoredTensor, with codec: any WeightCodec, judgedBy statistics: ActivationStatistics, threads: Int
    ) throws -> (tensor: CompressedTensor, distortion: Distortion) {
        let work = try JudgedCompression(source, with: codec, by: statistics)
        return try work.joined([work.piece(0..<work.unitCount, threads: threads)])
    }
}
