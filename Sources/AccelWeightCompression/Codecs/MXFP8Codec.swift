/// MXFP8 (OCP Microscaling Formats 1.0): numbers of eight bits, and a power of two for each 32 of a row.
public struct MXFP8Codec: SingleSchemeCodec {
    public static let name = "mxfp8"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "type", allowed: ["e4m3", "e5m2"], default: "e4m3",
            help: "e4m3: three bits of mantissa, values up to 448; e5m2: two, up to 57344"),
        MicroscaleFit.option(MicroscaleFit.allCases),
    ]

    public let values: CodecOptionValues
    package let fit: MicroscaleFit
    package let elements: SmallFloat

    public init(_ values: CodecOptionValues) {
        self.values = values
        fit = MicroscaleFit(rawValue: values["fit"]) ?? .mse
        elements = values["type"] == "e5m2" ? .e5m2 : .e4m3
    }
}

extension MXFP8Codec: MicroscaledCodec {
    package static let block = 32
    package static let scaleForm = MicroscaleForm.power
    package var global: GlobalScale? { nil }
}
