import AccelByteIO
import AccelTensors

extension CTranslate2Values {
    /// Rounds each row to 8 bits by the factor 127 / max|w|, in float32 as CTranslate2's converter computes it. The rows of a
    /// convolution's weight are its output channels.
    /// - Returns: the codes, and the factors, which CTranslate2 divides by.
    func bytes(of variable: CTranslate2Variable) throws -> (codes: ByteView, scales: ByteView) {
        let rows = variable.shape.dimensions[0]
        let width = variable.shape.count / rows
        let codes = try ByteBuffer(allocating: variable.shape.count, for: variable.name)
        let scales = try ByteBuffer(allocating: rows * 4, for: variable.name)
        try forEachBlock(of: variable, width: width) { elements, values in
            for row in 0..<elements.count / width {
                let place = values + row * width
                let largest = try largestMagnitude(place, elements.lowerBound + row * width, width, of: variable)
                // The factor of the smallest rows stays finite.
                let scale = largest == 0 ? 1 : 127 / max(largest, 127 / Float.greatestFiniteMagnitude)
                let index = elements.lowerBound / width + row
                scales.bytes.storeBytes(of: scale.bitPattern.littleEndian, toByteOffset: index * 4, as: UInt32.self)
                Self.round(place, width, by: scale) { offset, code in
                    codes.bytes[elements.lowerBound + row * width + offset] = UInt8(truncatingIfNeeded: code)
                } vectors: { offset, bits in
                    codes.bytes.storeBytes(
                        of: SIMD16<UInt8>(truncatingIfNeeded: bits),
                        toByteOffset: elements.lowerBound + row * width + offset, as: SIMD16<UInt8>.self)
                }
            }
        }
        return (ByteView(codes), ByteView(scales))
    }

    /// Rounds a matrix to 16 bits by the factor 1024 / max|w|, so that products of codes have 20 bits.
    func words(of variable: CTranslate2Variable) throws -> (codes: ByteView, scales: ByteView) {
        let codes = try ByteBuffer(allocating: variable.shape.count * 2, for: variable.name)
        let largest = Locked(Float(0))
        try forEachBlock(of: variable, width: 1) { elements, values in
            let found = try largestMagnitude(values, elements.lowerBound, elements.count, of: variable)
            largest.withLock { $0 = max($0, found) }
        }
        let magnitude = largest.withLock { $0 }
        let scale = magnitude == 0 ? 1 : 1024 / magnitude
        guard scale.isFinite else {
            throw variable.error("its largest weight, \(magnitude), is too small for int16", quantization: ["int8"])
        }
        try forEachBlock(of: variable, width: 1) { elements, values in
            Self.round(values, elements.count, by: scale) { offset, code in
                codes.bytes.storeBytes(
                    of: UInt16(truncatingIfNeeded: code), toByteOffset: (elements.lowerBound + offset) * 2,
                    as: UInt16.self)
            } vectors: { offset, bits in
                codes.bytes.storeBytes(
                    of: SIMD16<UInt16>(truncatingIfNeeded: bits), toByteOffset: (elements.lowerBound + offset) * 2,
                    as: SIMD16<UInt16>.self)
            }
        }
        return (ByteView(codes), ByteView([scale.bitPattern.littleEndian]))
    }

    /// Returns the largest magnitude of a run of elements.
    /// - Throws: `FormatError` for a number that is not finite.
    private func largestMagnitude(
        _ values: UnsafePointer<Float>, _ first: Int, _ count: Int, of variable: CTranslate2Variable
    ) throws -> Float {
        // Magnitudes are ordered as their bits are.
        let source = UnsafeRawPointer(values)
        var most = SIMD16<Int32>(repeating: 0)
        let whole = count & ~15
        for index in stride(from: 0, to: whole, by: 16) {
            let bits = source.loadUnaligned(fromByteOffset: index * 4, as: SIMD16<Int32>.self) & 0x7FFF_FFFF
            most.replace(with: bits, where: bits .> most)
        }
        var largest = most.max()
        for index in whole..<count {
            largest = max(largest, Int32(truncatingIfNeeded: values[index].bitPattern & 0x7FFF_FFFF))
        }
        let magnitude = Float(bitPattern: UInt32(truncatingIfNeeded: largest))
        guard magnitude.isFinite else {
            let index = (0..<count).first { !values[$0].isFinite } ?? 0
            throw variable.error("is not finite", index: first + index)
        }
        return magnitude
    }

    /// Multiplies by a factor and rounds to the nearest integer, ties to even, for products below 2^22.
    /// - Parameters:
    ///   - single: receives an integer's lowest bits, with its index.
    ///   - vectors: receives those of 16 integers, with the index of the first.
    private static func round(
        _ values: UnsafePointer<Float>, _ count: Int, by scale: Float, single: (Int, UInt32) -> Void,
        vectors: (Int, SIMD16<UInt32>) -> Void
    ) {
        // The sum has no bits behind the point, and its lowest bits are those of the integer.
        let shift: Float = 0x1.8p23
        let source = UnsafeRawPointer(values)
        let whole = count & ~15
        for index in stride(from: 0, to: whole, by: 16) {
            let product = source.loadUnaligned(fromByteOffset: index * 4, as: SIMD16<Float>.self) * scale
            vectors(index, unsafeBitCast(product + shift, to: SIMD16<UInt32>.self))
        }
        for index in whole..<count { single(index, (values[index] * scale + shift).bitPattern) }
    }
}
