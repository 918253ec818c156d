import AccelByteIO
package import AccelTensors

/// The layout of codes whose blocks share a scale: a weight is `scale * value(code)`, plus the shift of its block if blocks
/// have one.
package struct BlockScaledCodes: Sendable {
    /// What stands for a code.
    package enum Values: Sendable {
        /// The code less `1 << (bits - 1)`, the middle of all codes, so that sums stay small.
        case biased
        /// The code in two's complement.
        case signed
        /// An entry of a table.
        case table([Float])
    }

    /// Bits of a code; the codes of a row are packed, lowest bits first.
    package let bits: Int
    package let values: Values
    package let hasShifts: Bool
    /// The type of the scales. They are the second section, a row's after those of the row before it.
    package let scaleType: ScaleType
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
    /// Computes the shifts of some rows, one for each block, of blocks that have shifts.
    /// - Parameter scales: those of the rows.
    func loadShifts(
        of rows: Range<Int>, of weight: CompressedTensor, scales: UnsafePointer<Float>,
        into shifts: UnsafeMutablePointer<Float>)
}

extension BlockScaledCodec {
    /// Reads the scales of some rows, one for each block.
    package func loadScales(
        of rows: Range<Int>, of weight: CompressedTensor, into scales: UnsafeMutablePointer<Float>
    ) {
        let codes = blockScaledCodes(weight.shape)
        let indices = rows.lowerBound * codes.blocks..<rows.upperBound * codes.blocks
        weight.sections[1].withBytes { codes.scaleType.load($0, indices, into: scales) }
    }

    /// Blocks have no shifts.
    package func loadShifts(
        of rows: Range<Int>, of weight: CompressedTensor, scales: UnsafePointer<Float>,
        into shifts: UnsafeMutablePointer<Float>
    ) {}
}
