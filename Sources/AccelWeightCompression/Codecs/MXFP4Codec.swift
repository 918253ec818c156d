import AccelTensors

/// MXFP4 (OCP Microscaling Formats 1.0): numbers of four bits (E2M1), and a power of two for each 32 of a row.
public struct MXFP4Codec: SingleSchemeCodec {
    public static let name = "mxfp4"
    public static let numericsVersion = 1
    public static let options = [MicroscaleFit.option(MicroscaleFit.allCases), CalibrationMethod.option]

    public let values: CodecOptionValues
    package let fit: MicroscaleFit

    /// Creates the codec.
    /// - Throws: `RequestError` for `fit=mlx` together with a method: `mx.quantize` takes no calibration data.
    public init(_ values: CodecOptionValues) throws {
        self.values = values
        fit = try MicroscaleFit(values)
    }
}

extension MXFP4Codec: MicroscaledCodec, FeedbackCodec {
    func feedbackOrder(_ shape: Shape) -> FeedbackOrder { FeedbackOrder(group: blocks.size(shape)) }

    package static let block = 32
    package static let scaleForm = MicroscaleForm.power
    package var elements: SmallFloat { .e2m1 }
    package var global: GlobalScale? { nil }
}
