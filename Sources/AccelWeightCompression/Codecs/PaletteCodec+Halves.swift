import AccelByteIO
import AccelTensors
import CAccelKernels

extension PaletteCodec {
    /// Below this count, sorting the weights is as fast.
    private static let leastHalves = 1 << 14

    /// Encodes many weights of a 16-bit type: they have at most 65,536 distinct values, so codes are computed per value
    /// and looked up per weight. Returns nil if the weights are too few, or of another type.
    func encodingHalves(
        _ unit: Range<Int>, of source: StoredTensor, threads: Int, into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion? {
        let elements = source.elements(ofRows: unit)
        let isHalf = source.elementType == .float16 || source.elementType == .bfloat16
        guard isHalf, !hasScales, elements.count >= Self.leastHalves else { return nil }
        let histogram = HalfHistogram(
            source.bytes[elements.lowerBound * 2..<elements.upperBound * 2], source.elementType, threads: threads)
        // Throws with the location of the value.
        if histogram.values.contains(where: { !$0.isFinite }) { try source.checkFinite(unit) }

        let centers = histogram.values.withUnsafeBufferPointer { values in
            histogram.weights.withUnsafeBufferPointer { ExactKMeans.centers(of: values, weights: $0, k: size) }
        }
        let palette = Palette(try store(centers, group: groupIndex(unit.lowerBound), in: sections[1], of: source))
        let (table, distortion) = palette.table(of: histogram)
        try lookUp(unit, of: source, in: table, threads: threads, into: sections[0])
        return distortion
    }

    /// Writes the codes of all rows of a unit.
    /// - Parameter table: the code of each 16-bit pattern.
    private func lookUp(
        _ unit: Range<Int>, of source: StoredTensor, in table: [UInt8], threads: Int,
        into section: UnsafeMutableRawBufferPointer
    ) throws {
        let columns = source.shape.columns
        let rowBytes = bytesPerRow(source.shape)
        guard let start = section.baseAddress, columns > 0 else { return }
        let target = SharedBytes(start)
        // If rows end at byte boundaries, they follow each other without a gap.
        let isDense = columns * bits % 8 == 0
        let blocks = source.rowBlocks(of: 1 << 19, in: unit)
        try Parallel.forEach(blocks.count, threads: threads) { index in
            let rows = blocks[index]
            source.bytes[rows.lowerBound * columns * 2..<rows.upperBound * columns * 2].withBytes { bytes in
                guard let values = bytes.baseAddress else { return }
                let codes = (target.start + rows.lowerBound * rowBytes).assumingMemoryBound(to: UInt8.self)
                if isDense {
                    ck_look_up_halves(values, rows.count * columns, table, Int32(bits), codes)
                } else {
                    for row in 0..<rows.count {
                        ck_look_up_halves(
                            values + row * columns * 2, columns, table, Int32(bits), codes + row * rowBytes)
                    }
                }
            }
        }
    }
}

/// Memory in which each thread writes its own part.
struct SharedBytes: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
    init(_ start: UnsafeMutableRawPointer) { self.start = start }
}

extension Palette {
    /// Returns the code of every pattern that occurs, and the error of all weights.
    fileprivate func table(of histogram: HalfHistogram) -> ([UInt8], Distortion) {
        let (values, weights) = (histogram.values, histogram.weights)
        var codes = [UInt8](repeating: 0, count: values.count)
        var distortion = values.withUnsafeBufferPointer { values in
            codes.withUnsafeMutableBufferPointer { encode(values, scale: 1, into: $0) }
        }
        distortion.count = 0
        (distortion.energy, distortion.squaredError) = (0, 0)
        var table = [UInt8](repeating: 0, count: 1 << 16)
        for index in values.indices {
            let value = Double(values[index])
            let error = value - Double(entry(codes[index]))
            distortion.count += Int(weights[index])
            distortion.energy += weights[index] * (value * value)
            distortion.squaredError += weights[index] * (error * error)
            table[Int(histogram.patterns[index])] = codes[index]
        }
        return (table, distortion)
    }
}
