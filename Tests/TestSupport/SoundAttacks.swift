import AccelByteIO

extension Attack {
    /// Sound files with the verdict of a reader.
    public static let sounds: [Attack] = starts + waves + aiffs

    private static func little(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func big(_ value: Int, _ bytes: Int) -> [UInt8] { little(value, bytes).reversed() }

    private static let starts: [Attack] = [
        Attack("no bytes", [], .rejected(.offset(0), "is not a WAVE or AIFF file")),
        Attack("RIFF alone", Array("RIFF".utf8), .rejected(.offset(0), "is not a WAVE")),
        Attack("a RIFF file of another kind", Array("RIFF\0\0\0\0AVI ".utf8), .rejected(.offset(0), "is not a WAVE")),
        Attack("an IFF file of another kind", Array("FORM\0\0\0\0ILBM".utf8), .rejected(.offset(0), "is not a WAVE")),
        Attack("a WAVE file without chunks", Array("RIFF\0\0\0\0WAVE".utf8), .rejected(.offset(12), "no format")),
        Attack("half a chunk's name", Array("RIFF\0\0\0\0WAVEfm".utf8), .rejected(.offset(14), "no format")),
        Attack("an AIFF file without chunks", Array("FORM\0\0\0\0AIFF".utf8), .rejected(.offset(12), "no format")),
    ]

    private static func chunk(_ name: String, _ content: [UInt8], size: Int? = nil) -> [UInt8] {
        Array(name.utf8) + little(size ?? content.count, 4) + content
    }

    /// The format begins at byte 12, its content at byte 20, and the samples of a plain format at byte 44.
    private static func wave(
        tag: Int = 1, channels: Int = 1, rate: Int = 16000, frame: Int = 2, bits: Int = 16, more: [UInt8] = [],
        size: Int? = nil, _ rest: [UInt8] = chunk("data", [0, 0])
    ) -> [UInt8] {
        let format =
            little(tag, 2) + little(channels, 2) + little(rate, 4) + little(rate * frame, 4) + little(frame, 2)
            + little(bits, 2) + more
        return Array("RIFF\0\0\0\0WAVE".utf8) + chunk("fmt ", format, size: size) + rest
    }

    private static let guidEnd: [UInt8] = [0, 0, 0, 0, 16, 0, 128, 0, 0, 170, 0, 56, 155, 113]

    private static func extensible(_ tag: Int, end: [UInt8] = guidEnd) -> [UInt8] {
        wave(tag: 0xFFFE, more: little(22, 2) + little(16, 2) + little(4, 4) + little(tag, 2) + end)
    }

    private static let waves: [Attack] = [
        Attack("a sample", wave(), .accepted),
        Attack("no samples", wave(chunk("data", [])), .accepted),
        Attack("an extensible format", extensible(1), .accepted),
        Attack("an extensible format of floats of 16 bits", extensible(3), .rejected(.offset(34), "floats of 16 bits")),
        Attack(
            "an extensible format of another kind", extensible(1, end: [UInt8](repeating: 1, count: 14)),
            .rejected(.offset(44), "is not supported")),
        Attack("an extensible format of 16 bytes", wave(tag: 0xFFFE), .rejected(.offset(20), "at least 40 bytes")),
        Attack("a format of 14 bytes", wave(size: 14), .rejected(.offset(20), "at least 16 bytes")),
        Attack("a format beyond the file", wave(size: 1000), .rejected(.offset(16), "1000 bytes, but 26 are left")),
        Attack(
            "samples before their format", Array(wave().prefix(12) + chunk("data", [0, 0])),
            .rejected(.offset(12), "before their format")),
        Attack("two formats", wave(Array(wave().dropFirst(12))), .rejected(.offset(36), "two chunks")),
        Attack("no samples after the format", wave([]), .rejected(.offset(36), "no samples")),
        Attack("an odd chunk before the samples", wave(chunk("LIST", [1]) + [0] + chunk("data", [0, 0])), .accepted),
        Attack("an odd chunk at the end", wave(chunk("LIST", [1])), .rejected(.offset(45), "no samples")),
        Attack(
            "a chunk of 2^32 - 1 bytes", wave(chunk("LIST", [], size: 0xFFFF_FFFF)),
            .rejected(.offset(40), "4294967295 bytes, but 0 are left")),
        Attack("samples of a pipe", wave(chunk("data", [0, 0, 0], size: 0xFFFF_FFFF)), .accepted),
        Attack(
            "more samples than bytes", wave(chunk("data", [0], size: 2)), .rejected(.offset(40), "2 bytes of samples")),
        Attack("half a frame", wave(chunk("data", [0, 0, 0])), .rejected(.offset(40), "whole frames of 2 bytes")),
        Attack("no channels", wave(channels: 0, frame: 0), .rejected(.offset(22), "there are 0 channels")),
        Attack("65535 channels", wave(channels: 65535, frame: 65534), .rejected(.offset(22), "65535 channels")),
        Attack("a rate of 0", wave(rate: 0), .rejected(.offset(24), "the rate is 0 Hz")),
        Attack("a rate of 2^32 - 1", wave(rate: 0xFFFF_FFFF), .rejected(.offset(24), "the rate is 4294967295 Hz")),
        Attack("a frame of another size", wave(frame: 4), .rejected(.offset(32), "a frame has 4 bytes")),
        Attack("a frame of 0 bytes", wave(frame: 0), .rejected(.offset(32), "a frame has 0 bytes")),
        Attack("integers of 12 bits", wave(bits: 12), .rejected(.offset(34), "integers of 12 bits")),
        Attack("A-law", wave(tag: 6, frame: 1, bits: 8), .rejected(.offset(20), "format 6 is not supported")),
        Attack(
            "a float that is not a number",
            wave(tag: 3, frame: 4, bits: 32, chunk("data", [0, 0, 0, 0, 0, 0, 0xC0, 0x7F])),
            .rejected(.offset(48), "sample 1 is nan, where full scale is 1")),
        Attack(
            "a double beyond single precision",
            wave(tag: 3, frame: 8, bits: 64, chunk("data", little(0x7FE0 << 48, 8))),
            .rejected(.offset(44), "sample 0 is inf, where full scale is 1")),
    ]

    private static func iff(_ name: String, _ content: [UInt8], size: Int? = nil) -> [UInt8] {
        Array(name.utf8) + big(size ?? content.count, 4) + content
    }

    private static let samples = iff("SSND", [UInt8](repeating: 0, count: 10))

    /// The format begins at byte 12, its content at byte 20, and the samples of a plain format at byte 54.
    private static func aiff(
        kind: String? = nil, channels: Int = 1, frames: Int = 1, bits: Int = 16, exponent: Int = 16383 + 13,
        mantissa: Int = 0xFA << 55, size: Int? = nil, _ rest: [UInt8] = samples
    ) -> [UInt8] {
        let format =
            big(channels, 2) + big(frames, 4) + big(bits, 2) + big(exponent, 2) + big(mantissa << 1, 8)
            + (kind.map { Array($0.utf8) + [0, 0] } ?? [])
        return Array("FORM\0\0\0\0AIF\(kind == nil ? "F" : "C")".utf8) + iff("COMM", format, size: size) + rest
    }

    private static let aiffs: [Attack] = [
        Attack("AIFF of a sample", aiff(), .accepted),
        Attack("AIFF with the samples first", Array(aiff([]).prefix(12) + samples + aiff([]).dropFirst(12)), .accepted),
        Attack("AIFF of no frames without samples", aiff(frames: 0, []), .accepted),
        Attack("AIFF without samples", aiff([]), .rejected(.offset(38), "no samples")),
        Attack("AIFF with more frames than bytes", aiff(frames: 2), .rejected(.offset(54), "2 frames have 4 bytes")),
        Attack(
            "AIFF of 2^32 - 1 frames", aiff(channels: 256, frames: 0xFFFF_FFFF),
            .rejected(.offset(54), "4294967295 frames")
        ),
        Attack("AIFF with two formats", aiff(Array(aiff().dropFirst(12))), .rejected(.offset(38), "two chunks")),
        Attack("AIFF with samples twice", aiff(samples + samples), .rejected(.offset(56), "two chunks")),
        Attack("AIFF with a short format", aiff(size: 16), .rejected(.offset(20), "at least 18 bytes")),
        Attack(
            "AIFF with a chunk beyond the file", aiff(size: 100), .rejected(.offset(16), "100 bytes, but 36 are left")),
        Attack("AIFF with short samples", aiff(iff("SSND", [0])), .rejected(.offset(42), "at least 8 bytes")),
        Attack(
            "AIFF with samples behind their chunk", aiff(iff("SSND", big(3, 4) + [0, 0, 0, 0, 0, 0])),
            .rejected(.offset(46), "3 bytes on")),
        Attack("AIFF of -1 channels", aiff(channels: -1), .rejected(.offset(20), "there are -1 channels")),
        Attack("AIFF of 12 bits", aiff(bits: 12), .rejected(.offset(26), "integers of 12 bits")),
        Attack("AIFF with a rate of 2^32", aiff(exponent: 16383 + 32), .rejected(.offset(28), "the rate is 0 Hz")),
        Attack("AIFF with a rate below 1", aiff(exponent: 0), .rejected(.offset(28), "the rate is 0 Hz")),
        Attack("AIFF with an endless rate", aiff(exponent: 0x7FFF), .rejected(.offset(28), "the rate is 0 Hz")),
        Attack("AIFF-C of little-endian integers", aiff(kind: "sowt"), .accepted),
        Attack(
            "AIFF-C of floats", aiff(kind: "fl32", bits: 32, iff("SSND", [UInt8](repeating: 0, count: 12))), .accepted),
        Attack("AIFF-C of IMA 4:1", aiff(kind: "ima4"), .rejected(.offset(38), "the compression is not supported")),
        Attack(
            "AIFF-C with a format of AIFF", aiff(kind: "NONE", size: 18), .rejected(.offset(20), "at least 22 bytes")),
    ]
}
