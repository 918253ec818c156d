import ByteIO
import CKernels
import Tensors

extension PaletteCodec {
    /// Many weights of a 16-bit type: they have at most 65,536 values, so everything is found for the values, and each
    /// weight is looked up. nil for other weights.
    func encodingHalves(
        _ unit: Range<Int>, of source: StoredTensor, into sections: [UnsafeMutableRawBufferPointer]
    ) throws -> Distortion? {
        let elements = source.elements(ofRows: unit)
        let isHalf = source.elementType == .float16 || source.elementType == .bfloat16
        guard isHalf, !hasScales, elements.count >= 1 << 16 else { return nil }
        let bytes = source.bytes[elements.lowerBound * 2..<elements.upperBound * 2]
        let counts = Self.counts(bytes)

        // Negative numbers fall with their bits.
        let falling: [UInt16] = (0x8000...0xFFFF).reversed()
        let rising: [UInt16] = Array(0...0x7FFF)
        let patterns = (falling + rising).filter { counts[Int($0)] > 0 }
        var values = [Float](repeating: 0, count: patterns.count)
        if source.elementType == .float16 {
            ck_f16_to_f32(patterns, &values, patterns.count)
        } else {
            ck_bf16_to_f32(patterns, &values, patterns.count)
        }
        // Says where.
        if values.contains(where: { !$0.isFinite }) { try source.forEachFiniteBlock(unit) { _ in } }

        let weights = patterns.map { Double(counts[Int($0)]) }
        let centers = values.withUnsafeBufferPointer { values in
            weights.withUnsafeBufferPointer { ExactKMeans.centers(of: values, weights: $0, k: size) }
        }
        let palette = Palette(try store(centers, group: groupIndex(unit.lowerBound), in: sections[1], of: source))
        var codes = [UInt8](repeating: 0, count: values.count)
        var distortion = values.withUnsafeBufferPointer { values in
            codes.withUnsafeMutableBufferPointer { palette.encode(values, scale: 1, into: $0) }
        }
        distortion.count = elements.count
        (distortion.energy, distortion.squaredError) = (0, 0)
        var codeOfPattern = [UInt8](repeating: 0, count: 1 << 16)
        for index in values.indices {
            let value = Double(values[index])
            let error = value - Double(palette.entry(codes[index]))
            distortion.energy += weights[index] * (value * value)
            distortion.squaredError += weights[index] * (error * error)
            codeOfPattern[Int(patterns[index])] = codes[index]
        }

        let columns = source.shape.columns
        let rowBytes = bytesPerRow(source.shape)
        bytes.withBytes { bytes in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: columns) { codes in
                guard let codesStart = codes.baseAddress, let target = sections[0].baseAddress else { return }
                codeOfPattern.withUnsafeBufferPointer { table in
                    for (index, row) in unit.enumerated() {
                        for column in 0..<columns {
                            let place = (index &* columns &+ column) &* 2
                            codesStart[column] = table[Int(bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self))]
                        }
                        BitPacking.pack(
                            UnsafeBufferPointer(rebasing: codes[..<columns]), bits: bits,
                            into: (target + row * rowBytes).assumingMemoryBound(to: UInt8.self))
                    }
                }
            }
        }
        return distortion
    }

    /// How often each pattern of 16 bits occurs. Neighbours are counted in tables of their own, so that runs of one
    /// pattern do not wait for each other.
    private static func counts(_ bytes: ByteView) -> [UInt64] {
        let tables = 4
        var counts = [UInt64](repeating: 0, count: tables << 16)
        counts.withUnsafeMutableBufferPointer { counts in
            bytes.withBytes { bytes in
                for index in 0..<bytes.count / 2 {
                    let pattern = bytes.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self)
                    counts[index & (tables - 1) << 16 | Int(pattern)] &+= 1
                }
            }
        }
        return (0..<1 << 16).map { pattern in (0..<tables).reduce(0) { $0 + counts[$1 << 16 | pattern] } }
    }
}
