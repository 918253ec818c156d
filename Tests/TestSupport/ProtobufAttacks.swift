import AccelByteIO

extension Attack {
    /// Protocol Buffers messages that a reader has to judge when it reads every field to the end.
    public static let protobuf: [Attack] = {
        func rejected(_ words: String, at offset: UInt64) -> Verdict { .rejected(.offset(offset), words) }
        let nested = (0..<100).reduce([UInt8]()) { inner, _ in
            var count = inner.count
            var length: [UInt8] = []
            repeat {
                length.append(UInt8(count & 0x7F) | (count > 0x7F ? 0x80 : 0))
                count >>= 7
            } while count > 0
            return [0x0A] + length + inner
        }
        return [
            Attack("empty", [], .accepted),
            Attack("an integer", [0x08, 0x96, 0x01], .accepted),
            Attack("all wire types", [0x08, 1, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1A, 1, 0, 0x25, 1, 2, 3, 4], .accepted),
            Attack("the largest integer", [0x08] + [UInt8](repeating: 0xFF, count: 9) + [1], .accepted),
            Attack("a hundred messages in each other", nested, .accepted),
            Attack("an unknown field", [0xF8, 0x07, 1], .accepted),
            Attack(
                "a varint of 11 bytes", [0x08] + [UInt8](repeating: 0x80, count: 10) + [1], rejected("64-bit", at: 1)),
            Attack("a varint above 2^64", [0x08] + [UInt8](repeating: 0xFF, count: 9) + [2], rejected("64-bit", at: 1)),
            Attack("a varint that ends early", [0x08, 0x80], rejected("1 bytes are expected", at: 2)),
            Attack("a tag that ends early", [0x80], rejected("1 bytes are expected", at: 1)),
            Attack("no value", [0x08], rejected("1 bytes are expected", at: 1)),
            Attack("field number 0", [0x00, 1], rejected("0 is not a field number", at: 0)),
            Attack(
                "a field number of 2^29", [0x80, 0x80, 0x80, 0x80, 0x10, 1], rejected("is not a field number", at: 0)),
            Attack(
                "a length beyond the end", [0x0A, 5, 1, 2],
                rejected("length of field 1: 5 do not fit in the 2 bytes", at: 1)),
            Attack(
                "a length of 2^63", [0x0A, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
                rejected("length of field 1", at: 1)),
            Attack(
                "a length of 2 GiB and more", [0x0A, 0x80, 0x80, 0x80, 0x80, 0x20],
                rejected("length of field 1: 8589934592 do not fit", at: 1)),
            Attack("fixed32 cut", [0x0D, 1, 2, 3], rejected("4 bytes are expected", at: 1)),
            Attack("fixed64 cut", [0x09, 1, 2, 3], rejected("8 bytes are expected", at: 1)),
            Attack("a group begins", [0x0B, 0x0C], rejected("wire type 3", at: 0)),
            Attack("groups in groups", [UInt8](repeating: 0x0B, count: 100_000), rejected("wire type 3", at: 0)),
            Attack("a group ends", [0x0C], rejected("wire type 4", at: 0)),
            Attack("wire type 6", [0x0E, 0], rejected("wire type 6", at: 0)),
            Attack("wire type 7", [0x0F, 0], rejected("wire type 7", at: 0)),
        ]
    }()
}
