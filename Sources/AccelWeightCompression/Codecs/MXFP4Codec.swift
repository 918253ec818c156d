/// MXFP4 (OCP Microscaling Formats 1.0): numbers of four bits (E2M1), and a power of two for each 32 of a row.
public struct MXFP4Codec: SingleSchemeCodec {
    public static let name = "mxfp4"
    public static let numericsVersion = 1
    public static let options = [MicroscaleFit.option(MicroscaleFit.allCases)]

    public let values: CodecOptionValues
    package let fit: MicroscaleFit

    public init(_ values: CodecOptionValues) {
        self.values = values
        fit = MicroscaleFit(rawValue: values["fit"]) ?? .mse
    }
}

extension MXFP4Codec: MicroscaledCodec {
    package static let block = 32
    package static let scaleForm = MicroscaleForm.power
    package var elements: SmallFloat { .e2m1 }
    package var global: GlobalScale? { nil }
}
