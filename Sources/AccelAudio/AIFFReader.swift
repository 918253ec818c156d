import AccelByteIO

/// The reader of AIFF and AIFF-C files: integers of 8, 16, 24 and 32 bits of both byte orders (NONE, twos, sowt), and floats of 32 and
/// 64 bits. (Apple 1989, Audio Interchange File Format; 1991, AIFF-C draft.)
struct AIFFReader {
    private let bytes: ByteView
    private let file: String
    private let isCompressed: Bool
    private var reader: ByteReader

    init(_ bytes: ByteView, file: String) {
        (self.bytes, self.file) = (bytes, file)
        isCompressed = bytes[8..<12].withBytes { $0[3] } == UInt8(ascii: "C")
        reader = ByteReader(bytes, file: file, position: 12)
    }

    private struct Format {
        let encoding: SampleEncoding
        let channels: Int
        let frames: Int
        let rate: Int
    }

    consuming func sound() throws(FormatError) -> Sound {
        var format: Format?
        var samples: (content: ByteView, offset: Int)?
        while reader.remaining >= 8 {
            let start = reader.position
            let name = try reader.bytes(4).withBytes { Array($0) }
            let size = Int(try big(UInt32.self))
            let content = reader.position
            guard size <= reader.remaining else {
                throw reader.error("the chunk has \(size) bytes, but \(reader.remaining) are left", at: start + 4)
            }
            switch name {
            case Array("COMM".utf8):
                guard format == nil else { throw reader.error("there are two chunks \"COMM\"", at: start) }
                format = try parsedFormat(size)
            case Array("SSND".utf8):
                guard samples == nil else { throw reader.error("there are two chunks \"SSND\"", at: start) }
                guard size >= 8 else { throw reader.error("a chunk \"SSND\" has at least 8 bytes", at: start + 4) }
                let offset = Int(try big(UInt32.self))
                guard offset <= size - 8 else {
                    throw reader.error("the samples start \(offset) bytes on, behind their chunk", at: content)
                }
                samples = (bytes[content + 8 + offset..<content + size], content + 8 + offset)
            default: break
            }
            reader = ByteReader(bytes, file: file, position: content + size + size % 2)
        }
        let end = FormatError(
            file: file, location: .offset(UInt64(bytes.count)), reason: "there is no format of samples")
        guard let format else { throw end }
        let needed = format.frames * format.channels * format.encoding.byteCount
        guard needed > 0 else {
            return Sound(frames: [], channelCount: format.channels, sampleRate: format.rate)
        }
        guard let samples else {
            throw FormatError(file: file, location: end.location, reason: "there are no samples")
        }
        guard needed <= samples.content.count else {
            throw FormatError(
                file: file, location: .offset(UInt64(samples.offset)),
                reason: "\(format.frames) frames have \(needed) bytes, but the chunk has \(samples.content.count)")
        }
        return Sound(
            frames: try format.encoding.decoded(samples.content[0..<needed], file: file, offset: samples.offset),
            channelCount: format.channels, sampleRate: format.rate)
    }

    private mutating func big<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type
    ) throws(FormatError) -> Integer { try reader.integer(type).byteSwapped }

    private mutating func parsedFormat(_ size: Int) throws(FormatError) -> Format {
        let start = reader.position
        let least = isCompressed ? 22 : 18
        guard size >= least else {
            throw reader.error("a chunk \"COMM\" has at least \(least) bytes, and this one \(size)", at: start)
        }
        let channels = Int(try big(Int16.self))
        let frames = Int(try big(UInt32.self))
        let bits = Int(try big(Int16.self))
        let rate = try extended()
        let kind = isCompressed ? try reader.bytes(4).withBytes { Array($0) } : Array("NONE".utf8)
        let encoding: SampleEncoding
        switch String(decoding: kind, as: UTF8.self) {
        case "NONE", "twos", "sowt":
            guard [8, 16, 24, 32].contains(bits) else {
                throw reader.error("integers of \(bits) bits are not supported", at: start + 6)
            }
            let isBigEndian = kind != Array("sowt".utf8)
            encoding = SampleEncoding(.signed, byteCount: bits / 8, isBigEndian: isBigEndian)
        case "fl32", "FL32": encoding = SampleEncoding(.float, byteCount: 4, isBigEndian: true)
        case "fl64", "FL64": encoding = SampleEncoding(.float, byteCount: 8, isBigEndian: true)
        default:
            throw reader.error("the compression is not supported; NONE, twos, sowt, fl32 and fl64 are", at: start + 18)
        }
        try SoundLimits.check(channels: channels, rate: rate, reader, at: (start, start + 8))
        return Format(encoding: encoding, channels: channels, frames: frames, rate: rate)
    }

    /// Reads a float of 80 bits, rounded to an integer; 0 for what is no positive number of at most 2^31.
    private mutating func extended() throws(FormatError) -> Int {
        let exponent = Int(try big(UInt16.self)) - 16383
        let mantissa = try big(UInt64.self)
        guard 0...31 ~= exponent else { return 0 }
        let integer = mantissa >> UInt64(63 - exponent)
        let half = exponent < 63 ? (mantissa >> UInt64(62 - exponent)) & 1 : 0
        return Int(integer + half)
    }
}
