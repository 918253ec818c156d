import AccelByteIO

extension Attack {
    /// GGUF files with the verdict of a reader. Counts, lengths, dimensions, offsets and alignments that overflow or lie were holes of
    /// other readers (CVE-2024-21802, -21825, -21836, -23496, -23605, -25664 and later ones).
    public static let gguf: [Attack] = counts + pairs + tensors + layouts

    private static func number(_ value: UInt64, _ bytes: Int = 8) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    private static func text(_ text: String, length: UInt64? = nil) -> [UInt8] {
        number(length ?? UInt64(text.utf8.count)) + Array(text.utf8)
    }
    private static func pair(_ key: String, _ type: UInt64, _ value: [UInt8]) -> [UInt8] {
        text(key) + number(type, 4) + value
    }
    private static func tensor(
        _ name: String, _ dimensions: [UInt64], type: UInt64 = 0, offset: UInt64 = 0, rank: UInt64? = nil
    ) -> [UInt8] {
        text(name) + number(rank ?? UInt64(dimensions.count), 4) + dimensions.flatMap { number($0) } + number(type, 4)
            + number(offset)
    }

    /// A file with the given pairs and tensors, padded to 32 bytes, and `data` bytes after them.
    private static func file(
        _ pairs: [[UInt8]] = [], _ tensors: [[UInt8]] = [], data: Int = 0, version: UInt64 = 3, count: UInt64? = nil,
        keys: UInt64? = nil, magic: String = "GGUF"
    ) -> [UInt8] {
        var bytes = Array(magic.utf8) + number(version, 4) + number(count ?? UInt64(tensors.count))
        bytes += number(keys ?? UInt64(pairs.count)) + (pairs + tensors).flatMap { $0 }
        if !tensors.isEmpty { bytes += [UInt8](repeating: 0, count: (32 - bytes.count % 32) % 32 + data) }
        return bytes
    }

    private static func rejected(_ tensor: String, _ words: String) -> Verdict {
        .rejected(.tensor(tensor, index: nil), words)
    }

    private static let counts: [Attack] = [
        Attack("no bytes", [], .rejected(.offset(0), "has 0 bytes")),
        Attack("23 bytes", Array(file().prefix(23)), .rejected(.offset(0), "has 23 bytes")),
        Attack("nothing but a header", file(), .accepted),
        Attack("another magic", file(magic: "GGUT"), .rejected(.offset(0), "starts with \"GGUF\"")),
        Attack("version 1", file(version: 1), .rejected(.offset(4), "version 1")),
        Attack("version 2", file(version: 2), .accepted),
        Attack("big-endian", file(version: 3 << 24), .rejected(.offset(4), "big-endian")),
        Attack("2^63 tensors", file(count: 1 << 63), .rejected(.offset(8), "the number of tensors")),
        Attack("2^64 - 1 tensors", file(count: .max), .rejected(.offset(8), "the number of tensors")),
        Attack("a tensor too many", file(count: 1), .rejected(.offset(8), "the number of tensors")),
        Attack("2^64 - 1 keys", file(keys: .max), .rejected(.offset(16), "the number of keys")),
        Attack("a key too many", file(keys: 1), .rejected(.offset(16), "the number of keys")),
    ]

    private static let pairs: [Attack] = [
        Attack(
            "a key of 2^64 - 1 bytes", file([text("a", length: .max) + number(4, 4) + number(1, 4)]),
            .rejected(.offset(24), "the length of a key")),
        Attack(
            "a key longer than the file", file([text("a", length: 17) + number(4, 4) + number(1, 4)]),
            .rejected(.offset(24), "the length of a key")),
        Attack("an empty key", file([pair("", 4, number(1, 4)) + [0]], []), .rejected(.offset(24), "a key is empty")),
        Attack(
            "a key that is not UTF-8", file([number(1) + [0xFF] + number(4, 4) + number(1, 4)]),
            .rejected(.offset(32), "UTF-8")),
        Attack(
            "a key twice", file([pair("a", 4, number(1, 4)), pair("a", 4, number(2, 4))]),
            .rejected(.offset(41), "\"a\" occurs twice")),
        Attack("type 13", file([pair("a", 13, number(1, 4))]), .rejected(.offset(33), "no type 13")),
        Attack("a boolean of 2", file([pair("a", 7, [2])]), .rejected(.offset(37), "a boolean is 2")),
        Attack(
            "a text of 2^63 bytes", file([pair("a", 8, number(1 << 63))]),
            .rejected(.offset(37), "the length of a text")
        ),
        Attack(
            "a text longer than the file", file([pair("a", 8, number(2) + [65])]),
            .rejected(.offset(37), "the length of a text")),
        Attack(
            "an array of 2^62 numbers", file([pair("a", 9, number(4, 4) + number(1 << 62))]),
            .rejected(.offset(41), "the number of elements")),
        Attack(
            "an array of 2^64 - 1 bytes", file([pair("a", 9, number(0, 4) + number(.max))]),
            .rejected(.offset(41), "the number of elements")),
        Attack(
            "an array longer than the file", file([pair("a", 9, number(4, 4) + number(3) + number(1))]),
            .rejected(.offset(41), "the number of elements")),
        Attack(
            "an array of arrays", file([pair("a", 9, number(9, 4) + number(1) + number(4, 4) + number(0))]),
            .rejected(.offset(41), "arrays of arrays")),
        Attack("an array of texts", file([pair("a", 9, number(8, 4) + number(2) + text("b") + text(""))]), .accepted),
    ]

    private static let tensors: [Attack] = [
        Attack("a vector", file([], [tensor("a", [2])], data: 8), .accepted),
        Attack("a scalar", file([], [tensor("a", [])], data: 4), .accepted),
        Attack("no elements", file([], [tensor("a", [0, 3])], data: 0), .accepted),
        Attack(
            "a name of 64 bytes", file([], [tensor(String(repeating: "a", count: 64), [2])], data: 8),
            .rejected(.offset(24), "the length of a tensor's name")),
        Attack("an empty name", file([], [tensor("", [2])], data: 8), .rejected(.offset(24), "is empty")),
        Attack("a name with NUL", file([], [tensor("a\0", [2])], data: 8), .rejected(.offset(24), "control character")),
        Attack(
            "a name twice", file([], [tensor("a", [8]), tensor("a", [8], offset: 32)], data: 64),
            .rejected(.offset(57), "\"a\" occurs twice")),
        Attack("five dimensions", file([], [tensor("a", [1, 1, 1, 1, 1])], data: 4), rejected("a", "5 dimensions")),
        Attack(
            "2^32 - 1 dimensions", file([], [tensor("a", [1], rank: 0xFFFF_FFFF)], data: 4),
            rejected("a", "4294967295 dimensions")),
        Attack(
            "a dimension of 2^63", file([], [tensor("a", [1 << 63])], data: 4), .rejected(.offset(37), "a dimension")),
        Attack(
            "dimensions that overflow", file([], [tensor("a", [1 << 32, 1 << 32])], data: 4), rejected("a", "overflows")
        ),
        Attack(
            "dimensions that overflow beside a zero", file([], [tensor("a", [0, 1 << 40, 1 << 40])], data: 4),
            rejected("a", "overflows")),
        Attack("bytes that overflow", file([], [tensor("a", [1 << 31, 1 << 31])], data: 4), rejected("a", "overflow")),
        Attack("an unknown type", file([], [tensor("a", [2], type: 99)], data: 8), rejected("a", "no type 99")),
        Attack(
            "a type that was given up", file([], [tensor("a", [32], type: 4)], data: 20), rejected("a", "no type 4")),
        Attack("blocks", file([], [tensor("a", [64, 2], type: 2)], data: 72), .accepted),
        Attack(
            "half a block", file([], [tensor("a", [48, 2], type: 2)], data: 72), rejected("a", "whole blocks of 32")),
    ]

    private static let layouts: [Attack] = [
        Attack(
            "an offset of 2^64 - 32", file([], [tensor("a", [2], offset: .max - 31)], data: 8),
            .rejected(.offset(49), "an offset")),
        Attack(
            "an offset past the file", file([], [tensor("a", [2], offset: 1 << 40)], data: 8),
            rejected("a", "its offset is 1099511627776")),
        Attack("an odd offset", file([], [tensor("a", [2], offset: 4)], data: 12), rejected("a", "its offset is 4")),
        Attack(
            "an overlap", file([], [tensor("a", [16]), tensor("b", [16], offset: 32)], data: 128),
            rejected("b", "its offset is 32, but the tensor before it ends at 64")),
        Attack(
            "a hole", file([], [tensor("a", [8]), tensor("b", [8], offset: 64)], data: 96),
            rejected("b", "its offset is 64")),
        Attack("data past the file", file([], [tensor("a", [8])], data: 31), rejected("a", "its 32 bytes start")),
        Attack("no data", file([], [tensor("a", [8])], data: 0), rejected("a", "its 32 bytes start")),
        Attack("padding after the last tensor", file([], [tensor("a", [2])], data: 32), .accepted),
        Attack(
            "bytes after the last tensor", file([], [tensor("a", [2])], data: 64),
            .rejected(.offset(96), "belong to no tensor")),
        Attack(
            "an alignment of 0", file([pair("general.alignment", 4, number(0, 4))]),
            .rejected(.offset(24), "power of two")),
        Attack(
            "an alignment of 24", file([pair("general.alignment", 4, number(24, 4))]),
            .rejected(.offset(24), "power of two")),
        Attack(
            "an alignment of 2^31", file([pair("general.alignment", 4, number(1 << 31, 4))]),
            .rejected(.offset(24), "power of two")),
        Attack(
            "an alignment as a text", file([pair("general.alignment", 8, text("32"))]),
            .rejected(.offset(24), "power of two")),
        Attack(
            "an alignment of 8",
            file(
                [pair("general.alignment", 4, number(8, 4))], [tensor("a", [2]), tensor("b", [2], offset: 8)], data: 16),
            .accepted),
    ]
}
