import AccelByteIO
import AccelTensors
import CAccelKernels

/// A type of ggml: blocks of weights with their scales, as GGUF files have them.
package struct GGMLFormat: Sendable {
    /// The name of the scheme: that of the type in small letters.
    package let name: String
    let type: ck_ggml_type
    /// Weights of a block.
    package let elements: Int
    /// Bytes of a block.
    package let bytes: Int
    /// The offset of the scale in a block, which is of type float16.
    package let scaleOffset: Int
    /// Weights of a block that share a scale.
    package let part: Int
    /// A weight is its code times the scale of its part, less the minimum of its part.
    package let hasMinima: Bool
    /// The codes that error feedback may choose, and their bits; nil for types whose codes are numbers of entries of a table or grid, for ternary
    /// ones, and for q8_0.
    let layout: GGMLCodeLayout?
    /// How importance and searches of scales bear on the bytes.
    private let search: Search

    private enum Search {
        /// Scales follow from the weights alone.
        case none
        /// Scales of less squared error than ggml's can be searched.
        case plain
        /// ggml has another search for a given importance of columns.
        case weighted
        /// ggml makes such blocks with an importance of columns only; without one, these are those for an importance of 1.
        case weightedOnly
    }

    private init(
        _ name: String, _ type: ck_ggml_type, _ elements: Int, _ bytes: Int, scaleAt scaleOffset: Int = 0,
        part: Int = 32, hasMinima: Bool = false, search: Search = .weighted, layout: GGMLCodeLayout? = nil
    ) {
        (self.name, self.type, self.elements, self.bytes) = (name, type, elements, bytes)
        (self.scaleOffset, self.part, self.hasMinima, self.search) = (scaleOffset, part, hasMinima, search)
        self.layout = layout
    }

    /// Every type, in the order of help texts.
    package static let all = [
        // A scale for 32 weights, and a minimum in the types that end with 1.
        GGMLFormat("q8_0", CK_GGML_Q8_0, 32, 34, search: .plain),
        GGMLFormat("q4_0", CK_GGML_Q4_0, 32, 18, layout: GGMLCodeLayout(-8...7, (2, 4, 16))),
        GGMLFormat(
            "q4_1", CK_GGML_Q4_1, 32, 20, hasMinima: true, layout: GGMLCodeLayout(0...15, minimumAt: 2, (4, 4, 16))),
        GGMLFormat("q5_0", CK_GGML_Q5_0, 32, 22, layout: GGMLCodeLayout(-16...15, (6, 4, 16), (2, 1, 1))),
        GGMLFormat(
            "q5_1", CK_GGML_Q5_1, 32, 24, hasMinima: true,
            layout: GGMLCodeLayout(0...31, minimumAt: 2, (8, 4, 16), (4, 1, 1))),
        // A scale of 4, 6, 6, 6 and 8 bits for 16 or 32 weights, and a minimum like it in those with minima.
        GGMLFormat(
            "q2_k", CK_GGML_Q2_K, 256, 84, scaleAt: 80, part: 16, hasMinima: true,
            layout: GGMLCodeLayout(0...3, minimumAt: 82, (16, 2, 32))),
        GGMLFormat(
            "q3_k", CK_GGML_Q3_K, 256, 110, scaleAt: 108, part: 16,
            layout: GGMLCodeLayout(-4...3, (32, 2, 32), (0, 1, 32))),
        GGMLFormat(
            "q4_k", CK_GGML_Q4_K, 256, 144, hasMinima: true, layout: GGMLCodeLayout(0...15, minimumAt: 2, (16, 4, 32))),
        GGMLFormat(
            "q5_k", CK_GGML_Q5_K, 256, 176, hasMinima: true,
            layout: GGMLCodeLayout(0...31, minimumAt: 2, (48, 4, 32), (16, 1, 32))),
        GGMLFormat(
            "q6_k", CK_GGML_Q6_K, 256, 210, scaleAt: 208, part: 16,
            layout: GGMLCodeLayout(-32...31, (0, 4, 64), (128, 2, 32))),
        // Sixteen uneven values; in iq4_xs 32 weights have a scale of 6 bits.
        GGMLFormat("iq4_nl", CK_GGML_IQ4_NL, 32, 18),
        GGMLFormat("iq4_xs", CK_GGML_IQ4_XS, 256, 136),
        // A grid of the values of four weights; xxs has half as many entries, and an even number of negative weights of eight.
        GGMLFormat("iq3_s", CK_GGML_IQ3_S, 256, 110),
        GGMLFormat("iq3_xxs", CK_GGML_IQ3_XXS, 256, 98),
        // A grid of the values of eight weights; xs has half as many entries as s, and xxs half as many as xs.
        GGMLFormat("iq2_s", CK_GGML_IQ2_S, 256, 82, part: 16),
        GGMLFormat("iq2_xs", CK_GGML_IQ2_XS, 256, 74, part: 16, search: .weightedOnly),
        GGMLFormat("iq2_xxs", CK_GGML_IQ2_XXS, 256, 66, search: .weightedOnly),
        // -1, 0 or 1, five or four in a byte.
        GGMLFormat("tq1_0", CK_GGML_TQ1_0, 256, 54, scaleAt: 52, search: .none),
        GGMLFormat("tq2_0", CK_GGML_TQ2_0, 256, 66, scaleAt: 64, search: .none),
    ]

    /// The number in GGUF files.
    package var number: UInt32 { UInt32(type.rawValue) }
    /// Whether ggml has another search of the type for a given importance of columns.
    package var takesImportance: Bool { search == .weighted || needsImportance }
    /// Whether codes can be chosen by error feedback: they are steps, or in iq4_nl entries of one table, times the scale of their block.
    var hasFeedback: Bool { layout != nil || type == CK_GGML_IQ4_NL }
    /// The byte in a block and the bit of it that is the highest one of the first code, for types with error feedback.
    package var highestCodeBit: (byte: Int, bit: Int) {
        layout?.planes.last.map { ($0.offset, $0.bits - 1) } ?? (scaleOffset + 2, 3)
    }
    /// Whether ggml does not encode without an importance of columns.
    package var needsImportance: Bool { search == .weightedOnly }
    /// Whether scales of less squared error than ggml's can be searched.
    package var isSearched: Bool { search != .none }

    /// The error for a weight whose scale float16 cannot hold.
    func overflow(in source: StoredTensor, at index: Int) -> FormatError {
        source.error("needs a scale beyond float16, which \(name) has; store it as float32", index: index)
    }

    func blocksPerRow(_ shape: Shape) -> Int {
        shape.columns / elements + (shape.columns % elements == 0 ? 0 : 1)
    }
}
