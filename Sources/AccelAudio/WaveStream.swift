public import AccelByteIO

/// A WAVE file that arrives in pieces, such as the output of a recorder.
///
/// It has the formats of files (`Sound.init(_:file:)`). The samples go on to the end of the stream where the size of the file is
/// open: 0, 2^32 - 1, or the 2^31 and more that recorders write before they know it.
public struct WaveStream {
    /// The bytes before the samples may not be more.
    private static let mostHeaderBytes = 1 << 20
    private let name: String
    /// The bytes that have not been decoded.
    private var waiting: [UInt8] = []
    /// The offset of `waiting` in the stream.
    private var offset = 0
    /// The samples so far, of all channels.
    private var decoded = 0
    private var format: WaveReader.Format?
    /// The bytes of samples that are missing; nil where they go on to the end of the stream.
    private var missing: Int?

    /// - Parameter name: of the stream, for errors.
    public init(name: String) { self.name = name }

    /// Takes over the next bytes, of any number.
    /// - Returns: the whole frames that are there now; nil without one.
    /// - Throws: `FormatError` with the byte offset, for another kind of file, for a corrupt one, and for samples that are not finite.
    public mutating func append(_ bytes: some Sequence<UInt8>) throws(FormatError) -> Sound? {
        guard missing != 0 else { return nil }
        waiting.append(contentsOf: bytes)
        if format == nil { try readHeader() }
        guard let format else { return nil }
        let available = min(waiting.count, missing ?? waiting.count)
        let count = available / format.frameBytes * format.frameBytes
        guard count > 0 else { return nil }
        let samples = try format.encoding.decoded(
            ByteView(Array(waiting[..<count])), file: name, offset: offset, first: decoded)
        decoded += samples.count
        waiting.removeFirst(count)
        offset += count
        missing = missing.map { $0 - count }
        // What follows the samples is not sound.
        if missing == 0 { waiting = [] }
        return Sound(frames: samples, channelCount: format.channels, sampleRate: format.rate)
    }

    /// Checks that the stream is whole, at its end.
    /// - Throws: `FormatError` for a stream that ends before its samples do.
    public func finish() throws(FormatError) {
        if format == nil {
            throw FormatError(
                file: name, location: .offset(UInt64(waiting.count)), reason: "the sound ends before its samples")
        }
        if let missing, missing > 0 {
            throw FormatError(
                file: name, location: .offset(UInt64(offset + waiting.count)),
                reason: "the sound ends \(missing - waiting.count) bytes too early")
        }
    }

    private mutating func readHeader() throws(FormatError) {
        if waiting.count >= 12, !waiting.starts(with: "RIFF".utf8) || !waiting[8...].starts(with: "WAVE".utf8) {
            throw FormatError(
                file: name, location: .offset(0), reason: "is not a WAVE file", code: .unknownSoundFormat)
        }
        guard let end = endOfHeader else {
            if waiting.count > Self.mostHeaderBytes {
                throw FormatError(
                    file: name, location: .offset(UInt64(waiting.count)), reason: "there are no samples so far")
            }
            return
        }
        var reader = WaveReader(ByteView(Array(waiting[..<end])), file: name)
        let (format, size) = try reader.start()
        self.format = format
        missing = WaveReader.isOpen(size) ? nil : size
        if let missing, !missing.isMultiple(of: format.frameBytes) {
            throw FormatError(
                file: name, location: .offset(UInt64(end - 4)),
                reason: "\(missing) bytes of samples are not whole frames of \(format.frameBytes) bytes")
        }
        waiting.removeFirst(end)
        offset = end
    }

    /// The offset of the first sample; nil while it has not arrived.
    private var endOfHeader: Int? {
        var start = 12
        while start + 8 <= waiting.count {
            let size = (0..<4).reduce(0) { $0 | Int(waiting[start + 4 + $1]) << (8 * $1) }
            if waiting[start..<start + 4].elementsEqual("data".utf8) { return start + 8 }
            start += 8 + size + size % 2
        }
        return nil
    }
}
