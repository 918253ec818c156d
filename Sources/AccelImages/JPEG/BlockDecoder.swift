import AccelByteIO

/// Decodes the coefficients of one block after the other in a scan.
struct BlockDecoder {
    /// The procedure of a scan.
    enum Kind {
        /// All coefficients. (ITU-T T.81, F.2.2.)
        case sequential
        /// The first bits of the DC coefficient of a block or of AC coefficients, and one bit more of each. (T.81, G.1.2 and G.2.)
        case firstDC, refinedDC, firstAC, refinedAC

        init(isProgressive: Bool, hasDC: Bool, isRefinement: Bool) {
            self =
                switch (isProgressive, hasDC, isRefinement) {
                case (false, _, _): .sequential
                case (true, true, false): .firstDC
                case (true, true, true): .refinedDC
                case (true, false, false): .firstAC
                case (true, false, true): .refinedAC
                }
        }
    }
    typealias Block = UnsafeMutableBufferPointer<Int16>

    private var reader: EntropyReader
    private let band: ClosedRange<Int>
    private let shift: Int
    private let kind: Kind
    /// The last DC coefficient of each component of the scan.
    private var predictions = [Int](repeating: 0, count: 4)
    /// The blocks that are left of an end-of-band run: they have no new coefficients in this scan.
    private var endOfBandRun = 0
    private let zigzag = JPEGFrame.zigzag

    init(_ reader: EntropyReader, band: ClosedRange<Int>, shift: Int, kind: Kind) {
        (self.reader, self.band, self.shift, self.kind) = (reader, band, shift, kind)
    }

    /// The offset behind what was read.
    var end: Int { reader.position }

    mutating func restart(_ number: Int) throws(FormatError) {
        try reader.restart(number)
        predictions = [0, 0, 0, 0]
        endOfBandRun = 0
    }

    /// Decodes the next block, of a component of the scan.
    mutating func decode(
        _ block: Block, of component: Int, _ dc: HuffmanTable?, _ ac: HuffmanTable?
    ) throws(FormatError) {
        switch kind {
        case .sequential:
            try decodeDC(block, of: component, dc)
            try decodeAC(block, from: 1, ac)
        case .firstDC: try decodeDC(block, of: component, dc)
        case .refinedDC: if try reader.bits(1) == 1 { block[0] |= 1 << Int16(shift) }
        case .firstAC: try decodeAC(block, from: band.lowerBound, ac)
        case .refinedAC: try refineAC(block, ac)
        }
    }

    private mutating func decodeDC(_ block: Block, of component: Int, _ table: HuffmanTable?) throws(FormatError) {
        guard let table else { throw reader.error("the scan has no Huffman table for DC coefficients") }
        let length = try reader.symbol(table)
        guard length <= 15 else { throw reader.error("a DC coefficient has \(length) bits") }
        predictions[component] = Int(Int32(truncatingIfNeeded: predictions[component] + (try reader.signed(length))))
        block[0] = Int16(truncatingIfNeeded: predictions[component] << shift)
    }

    /// Decodes AC coefficients: runs of zeros, each with a value behind it.
    private mutating func decodeAC(_ block: Block, from first: Int, _ table: HuffmanTable?) throws(FormatError) {
        guard endOfBandRun == 0 else {
            endOfBandRun -= 1
            return
        }
        guard let table else { throw reader.error("the scan has no Huffman table for AC coefficients") }
        var index = first
        while index <= band.upperBound {
            let symbol = try reader.symbol(table)
            let (run, length) = (symbol >> 4, symbol & 15)
            if length == 0, run < 15 {
                guard run == 0 || kind != .sequential else { throw reader.error("the block has a run without a value") }
                endOfBandRun = (1 << run) - 1 + (try reader.bits(run))
                return
            }
            index += run
            if length > 0 {
                guard index <= band.upperBound else { throw reader.error("a block has too many coefficients") }
                block[zigzag[index]] = Int16(truncatingIfNeeded: try reader.signed(length) << shift)
            }
            index += 1
        }
    }

    /// Decodes a further bit of each AC coefficient that is not zero, and those that this bit makes 1 or -1. (T.81, G.1.2.3.)
    private mutating func refineAC(_ block: Block, _ table: HuffmanTable?) throws(FormatError) {
        guard let table else { throw reader.error("the scan has no Huffman table for AC coefficients") }
        let bit = Int16(1) << Int16(shift)
        var index = band.lowerBound
        while endOfBandRun == 0, index <= band.upperBound {
            let symbol = try reader.symbol(table)
            let (run, length) = (symbol >> 4, symbol & 15)
            var value: Int16 = 0
            if length == 0, run < 15 {
                endOfBandRun = (1 << run) + (try reader.bits(run))
                break
            } else if length > 0 {
                guard length == 1 else { throw reader.error("a new coefficient has \(length) bits, not 1") }
                value = try reader.bits(1) == 1 ? bit : -bit
            }
            index = try nextZero(block, from: index, after: run, bit)
            if value != 0 {
                guard index <= band.upperBound else { throw reader.error("a block has too many coefficients") }
                block[zigzag[index]] = value
            }
            index += 1
        }
        guard endOfBandRun > 0 else { return }
        _ = try nextZero(block, from: index, after: .max, bit)
        endOfBandRun -= 1
    }

    /// Passes some zeros, and decodes the bits of the other coefficients on the way. Returns the index of the zero behind them.
    private mutating func nextZero(
        _ block: Block, from first: Int, after zeros: Int, _ bit: Int16
    ) throws(FormatError) -> Int {
        var (index, zeros) = (first, zeros)
        while index <= band.upperBound {
            let value = block[zigzag[index]]
            if value == 0 {
                if zeros == 0 { break }
                zeros -= 1
            } else if try reader.bits(1) == 1, value & bit == 0 {
                block[zigzag[index]] = value &+ (value > 0 ? bit : -bit)
            }
            index += 1
        }
        return index
    }
}
