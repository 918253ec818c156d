import AccelTensors

/// NVFP4: numbers of four bits (E2M1), a number of eight bits (E4M3) for each 16 of a row, and a float32 for the tensor unless `global=none`.
public struct NVFP4Codec: SingleSchemeCodec {
    public static let name = "nvfp4"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "global", allowed: ["multiplier", "divisor", "none"], default: "multiplier",
            help: "the tensor's scale multiplies or divides those of blocks; none: there is no such scale, as in MLX"),
        MicroscaleFit.option([.mse, .absmax, .mlx]),
        CalibrationMethod.option,
    ]

    public let values: CodecOptionValues
    package let fit: MicroscaleFit
    package let global: GlobalScale?

    /// Creates the codec.
    /// - Throws: `RequestError` for `fit=mlx` together with a method: `mx.quantize` takes no calibration data.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        fit = try MicroscaleFit(values)
        global = GlobalScale(rawValue: values["global"])
    }
}

extension NVFP4Codec: MicroscaledCodec, FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: blocks.size(shape)) }

    package static let block = 16
    package static let scaleForm = MicroscaleForm.e4m3
    package var elements: SmallFloat { .e2m1 }
}
