import AccelByteIO
import AccelTensors
import CAccelKernels

/// The codecs of ggml's types. A specification's name is that of the type in small letters.
package enum GGMLCodecs {
    /// Every type, in the order of help texts.
    package static let all: [any GGMLCodec.Type] = [
        Q80Codec.self, Q40Codec.self, Q41Codec.self, Q50Codec.self, Q51Codec.self,
        Q2KCodec.self, Q3KCodec.self, Q4KCodec.self, Q5KCodec.self, Q6KCodec.self,
        IQ4NLCodec.self, IQ4XSCodec.self, IQ3SCodec.self, IQ3XXSCodec.self,
        IQ2SCodec.self, IQ2XSCodec.self, IQ2XXSCodec.self, TQ10Codec.self, TQ20Codec.self,
    ]
}

/// Q8_0 of ggml: 8 bits and a scale for 32 weights.
public struct Q80Codec: GGMLCodec {
    public static let name = "q8_0"
    package static let format = GGMLFormat(type: CK_GGML_Q8_0, elements: 32, bytes: 34)
    package static let takesImportance = false
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q4_0 of ggml: 4 bits and a scale for 32 weights.
public struct Q40Codec: GGMLCodec {
    public static let name = "q4_0"
    package static let format = GGMLFormat(type: CK_GGML_Q4_0, elements: 32, bytes: 18)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q4_1 of ggml: 4 bits, a scale and a minimum for 32 weights.
public struct Q41Codec: GGMLCodec {
    public static let name = "q4_1"
    package static let format = GGMLFormat(type: CK_GGML_Q4_1, elements: 32, bytes: 20, hasMinima: true)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q5_0 of ggml: 5 bits and a scale for 32 weights.
public struct Q50Codec: GGMLCodec {
    public static let name = "q5_0"
    package static let format = GGMLFormat(type: CK_GGML_Q5_0, elements: 32, bytes: 22)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q5_1 of ggml: 5 bits, a scale and a minimum for 32 weights.
public struct Q51Codec: GGMLCodec {
    public static let name = "q5_1"
    package static let format = GGMLFormat(type: CK_GGML_Q5_1, elements: 32, bytes: 24, hasMinima: true)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q2_K of ggml: 2 bits; 16 weights have a scale and a minimum of 4 bits.
public struct Q2KCodec: GGMLCodec {
    public static let name = "q2_k"
    package static let format = GGMLFormat(
        type: CK_GGML_Q2_K, elements: 256, bytes: 84, scaleOffset: 80, part: 16, hasMinima: true)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q3_K of ggml: 3 bits; 16 weights have a scale of 6 bits.
public struct Q3KCodec: GGMLCodec {
    public static let name = "q3_k"
    package static let format = GGMLFormat(type: CK_GGML_Q3_K, elements: 256, bytes: 110, scaleOffset: 108, part: 16)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q4_K of ggml: 4 bits; 32 weights have a scale and a minimum of 6 bits.
public struct Q4KCodec: GGMLCodec {
    public static let name = "q4_k"
    package static let format = GGMLFormat(type: CK_GGML_Q4_K, elements: 256, bytes: 144, hasMinima: true)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q5_K of ggml: 5 bits; 32 weights have a scale and a minimum of 6 bits.
public struct Q5KCodec: GGMLCodec {
    public static let name = "q5_k"
    package static let format = GGMLFormat(type: CK_GGML_Q5_K, elements: 256, bytes: 176, hasMinima: true)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// Q6_K of ggml: 6 bits; 16 weights have a scale of 8 bits.
public struct Q6KCodec: GGMLCodec {
    public static let name = "q6_k"
    package static let format = GGMLFormat(type: CK_GGML_Q6_K, elements: 256, bytes: 210, scaleOffset: 208, part: 16)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// IQ4_NL of ggml: 4 bits for uneven values, and a scale for 32 weights.
public struct IQ4NLCodec: GGMLCodec {
    public static let name = "iq4_nl"
    package static let format = GGMLFormat(type: CK_GGML_IQ4_NL, elements: 32, bytes: 18)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// IQ4_XS of ggml: 4 bits for uneven values; 32 weights have a scale of 6 bits.
public struct IQ4XSCodec: GGMLCodec {
    public static let name = "iq4_xs"
    package static let format = GGMLFormat(type: CK_GGML_IQ4_XS, elements: 256, bytes: 136)
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// TQ1_0 of ggml: -1, 0 or 1, five in a byte, and a scale for 256 weights.
public struct TQ10Codec: GGMLCodec {
    public static let name = "tq1_0"
    package static let format = GGMLFormat(type: CK_GGML_TQ1_0, elements: 256, bytes: 54, scaleOffset: 52)
    package static let takesImportance = false
    package static let isSearched = false
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}

/// TQ2_0 of ggml: -1, 0 or 1, four in a byte, and a scale for 256 weights.
public struct TQ20Codec: GGMLCodec {
    public static let name = "tq2_0"
    package static let format = GGMLFormat(type: CK_GGML_TQ2_0, elements: 256, bytes: 66, scaleOffset: 64)
    package static let takesImportance = false
    package static let isSearched = false
    public let values: CodecOptionValues

    public init(_ values: CodecOptionValues) { self.values = values }
}
