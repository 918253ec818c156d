import CAccelKernels

/// IQ3_S of ggml: 3 bits for uneven values of a grid of four weights; 32 weights have a scale of 4 bits.
public struct IQ3SCodec: GGMLCodec {
    public static let name = "iq3_s"
    package static let format = GGMLFormat(type: CK_GGML_IQ3_S, elements: 256, bytes: 110)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// IQ3_XXS of ggml: IQ3_S with half as many entries in its grid, and an even number of negative weights of eight.
public struct IQ3XXSCodec: GGMLCodec {
    public static let name = "iq3_xxs"
    package static let format = GGMLFormat(type: CK_GGML_IQ3_XXS, elements: 256, bytes: 98)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// IQ2_S of ggml: 2 bits for values of a grid of eight weights; 16 weights have a scale of 4 bits.
public struct IQ2SCodec: GGMLCodec {
    public static let name = "iq2_s"
    package static let format = GGMLFormat(type: CK_GGML_IQ2_S, elements: 256, bytes: 82, part: 16)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// IQ2_XS of ggml: IQ2_S with half as many entries in its grid, and an even number of negative weights of eight.
/// ggml makes such blocks with an importance of columns only; without one, these are those for an importance of 1.
public struct IQ2XSCodec: GGMLCodec {
    public static let name = "iq2_xs"
    package static let format = GGMLFormat(type: CK_GGML_IQ2_XS, elements: 256, bytes: 74, part: 16)
    package static let needsImportance = true
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// IQ2_XXS of ggml: IQ2_XS with half as many entries in its grid; 32 weights have a scale.
/// ggml makes such blocks with an importance of columns only; without one, these are those for an importance of 1.
public struct IQ2XXSCodec: GGMLCodec {
    public static let name = "iq2_xxs"
    package static let format = GGMLFormat(type: CK_GGML_IQ2_XXS, elements: 256, bytes: 66)
    package static let needsImportance = true
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}
