import AccelByteIO
package import AccelTensors

/// The layout of codes whose blocks share a scale: a weight is `scale * value(code)`, plus the shift of its block if blocks
/// have one.
package struct BlockScaledCodes: Sendable {
    /// The number that a code stands for.
    package enum Values: Sendable {
        /// The code less `1 << (bits - 1)`, the middle of all codes, so that sums stay small.
        case biased
        /// The code in two's complement.
        case signed
        /// An entry of a table. (The runtime has a product for four bits; weights with other tables are decoded row by row.)
        case table([Float])
        /// A number of float8, of type e5m2 or else e4m3.
        case float8(isE5M2: Bool)
    }

    /// The kind of shift of the blocks of a row.
    package enum Shifts: Sendable {
        case none
        /// A bias is the weight of code 0: of the type of the scales, a row's after those of the row before it.
        case biases
        /// A zero point is the code of weight 0: four bits in two's complement, those of a row in `rowBytes` bytes, low
        /// nibble first.
        case zeros(rowBytes: Int)
    }

    /// Bits of a code; the codes of a row are packed, lowest bits first.
    package let bits: Int
    package let values: Values
    package let shifts: Shifts
    /// The type of the scales; a row's follow those of the row before it.
    package let scaleType: ScaleType
    /// Bytes of a row's codes.
    package let rowBytes: Int
    /// Weights of a row that share a scale and a shift.
    package let block: Int
    /// Blocks of a row.
    package let blocks: Int
    /// Rows that share their scales, from row 0 on; more than one only without shifts.
    package var rowsPerScale = 1
    /// The second section has scales of another form: `loadScales` gives them as float32, the type of the scales.
    package var hasScalesToLoad = false
}

/// A codec of weights with a scale, or a scale and a shift, for each block. Codes are its first section, scales its second,
/// biases or zero points its third.
package protocol BlockScaledCodec: SingleSchemeCodec {
    /// Returns the layout of the codes of a weight of this shape.
    func blockScaledCodes(_ shape: Shape) -> BlockScaledCodes
    /// Writes the scales of some rows as float32, those of a row after those of the row before it. Does not allocate.
    func loadScales(ofRows rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutablePointer<Float>)
}

extension BlockScaledCodec {
    package func loadScales(
        ofRows rows: Range<Int>, of weight: CompressedTensor, into target: UnsafeMutablePointer<Float>
    ) {
        let codes = blockScaledCodes(weight.shape)
        weight.sections[1].withBytes {
            codes.scaleType.load($0, rows.lowerBound * codes.blocks..<rows.upperBound * codes.blocks, into: target)
        }
    }
}
