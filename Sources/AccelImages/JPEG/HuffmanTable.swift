import AccelByteIO

/// A Huffman code of a JPEG file. (ITU-T T.81, annexes C and F.2.2.3.)
struct HuffmanTable {
    /// The bits of codes that one look-up decodes.
    static let lookUpBits = 9
    /// For the next bits: the length of the code in the upper byte and its symbol in the lower one; 0 for a longer code.
    let lookUp: [UInt16]
    /// For each length of 1 to 16: the first number above its codes, in 16 bits with the code in the upper ones; and the index of a symbol
    /// minus its code.
    private let ends: [Int]
    private let offsets: [Int]
    private let symbols: [UInt8]

    /// - Parameters:
    ///   - counts: the numbers of codes of each length from 1 to 16.
    ///   - symbols: as many as there are codes.
    /// - Returns: nil for more codes than their lengths have bits for.
    init?(counts: [UInt8], symbols: [UInt8]) {
        var (lookUp, ends, offsets) = ([UInt16](repeating: 0, count: 1 << Self.lookUpBits), [0], [0])
        var (code, index) = (0, 0)
        for (number, count) in zip(1..., counts) {
            let count = Int(count)
            offsets.append(index - code)
            guard code + count <= 1 << number else { return nil }
            if number <= Self.lookUpBits {
                let share = 1 << (Self.lookUpBits - number)
                for offset in 0..<count * share {
                    lookUp[code * share + offset] = UInt16(number) << 8 | UInt16(symbols[index + offset / share])
                }
            }
            (code, index) = (code + count, index + count)
            ends.append(code << (16 - number))
            code *= 2
        }
        (self.lookUp, self.ends, self.offsets, self.symbols) = (lookUp, ends, offsets, symbols)
    }

    /// Returns the length and the symbol of a code that is longer than a look-up; nil if the bits begin no code.
    /// - Parameter bits: the next 16 bits.
    func long(_ bits: Int) -> (length: Int, symbol: UInt8)? {
        for length in Self.lookUpBits + 1...16 where bits < ends[length] {
            return (length, symbols[(bits >> (16 - length)) + offsets[length]])
        }
        return nil
    }
}
