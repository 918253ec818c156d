/// NormalFloat-4 (Dettmers et al., "QLoRA", 2023): each weight is an entry of a table of 16 normal quantiles from -1 to
/// 1, times a scale that a block of a row shares.
///
/// Sections: `codes` (nibbles; each row starts at a byte boundary, lower nibble first), `scales` (one per block,
/// row-major; a negative scale mirrors the table).
public struct NF4Codec: TableCodec {
    public static let name = "nf4"
    public static let numericsVersion = 1
    public static let options = tableOptions(block: "32")
    /// The 16 entries, ascending.
    public static let table: [Float] = [
        -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
        -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
        0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
    ]
    static let palette = Palette(table)
    static let ratios = SIMD16<Float>(
        0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.25, -0.9, -0.95, -1, -1.05, -1.1, -1.15, -1.2, -1.25)

    public let values: CodecOptionValues
    let settings: TableSettings

    public init(_ values: CodecOptionValues) { (self.values, settings) = (values, TableSettings(values)) }
}
