import AccelByteIO

/// A scan of a JPEG file: a pass over the blocks of some components, in sequential or progressive mode. (ITU-T T.81, B.2.3, F.2.2 and G.2.)
struct JPEGScan {
    /// The indices of its components in the frame, with their Huffman tables.
    let components: [(index: Int, dc: HuffmanTable?, ac: HuffmanTable?)]
    /// The coefficients of the scan, in the order of the file.
    let band: ClosedRange<Int>
    /// The bits of a coefficient below those of this scan, and whether it only adds a bit to what earlier scans have given.
    let shift: Int
    let isRefinement: Bool
    /// The units between two restart markers; 0 for none.
    let restartInterval: Int

    /// Decodes the scan into the coefficients of a frame. Returns the offset of its end.
    func decode(
        _ bytes: UnsafeRawBufferPointer, file: String, at start: Int, of frame: JPEGFrame
    ) throws(FormatError) -> Int {
        var blocks = BlockDecoder(
            EntropyReader(bytes, file: file, position: start), band: band, shift: shift,
            kind: .init(isProgressive: frame.isProgressive, hasDC: band.lowerBound == 0, isRefinement: isRefinement))
        // The blocks of a component alone do not fill units.
        let alone = components.count == 1 ? frame.components[components[0].index] : nil
        let (wide, high) = (alone?.blocksWide ?? frame.unitsWide, alone?.blocksHigh ?? frame.unitsHigh)
        var (waiting, restarts) = (restartInterval, 0)
        for row in 0..<high {
            for column in 0..<wide {
                if restartInterval > 0 {
                    if waiting == 0 {
                        try blocks.restart(restarts)
                        (waiting, restarts) = (restartInterval, restarts + 1)
                    }
                    waiting -= 1
                }
                for (number, part) in components.enumerated() {
                    let component = frame.components[part.index]
                    let (across, down) = alone == nil ? (component.across, component.down) : (1, 1)
                    let coefficients = component.coefficients.bytes.assumingMemoryBound(to: Int16.self)
                    for y in row * down..<(row + 1) * down {
                        for x in column * across..<(column + 1) * across {
                            let block = UnsafeMutableBufferPointer(
                                rebasing: coefficients[
                                    (y * component.stride + x) * 64..<(y * component.stride + x + 1) * 64])
                            try blocks.decode(block, of: number, part.dc, part.ac)
                        }
                    }
                }
            }
        }
        return blocks.end
    }
}
