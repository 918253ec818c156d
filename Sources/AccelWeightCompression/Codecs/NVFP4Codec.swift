/// NVFP4: numbers of four bits (E2M1), a number of eight bits (E4M3) for each 16 of a row, and a float32 for the tensor unless `global=none`.
public struct NVFP4Codec: SingleSchemeCodec {
    public static let name = "nvfp4"
    public static let numericsVersion = 1
    public static let options = [
        CodecOption(
            "global", allowed: ["multiplier", "divisor", "none"], default: "multiplier",
            help: "the tensor's scale multiplies or divides those of blocks; none: there is no such scale, as in MLX"),
        MicroscaleFit.option([.mse, .absmax, .mlx]),
    ]

    public let values: CodecOptionValues
    package let fit: MicroscaleFit
    package let global: GlobalScale?

    public init(_ values: CodecOptionValues) {
        self.values = values
        fit = MicroscaleFit(rawValue: values["fit"]) ?? .mse
        global = GlobalScale(rawValue: values["global"])
    }
}

extension NVFP4Codec: MicroscaledCodec {
    package static let block = 16
    package static let scaleForm = MicroscaleForm.e4m3
    package var elements: SmallFloat { .e2m1 }
}
