/// The rounding of float32 numbers to bfloat16, which has 8 significant bits and the exponents of float32.
enum BFloat16Rounding {
    /// Returns the nearest bfloat16, of two equally near ones that whose last bit is 0; infinity for values out of range.
    static func rounded(_ value: Float) -> Float {
        guard !value.isNaN else { return .nan }
        let bits = value.bitPattern
        // Carries into the upper half where the lower one is above half of a step, or is half and the last bit kept is 1.
        let nearest = bits + 0x7FFF + (bits >> 16 & 1)
        return Float(bitPattern: nearest & 0xFFFF_0000)
    }
}

extension ReferenceOperand {
    /// The operand with its elements rounded to bfloat16: a weight's as its rows are read.
    var roundedToBFloat16: ReferenceOperand {
        switch self {
        case .tensor(let tensor): .tensor(HostTensor(tensor.floats.map(BFloat16Rounding.rounded), tensor.shape))
        case .rows(let rows):
            .rows(
                ReferenceRows(rows.shape) { range, target in
                    rows.read(range, into: target)
                    for index in target.indices { target[index] = BFloat16Rounding.rounded(target[index]) }
                })
        }
    }
}
