package import AccelTensors

/// The layout of codes whose blocks share a scale: a weight is `scale * value(code)`, plus the shift of its block if blocks
/// have one.
package struct BlockScaledCodes: Sendable {
    /// What stands for a code.
    package enum Values: Sendable {
        /// The code less a number in the middle of all codes, so that sums stay small.
        case unsigned(zero: Float)
        /// The code in two's complement.
        case signed
        /// An entry of a table.
        case table([Float])
    }

    /// Bits of a code; the codes of a row are packed, lowest bits first.
    package let bits: Int
    package let values: Values
    package let hasShifts: Bool
    /// Bytes of a row's codes.
    package let rowBytes: Int
    /// Weights of a row that share a scale and a shift.
    package let block: Int
    /// Blocks of a row.
    package let blocks: Int
}

/// A codec of weights with a scale, or a scale and a shift, for each block. Codes are its first section.
package protocol BlockScaledCodec: WeightCodec {
    /// Returns the layout of the codes of a weight of this shape.
    func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes
    /// Reads the scales and the shifts of some rows, one of each for each block. `shifts` is not written if blocks have
    /// none.
    func loadScales(
        of rows: Range<Int>, of weight: CompressedTensor, into scales: UnsafeMutablePointer<Float>,
        shifts: UnsafeMutablePointer<Float>)
}
