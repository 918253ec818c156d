import AccelByteIO

/// The reader of RIFF WAVE files: integers of 8, 16, 24 and 32 bits and floats of 32 and 64 bits, plain or in WAVE_FORMAT_EXTENSIBLE.
/// (IBM and Microsoft 1991, Multimedia Programming Interface; Microsoft, mmreg.h.)
struct WaveReader {
    private let bytes: ByteView
    private let file: String
    private var reader: ByteReader

    init(_ bytes: ByteView, file: String) {
        (self.bytes, self.file) = (bytes, file)
        // After "RIFF", a size that streams leave open, and "WAVE".
        reader = ByteReader(bytes, file: file, position: 12)
    }

    struct Format {
        let encoding: SampleEncoding
        let channels: Int
        let rate: Int
        var frameBytes: Int { channels * encoding.byteCount }
    }

    consuming func sound() throws(FormatError) -> Sound {
        let (format, size) = try start()
        return try samples(size, of: format)
    }

    /// Reads up to the samples.
    /// - Returns: their format, and their bytes as the file states them.
    mutating func start() throws(FormatError) -> (format: Format, byteCount: Int) {
        var format: Format?
        while reader.remaining >= 8 {
            let start = reader.position
            let name = try reader.bytes(4).withBytes { Array($0) }
            let size = Int(try reader.integer(UInt32.self))
            let content = reader.position
            switch name {
            case Array("fmt ".utf8):
                guard format == nil else { throw reader.error("there are two chunks \"fmt \"", at: start) }
                format = try parsedFormat(size, at: content)
            case Array("data".utf8):
                guard let format else { throw reader.error("the samples come before their format", at: start) }
                return (format, size)
            default: break
            }
            // Chunks begin at even offsets.
            let end = content + size + size % 2
            guard content + size <= bytes.count else {
                throw reader.error("the chunk has \(size) bytes, but \(bytes.count - content) are left", at: start + 4)
            }
            reader = ByteReader(bytes, file: file, position: end)
        }
        throw FormatError(
            file: file, location: .offset(UInt64(bytes.count)),
            reason: format == nil ? "there is no format of samples" : "there are no samples")
    }

    private mutating func parsedFormat(_ size: Int, at start: Int) throws(FormatError) -> Format {
        guard size >= 16 else { throw reader.error("a format has at least 16 bytes, and this one \(size)", at: start) }
        var tag = try reader.integer(UInt16.self)
        let channels = Int(try reader.integer(UInt16.self))
        let rate = Int(try reader.integer(UInt32.self))
        _ = try reader.integer(UInt32.self)
        let frameBytes = Int(try reader.integer(UInt16.self))
        let bits = Int(try reader.integer(UInt16.self))
        if tag == Self.extensible {
            guard size >= 40 else {
                throw reader.error("an extensible format has at least 40 bytes, and this one \(size)", at: start)
            }
            // The size of the extension, the valid bits, and the positions of the speakers.
            _ = try reader.bytes(8)
            tag = try reader.integer(UInt16.self)
            let rest = try reader.bytes(14).withBytes { Array($0) }
            guard rest == Self.guidEnd else {
                throw reader.error("the format is not supported", at: start + 24)
            }
        }
        let encoding: SampleEncoding
        switch (tag, bits) {
        case (1, 8): encoding = SampleEncoding(.unsigned, byteCount: 1)
        case (1, 16), (1, 24), (1, 32): encoding = SampleEncoding(.signed, byteCount: bits / 8)
        case (3, 32), (3, 64): encoding = SampleEncoding(.float, byteCount: bits / 8)
        case (1, _), (3, _):
            throw reader.error("\(tag == 1 ? "integers" : "floats") of \(bits) bits are not supported", at: start + 14)
        default: throw reader.error("format \(tag) is not supported; 1 is PCM and 3 floats", at: start)
        }
        try SoundLimits.check(channels: channels, rate: rate, reader, at: (start + 2, start + 4))
        guard frameBytes == channels * encoding.byteCount else {
            throw reader.error(
                "a frame has \(frameBytes) bytes; \(channels) channels of \(bits) bits have "
                    + "\(channels * encoding.byteCount)", at: start + 12)
        }
        return Format(encoding: encoding, channels: channels, rate: rate)
    }

    private mutating func samples(_ size: Int, of format: Format) throws(FormatError) -> Sound {
        let start = reader.position
        var size = size
        if Self.isOpen(size, besides: reader.remaining) {
            size = reader.remaining / format.frameBytes * format.frameBytes
        } else {
            guard size <= reader.remaining else {
                throw reader.error(
                    "there are \(size) bytes of samples, but \(reader.remaining) are left", at: start - 4)
            }
            guard size.isMultiple(of: format.frameBytes) else {
                throw reader.error(
                    "\(size) bytes of samples are not whole frames of \(format.frameBytes) bytes", at: start - 4)
            }
        }
        return Sound(
            frames: try format.encoding.decoded(try reader.bytes(size), file: file, offset: start),
            channelCount: format.channels, sampleRate: format.rate)
    }

    private static let extensible: UInt16 = 0xFFFE
    /// Whether a size stands for samples up to the end of the file: 0, 2^32 - 1, or one from 2^31 - 4096 on that is not there. Programs that
    /// write to a pipe do not know the length.
    static func isOpen(_ size: Int, besides remaining: Int = 0) -> Bool {
        size == 0xFFFF_FFFF || size == 0 || size >= (1 << 31) - 4096 && size > remaining
    }
    /// All but the first two bytes of KSDATAFORMAT_SUBTYPE_PCM and its siblings.
    private static let guidEnd: [UInt8] = [
        0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71,
    ]
}

/// The channels and rates that are read.
enum SoundLimits {
    static let channels = 1...256
    static let rates = 100...6_144_000

    /// - Parameter offsets: those of the two numbers in the file.
    static func check(
        channels: Int, rate: Int, _ reader: ByteReader, at offsets: (channels: Int, rate: Int)
    ) throws(FormatError) {
        guard Self.channels.contains(channels) else {
            throw reader.error(
                "there are \(channels) channels; 1 to \(Self.channels.upperBound) are supported", at: offsets.channels)
        }
        guard rates.contains(rate) else {
            throw reader.error(
                "the rate is \(rate) Hz; \(rates.lowerBound) to \(rates.upperBound) are supported", at: offsets.rate)
        }
    }
}
