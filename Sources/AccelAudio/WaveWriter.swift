public import AccelByteIO

extension Sound {
    /// The samples of a written WAVE file.
    public enum WaveSamples: CaseIterable, Sendable {
        /// Unsigned integers of 8 bits.
        case int8
        /// Integers of 16 bits.
        case int16
        /// Integers of 24 bits.
        case int24
        /// Integers of 32 bits.
        case int32
        /// IEEE 754 single precision.
        case float32
        /// IEEE 754 double precision.
        case float64

        fileprivate var encoding: SampleEncoding {
            switch self {
            case .int8: SampleEncoding(.unsigned, byteCount: 1)
            case .int16: SampleEncoding(.signed, byteCount: 2)
            case .int24: SampleEncoding(.signed, byteCount: 3)
            case .int32: SampleEncoding(.signed, byteCount: 4)
            case .float32: SampleEncoding(.float, byteCount: 4)
            case .float64: SampleEncoding(.float, byteCount: 8)
            }
        }
    }

    /// Returns the bytes of a WAVE file.
    /// - Parameters:
    ///   - samples: how samples are stored. Integers are rounded, and clipped at full scale.
    ///   - software: the program that made the sound, as the file names it; nil for a file that names none.
    /// - Throws: `RequestError` for a sound that does not fit in 4 GiB, or has more than 65535 channels.
    public func wave(_ samples: WaveSamples = .int16, software: String? = nil) throws(RequestError) -> ByteView {
        let list = software.map { ListChunk(software: $0).bytes } ?? []
        let encoding = samples.encoding
        let size = self.samples.count.multipliedReportingOverflow(by: encoding.byteCount)
        guard !size.overflow, size.partialValue < Int(UInt32.max) - 256 - list.count,
            channelCount * encoding.byteCount <= 65535,
            sampleRate * channelCount * encoding.byteCount <= Int(UInt32.max)
        else { throw RequestError("the sound does not fit in a WAVE file, which has at most 4 GiB") }
        let frameBytes = channelCount * encoding.byteCount
        let isFloat = encoding.kind == .float
        var writer = ByteWriter()
        writer.append("RIFF")
        // Floats have the length in frames in a chunk of their own.
        let header = isFloat ? 18 + 8 + 4 + 8 : 16 + 8
        writer.append(UInt32(4 + header + list.count + 8 + size.partialValue + size.partialValue % 2))
        writer.append("WAVEfmt ")
        writer.append(UInt32(isFloat ? 18 : 16))
        writer.append(UInt16(isFloat ? 3 : 1))
        writer.append(UInt16(channelCount))
        writer.append(UInt32(sampleRate))
        writer.append(UInt32(sampleRate * frameBytes))
        writer.append(UInt16(frameBytes))
        writer.append(UInt16(8 * encoding.byteCount))
        if isFloat {
            writer.append(UInt16(0))
            writer.append("fact")
            writer.append(UInt32(4))
            writer.append(UInt32(frameCount))
        }
        for byte in list { writer.append(byte) }
        writer.append("data")
        writer.append(UInt32(size.partialValue))
        encoding.append(self.samples, to: &writer)
        writer.pad(to: 2)
        return ByteView(writer.bytes)
    }
}

/// The chunk of a WAVE file that names the program that made it.
package struct ListChunk {
    package let bytes: [UInt8]

    package init(software: String) {
        // With a zero at its end, and an even number of bytes.
        let name = Array(software.utf8) + [UInt8](repeating: 0, count: 2 - software.utf8.count % 2)
        var writer = ByteWriter()
        writer.append("LIST")
        writer.append(UInt32(4 + 8 + name.count))
        writer.append("INFOISFT")
        writer.append(UInt32(name.count))
        bytes = writer.bytes + name
    }
}
