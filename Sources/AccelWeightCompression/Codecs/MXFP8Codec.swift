import AccelTensors

/// MXFP8 (OCP Microscaling Formats 1.0): numbers of eight bits, and a power of two for each 32 of a row.
public struct MXFP8Codec: SingleSchemeCodec {
    public static let name = "mxfp8"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "type", allowed: ["e4m3", "e5m2"], default: "e4m3",
            help: "e4m3: three bits of mantissa, values up to 448; e5m2: two, up to 57344"),
        MicroscaleFit.option(MicroscaleFit.allCases),
        CalibrationMethod.option,
    ]

    public let values: CodecOptionValues
    package let fit: MicroscaleFit
    package let elements: SmallFloat

    /// Creates the codec.
    /// - Throws: `RequestError` for `fit=mlx` together with a method: `mx.quantize` takes no calibration data.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        fit = try MicroscaleFit(values)
        elements = values["type"] == "e5m2" ? .e5m2 : .e4m3
    }
}

extension MXFP8Codec: MicroscaledCodec, FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: blocks.size(shape)) }

    package static let block = 32
    package static let scaleForm = MicroscaleForm.power
    package var global: GlobalScale? { nil }
}
