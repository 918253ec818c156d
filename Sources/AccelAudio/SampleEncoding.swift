package import AccelByteIO

/// How a file stores a sample.
package struct SampleEncoding: Equatable, Sendable {
    /// The kind of number.
    package enum Kind: Equatable, Sendable {
        /// Integers from 0, with silence in the middle.
        case unsigned
        /// Integers in two's complement.
        case signed
        /// Numbers of IEEE 754.
        case float
    }

    package let kind: Kind
    /// The bytes of a sample: 1 to 4 of an integer, 4 or 8 of a float.
    package let byteCount: Int
    package let isBigEndian: Bool

    package init(_ kind: Kind, byteCount: Int, isBigEndian: Bool = false) {
        (self.kind, self.byteCount, self.isBigEndian) = (kind, byteCount, isBigEndian)
    }

    /// Decodes whole samples. Integers are divided by half their range, so that all but those of 32 bits are exact.
    /// - Parameters:
    ///   - offset: that of the bytes in the file, for errors.
    ///   - first: the number of the first sample.
    /// - Throws: `FormatError` at a float that is not finite, or is no sound.
    package func decoded(
        _ bytes: ByteView, file: String, offset: Int, first: Int = 0
    ) throws(FormatError) -> [Float] {
        let count = bytes.count / byteCount
        let samples = bytes.withBytes { raw in
            [Float](unsafeUninitializedCapacity: count) { target, written in
                switch (kind, byteCount) {
                case (.float, 8): fill(target, raw) { (bits: UInt64) in Float(Double(bitPattern: bits)) }
                case (.float, _): fill(target, raw) { (bits: UInt32) in Float(bitPattern: bits) }
                case (.unsigned, _):
                    for index in 0..<count { target[index] = Float(Int(raw[index]) - 128) / 128 }
                case (.signed, 1):
                    for index in 0..<count { target[index] = Float(Int8(bitPattern: raw[index])) / 128 }
                case (.signed, 2): fill(target, raw) { (bits: UInt16) in Float(Int16(bitPattern: bits)) / 32768 }
                case (.signed, 3):
                    let (low, high) = isBigEndian ? (2, 0) : (0, 2)
                    for index in 0..<count {
                        let start = 3 * index
                        let bits =
                            UInt32(raw[start + low]) << 8 | UInt32(raw[start + 1]) << 16
                            | UInt32(raw[start + high]) << 24
                        target[index] = Float(Int32(bitPattern: bits) >> 8) / 8_388_608
                    }
                default: fill(target, raw) { (bits: UInt32) in Float(Int32(bitPattern: bits)) / 2_147_483_648 }
                }
                written = count
            }
        }
        if kind == .float, let index = samples.firstIndex(where: { !(abs($0) <= Self.largestSample) }) {
            throw FormatError(
                file: file, location: .offset(UInt64(offset + index * byteCount)),
                reason: "sample \(first + index) is \(samples[index]), where full scale is 1")
        }
        return samples
    }

    /// The powers of spectra of larger samples are infinite.
    package static let largestSample: Float = 1e15

    @inline(__always)
    private func fill<Bits: FixedWidthInteger & BitwiseCopyable>(
        _ target: UnsafeMutableBufferPointer<Float>, _ raw: UnsafeRawBufferPointer, _ convert: (Bits) -> Float
    ) {
        let width = MemoryLayout<Bits>.size
        for index in 0..<raw.count / width {
            let stored = raw.loadUnaligned(fromByteOffset: index * width, as: Bits.self)
            target[index] = convert(isBigEndian ? Bits(bigEndian: stored) : Bits(littleEndian: stored))
        }
    }

    /// Appends samples, little-endian. Integers are rounded to the nearest, ties to even; samples beyond full scale are clipped.
    package func append(_ samples: [Float], to writer: inout ByteWriter) {
        guard kind != .float else {
            for sample in samples {
                if byteCount == 8 {
                    writer.append(Double(sample).bitPattern)
                } else {
                    writer.append(sample.bitPattern)
                }
            }
            return
        }
        let half = Double(1 << (8 * byteCount - 1))
        for sample in samples {
            let scaled = sample.isNaN ? 0 : (Double(sample) * half).rounded(.toNearestOrEven)
            var bits = UInt32(bitPattern: Int32(max(-half, min(half - 1, scaled))))
            if kind == .unsigned { bits &+= 128 }
            for byte in 0..<byteCount { writer.append(UInt8(truncatingIfNeeded: bits >> (8 * byte))) }
        }
    }
}
