import AccelTensors

/// The layout of codes whose blocks have a scale and a shift: a weight is `scale * (code - zero) + shift`.
package struct ShiftedCodes: Sendable {
    /// Bits of a code; the codes of a row are packed, lowest bits first.
    package let bits: Int
    /// Codes are in two's complement.
    package let isSigned: Bool
    /// The middle of the codes, so that sums of codes stay small.
    package let zero: Float
    /// Bytes of a row's codes.
    package let rowBytes: Int
    /// Weights of a row that share a scale and a shift.
    package let block: Int
    /// Blocks of a row.
    package let blocks: Int
}

/// A codec of weights with a scale and a shift for each block.
package protocol ShiftedCodec: WeightCodec {
    /// Returns the layout of the codes in the first section; nil if the weight's blocks have no shift.
    func shiftedCodes(of weight: CompressedTensor) -> ShiftedCodes?
    /// Reads the scales and the shifts of some rows, one of each for each block.
    func loadShifts(
        of rows: Range<Int>, of weight: CompressedTensor, scales: UnsafeMutablePointer<Float>,
        shifts: UnsafeMutablePointer<Float>)
}
