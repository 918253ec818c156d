import AccelByteIO

extension Attack {
    /// Safetensors files with the verdict of a reader that accepts no file which the reference rejects.
    public static let safetensors: [Attack] = lengths + documents + layouts + tensors + names

    private static func tensor(_ name: String) -> FormatError.Location { .tensor(name, index: nil) }

    private static func file(_ header: [UInt8], data: Int, length: UInt64? = nil) -> [UInt8] {
        let length = length ?? UInt64(header.count)
        return (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + header
            + [UInt8](repeating: 0, count: data)
    }

    private static func file(_ header: String, data: Int, length: UInt64? = nil) -> [UInt8] {
        file(Array(header.utf8), data: data, length: length)
    }

    private static func entry(_ name: String, _ type: String, _ shape: String, _ begin: String, _ end: String) -> String
    {
        "\"\(name)\":{\"dtype\":\"\(type)\",\"shape\":\(shape),\"data_offsets\":[\(begin),\(end)]}"
    }

    private static func entry(_ name: String, _ begin: Int, _ end: Int) -> String {
        entry(name, "F32", "[\((end - begin) / 4)]", "\(begin)", "\(end)")
    }

    private static func attack(_ name: String, _ header: String, data: Int, _ verdict: Verdict) -> Attack {
        Attack(name, file("{\(header)}", data: data), verdict)
    }

    private static let lengths: [Attack] = [
        Attack("empty file", [], .rejected(.offset(0), "has 0 bytes")),
        Attack("7 bytes", [UInt8](repeating: 0, count: 7), .rejected(.offset(0), "has 7 bytes")),
        Attack("length 0", file("", data: 4), .rejected(.offset(0), "expected at least")),
        Attack("length 2^63", file("{}", data: 0, length: 1 << 63), .rejected(.offset(0), "9223372036854775808 bytes")),
        Attack("length 2^64-1", file("{}", data: 0, length: .max), .rejected(.offset(0), "18446744073709551615 bytes")),
        Attack(
            "length 100 MB + 1", file("{}", data: 0, length: 100_000_001), .rejected(.offset(0), "at most 67108864")),
        Attack("length past the file", file("{}", data: 3, length: 6), .rejected(.offset(0), "only 5 follow")),
        Attack("a pickle", [0x80, 2, 0x7D, 0x71, 0, 0x58, 5, 0, 0, 0], .rejected(.offset(0), "Python pickle")),
        Attack("a zip archive", Array("PK\u{3}\u{4}archive/data.pkl".utf8), .rejected(.offset(0), "zip archive")),
        Attack(
            "a Git LFS pointer", Array("version https://git-lfs.github.com/spec/v1".utf8),
            .rejected(.offset(0), "git lfs pull")),
    ]

    private static let documents: [Attack] = [
        Attack(
            "not UTF-8", file(Array("{\"".utf8) + [0xFF, 0xFE] + Array("\":1}".utf8), data: 0),
            .rejected(.offset(9), "UTF-8")),
        Attack("not JSON", file("{hello}", data: 0), .rejected(.offset(9), "a member's name, found 'h'")),
        Attack("not even a brace", file("hello world", data: 0), .rejected(.offset(8), "start with '{'")),
        Attack("an array", file("[]", data: 0), .rejected(.offset(8), "start with '{'")),
        Attack("leading space", file(" {}", data: 0), .rejected(.offset(8), "start with '{'")),
        Attack("trailing spaces", file("{}      ", data: 0), .accepted),
        Attack("trailing NULs", file("{}\0\0", data: 0), .rejected(.offset(10), "end of the JSON document")),
        Attack("cut off", file("{\"a\":", data: 0), .rejected(.offset(13), "ends too early")),
        attack(
            "duplicate name", entry("a", 0, 4) + "," + entry("a", 4, 8), data: 8,
            .rejected(.offset(62), "\"a\" occurs twice")),
        attack(
            "duplicate name, same tensor", entry("a", 0, 4) + "," + entry("a", 0, 4), data: 4,
            .rejected(.offset(62), "\"a\" occurs twice")),
        attack(
            "duplicate field", #""a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}"#, data: 4,
            .rejected(.offset(28), "\"dtype\" occurs twice")),
        attack(
            "duplicate __metadata__", #""__metadata__":{},"__metadata__":{}"#, data: 0,
            .rejected(.offset(27), "__metadata__\" occurs twice")),
        attack(
            "duplicate name in the metadata", #""__metadata__":{"a":"1","a":"2"}"#, data: 0,
            .rejected(.offset(33), "\"a\" occurs twice")),
        attack(
            "metadata that is no string", #""__metadata__":{"a":1}"#, data: 0,
            .rejected(.offset(29), "a string as metadata")),
        attack(
            "metadata that is no object", #""__metadata__":null"#, data: 0, .rejected(.offset(24), "expected an object")
        ),
        attack("half a surrogate pair", #""\ud800":{}"#, data: 0, .rejected(.offset(10), "surrogate")),
        Attack(
            "200000 levels", file("{\"a\":" + String(repeating: "[", count: 200_000), data: 0),
            .rejected(.offset(13), "expected an object")),
        Attack(
            "200000 levels in a shape", file("{\"a\":{\"shape\":" + String(repeating: "[", count: 200_000), data: 0),
            .rejected(.offset(23), "expected a JSON value")),
    ]

    private static let layouts: [Attack] = [
        attack(
            "overlap", entry("a", 0, 8) + "," + entry("b", 4, 12), data: 12,
            .rejected(tensor("b"), "overlaps that of tensor \"a\"")),
        attack(
            "same range twice", entry("a", 0, 4) + "," + entry("b", 0, 4), data: 4,
            .rejected(tensor("b"), "overlaps that of tensor \"a\"")),
        attack(
            "hole", entry("a", 0, 4) + "," + entry("b", 8, 12), data: 12,
            .rejected(tensor("b"), "bytes 4..<8 belong to no tensor")),
        attack("starts at 4", entry("a", 4, 8), data: 8, .rejected(tensor("a"), "bytes 0..<4 belong to no tensor")),
        attack(
            "begin after end", entry("a", "F32", "[1]", "4", "0"), data: 4,
            .rejected(tensor("a"), "end before they begin")),
        attack(
            "end after the file", entry("a", 0, 8), data: 4,
            .rejected(tensor("a"), "ends at byte 8 after the header, where the file has 4")),
        attack("trailing bytes", entry("a", 0, 4), data: 8, .rejected(.offset(66), "4 bytes at the end")),
        Attack(
            "a zip archive behind", file("{\(entry("a", 0, 4))}", data: 4) + Array("PK\u{5}\u{6}".utf8),
            .rejected(.offset(66), "4 bytes at the end")),
        attack("no tensors, but bytes", "", data: 1, .rejected(.offset(10), "1 bytes at the end")),
        attack(
            "negative offset", entry("a", "F32", "[1]", "-4", "0"), data: 4, .rejected(.offset(56), "may not hold -4")),
        attack(
            "offset 2^64", entry("a", "F32", "[1]", "0", "18446744073709551616"), data: 4,
            .rejected(.offset(58), "fits in 64 bits")),
        attack(
            "offset 2^63", entry("a", "F32", "[1]", "0", "9223372036854775808"), data: 4,
            .rejected(.offset(58), "fits in 64 bits")),
        attack(
            "offset as a float", entry("a", "F32", "[1]", "0", "4.0"), data: 4, .rejected(.offset(58), "an integer")),
        attack(
            "one offset", #""a":{"dtype":"F32","shape":[1],"data_offsets":[0]}"#, data: 4,
            .rejected(tensor("a"), "1 numbers, expected 2")),
        attack(
            "three offsets", #""a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}"#, data: 4,
            .rejected(tensor("a"), "more than 2")),
    ]

    private static let tensors: [Attack] = [
        attack(
            "shape of another size", entry("a", "F32", "[2]", "0", "4"), data: 4,
            .rejected(tensor("a"), "takes 8 bytes")
        ),
        attack(
            "shape overflows", entry("a", "F32", "[4611686018427387904,2]", "0", "4"), data: 4,
            .rejected(tensor("a"), "overflows")),
        attack(
            "size overflows", entry("a", "F32", "[4611686018427387904]", "0", "4"), data: 4,
            .rejected(tensor("a"), "overflows")),
        attack(
            "shape overflows beside a zero", entry("a", "F32", "[0,4611686018427387904,4]", "0", "0"), data: 0,
            .rejected(tensor("a"), "overflows")),
        attack(
            "negative dimension", entry("a", "F32", "[-1]", "0", "4"), data: 4,
            .rejected(.offset(37), "may not hold -1")
        ),
        attack(
            "dimension as a string", entry("a", "F32", "[\"1\"]", "0", "4"), data: 4,
            .rejected(.offset(37), "expected a JSON value")),
        attack("zero dimension", entry("a", "F32", "[0,3]", "0", "0") + "," + entry("b", 0, 4), data: 4, .accepted),
        attack("scalar", entry("a", "F32", "[]", "0", "4"), data: 4, .accepted),
        attack(
            "unknown element type", entry("a", "Q7", "[1]", "0", "4"), data: 4,
            .rejected(tensor("a"), "\"Q7\" is not supported")),
        attack(
            "4-bit floats", entry("a", "F4", "[1]", "0", "1"), data: 1,
            .rejected(tensor("a"), "\"F4\" is not supported")
        ),
        attack(
            "missing shape", #""a":{"dtype":"F32","data_offsets":[0,4]}"#, data: 4, .rejected(tensor("a"), "no shape")),
        attack("missing type", #""a":{"shape":[1],"data_offsets":[0,4]}"#, data: 4, .rejected(tensor("a"), "no dtype")),
        attack(
            "missing offsets", #""a":{"dtype":"F32","shape":[1]}"#, data: 4, .rejected(tensor("a"), "no data_offsets")),
        attack(
            "unknown field", #""a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}"#, data: 4,
            .rejected(.offset(61), "unknown field \"x\"")),
        attack(
            "65 dimensions", entry("a", "F32", "[1" + String(repeating: ",1", count: 64) + "]", "0", "4"), data: 4,
            .rejected(tensor("a"), "more than 8 dimensions")),
        attack("8 dimensions", entry("a", "F32", "[1,1,1,1,1,1,1,1]", "0", "4"), data: 4, .accepted),
    ]

    private static let names: [Attack] = [
        attack("name with ../", entry("../a", 0, 4), data: 4, .accepted),
        attack("name with NUL", entry("a\\u0000", 0, 4), data: 4, .rejected(.offset(9), "control character")),
        attack("empty name", entry("", 0, 4), data: 4, .rejected(.offset(9), "empty name")),
        attack("name of 512 bytes", entry(String(repeating: "n", count: 512), 0, 4), data: 4, .accepted),
        attack(
            "name of 513 bytes", entry(String(repeating: "n", count: 513), 0, 4), data: 4,
            .rejected(.offset(9), "513 bytes")),
    ]
}
