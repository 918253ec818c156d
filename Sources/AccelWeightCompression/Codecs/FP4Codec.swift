/// FP4 of bitsandbytes: seven magnitudes from 1/192 to 1 with a sign, and zero, times a scale that a block of a row shares.
/// (The `mxfp4` and `nvfp4` codecs have another table, E2M1.)
///
/// Sections: `codes` (nibbles; each row starts at a byte boundary, lower nibble first), `scales` (one per block,
/// row-major). A code is the rank of its entry, which bitsandbytes numbers by sign and magnitude.
public struct FP4Codec: TableCodec {
    public static let name = "fp4"
    public static let numericsVersion = 1
    public static let options = tableOptions(block: "64")
    /// The 16 entries, ascending. Zero is there twice, as bitsandbytes has two codes for it.
    public static let table: [Float] = [
        -1, -0.6666666865348816, -0.5, -0.3333333432674408, -0.25, -0.1666666716337204, -0.0052083334885537624, 0, 0,
        0.0052083334885537624, 0.1666666716337204, 0.25, 0.3333333432674408, 0.5, 0.6666666865348816, 1,
    ]
    static let palette = Palette(table)
    static let ratios = SIMD16<Float>((0..<16).map { 0.7 + 0.05 * Float($0) })

    public let values: CodecOptionValues
    let settings: TableSettings

    public init(_ values: CodecOptionValues) { (self.values, settings) = (values, TableSettings(values)) }
}
