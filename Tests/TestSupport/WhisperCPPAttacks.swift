import AccelByteIO

extension Attack {
    /// Files of whisper.cpp with the verdict of a reader.
    public static let whisperCPP: [Attack] = starts + contents

    private static func number(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// The sizes of a model of 5 words, and 2 positions, a width of 4, 1 head and 1 layer on both sides, with 3 mel bands.
    private static let sizes = [5, 2, 4, 1, 1, 2, 4, 1, 1, 3, 0]

    private static func file(
        magic: String = "lmgg", changing index: Int? = nil, to value: Int = 0, filters: [Int] = [3, 2],
        tokens: [UInt8] = number(1) + number(1) + [65], _ tensors: [UInt8] = []
    ) -> [UInt8] {
        var numbers = sizes
        if let index { numbers[index] = value }
        return Array(magic.utf8) + numbers.flatMap(number) + filters.flatMap(number) + [UInt8](repeating: 0, count: 24)
            + tokens + tensors
    }

    private static func tensor(
        _ name: String, _ dimensions: [Int], type: Int = 0, rank: Int? = nil, length: Int? = nil, data: Int = 0
    ) -> [UInt8] {
        number(rank ?? dimensions.count) + number(length ?? name.utf8.count) + number(type)
            + dimensions.flatMap(number) + Array(name.utf8) + [UInt8](repeating: 0, count: data)
    }

    private static let starts: [Attack] = [
        Attack("no bytes", [], .rejected(.offset(0), "starts with")),
        Attack("47 bytes", Array(file().prefix(47)), .rejected(.offset(0), "starts with")),
        Attack("another magic", file(magic: "fmgg"), .rejected(.offset(0), "starts with")),
        Attack("no tensors", file(), .accepted),
        Attack("no words", file(changing: 0, to: 0), .rejected(.offset(4), "the vocabulary is 0")),
        Attack("2^31 - 1 words", file(changing: 0, to: 0x7FFF_FFFF), .rejected(.offset(4), "the vocabulary")),
        Attack("-1 positions", file(changing: 1, to: -1), .rejected(.offset(8), "the number of positions is -1")),
        Attack("no heads", file(changing: 3, to: 0), .rejected(.offset(16), "the number of heads")),
        Attack("2^30 layers", file(changing: 4, to: 1 << 30), .rejected(.offset(20), "the number of layers")),
        Attack("an unknown type of the file", file(changing: 10, to: 5), .rejected(.offset(44), "5 is no type")),
        Attack("blocks of version 1", file(changing: 10, to: 1007), .rejected(.offset(44), "1007 is no type")),
        Attack("blocks of version 2", file(changing: 10, to: 2007), .accepted),
        Attack("filters of other bands", file(filters: [2, 3]), .rejected(.offset(48), "the filters have 2 bands")),
        Attack(
            "filters past the file", file(filters: [3, 1 << 16]), .rejected(.offset(56), "bytes are expected here")),
        Attack("-1 bins", file(filters: [3, -1]), .rejected(.offset(52), "the number of bins is -1")),
        Attack("-1 tokens", file(tokens: number(-1)), .rejected(.offset(80), "the number of tokens is -1")),
        Attack("more tokens than words", file(tokens: number(6)), .rejected(.offset(80), "the number of tokens is 6")),
        Attack(
            "more tokens than bytes", file(tokens: number(3) + number(0)),
            .rejected(.offset(80), "the number of tokens")
        ),
        Attack(
            "a token past the file", file(tokens: number(1) + number(2) + [65]),
            .rejected(.offset(84), "the length of a token")),
        Attack(
            "a token of -1 bytes", file(tokens: number(1) + number(-1)), .rejected(.offset(84), "the length of a token")
        ),
    ]

    private static func rejected(_ tensor: String, _ words: String) -> Verdict {
        .rejected(.tensor(tensor, index: nil), words)
    }

    private static let contents: [Attack] = [
        Attack("a vector", file(tensor("a", [2], data: 8)), .accepted),
        Attack("blocks", file(tensor("a", [32, 2], type: 8, data: 68)), .accepted),
        Attack(
            "no dimensions", file(tensor("a", [], data: 4)), .rejected(.offset(89), "the number of dimensions is 0")),
        Attack(
            "five dimensions", file(tensor("a", [1, 1, 1, 1, 1], data: 4)),
            .rejected(.offset(89), "the number of dimensions is 5")),
        Attack(
            "2^31 - 1 dimensions", file(tensor("a", [1], rank: 0x7FFF_FFFF)),
            .rejected(.offset(89), "the number of dimensions")),
        Attack("an empty name", file(tensor("", [1], data: 4)), .rejected(.offset(93), "a tensor's name is 0")),
        Attack(
            "a name of 2^30 bytes", file(tensor("a", [1], length: 1 << 30)), .rejected(.offset(93), "a tensor's name")),
        Attack(
            "a name past the file", file(tensor("a", [1], length: 9)), .rejected(.offset(105), "9 bytes are expected")),
        Attack(
            "a name with NUL", file(tensor("\0", [1], data: 4)), .rejected(.offset(101), "control character")),
        Attack("an unknown type", file(tensor("a", [1], type: 99, data: 4)), .rejected(.offset(97), "no type 99")),
        Attack("a type of -1", file(tensor("a", [1], type: -1, data: 4)), .rejected(.offset(97), "the type is -1")),
        Attack("a dimension of 0", file(tensor("a", [0])), .rejected(.offset(101), "a dimension is 0")),
        Attack("a dimension of -1", file(tensor("a", [-1])), .rejected(.offset(101), "a dimension is -1")),
        Attack("a size that overflows", file(tensor("a", [1 << 30, 1 << 30, 1 << 30])), rejected("a", "overflows")),
        Attack("half a block", file(tensor("a", [48], type: 8, data: 51)), rejected("a", "whole blocks of 32")),
        Attack("data past the file", file(tensor("a", [2], data: 7)), rejected("a", "its 8 bytes start at byte 106")),
        Attack(
            "a name twice", file(tensor("a", [1], data: 4) + tensor("a", [1], data: 4)),
            .rejected(.offset(110), "\"a\" occurs twice")),
        Attack(
            "bytes after the last tensor", file(tensor("a", [1], data: 7)),
            .rejected(.offset(110), "4 bytes are expected")
        ),
    ]
}
