import AccelByteIO

extension Attack {
    /// Files of CTranslate2 (`model.bin`) with the verdict of a reader.
    public static let ctranslate2: [Attack] = starts + names + variables + models

    /// A variable of a file.
    private struct Variable {
        var name: String
        var sizes: [Int] = []
        /// CTranslate2's number of the type: 0 is float32, 1 int8, 2 int16, 3 int32, 4 float16.
        var type = 0
        /// The elements, each the bytes of its type; nil for zeros.
        var content: [UInt8]?
        /// The number of bytes that the file states; nil for those that follow.
        var stated: Int?

        var bytes: [UInt8] {
            let width = [4, 1, 2, 4, 2][min(type, 4)]
            let data = content ?? [UInt8](repeating: 0, count: sizes.reduce(width, *))
            return text(name) + [UInt8(sizes.count)] + sizes.flatMap { number($0, 4) } + [UInt8(type)]
                + number(stated ?? data.count, 4) + data
        }
    }

    private static func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func text(_ text: String) -> [UInt8] { number(text.utf8.count + 1, 2) + Array(text.utf8) + [0] }

    private static func file(
        version: Int = 6, specification: [UInt8] = text("WhisperSpec"), count: Int? = nil, _ variables: [Variable] = [],
        aliases: [(String, String)] = [], aliasCount: Int? = nil, more: [UInt8] = []
    ) -> [UInt8] {
        number(version, 4) + specification + number(3, 4) + number(count ?? variables.count, 4)
            + variables.flatMap(\.bytes) + number(aliasCount ?? aliases.count, 4)
            + aliases.flatMap { text($0.0) + text($0.1) } + more
    }

    private static let starts: [Attack] = [
        Attack("no bytes", [], .rejected(.offset(0), "4 bytes are expected")),
        Attack("version 5", file(version: 5), .rejected(.offset(0), "expected version 6")),
        Attack("2^32 - 1 as the version", file(version: -1), .rejected(.offset(0), "expected version 6")),
        Attack("no variables", file(), .accepted),
        Attack(
            "a specification of no bytes", file(specification: [0, 0]), .rejected(.offset(4), "a name has no bytes")),
        Attack(
            "a specification without its zero", file(specification: number(2, 2) + [65, 65]),
            .rejected(.offset(4), "does not end with a zero")),
        Attack(
            "a specification with a zero within", file(specification: number(4, 2) + [65, 0, 65, 0]),
            .rejected(.offset(4), "does not end with a zero")),
        Attack(
            "a specification past the file", Array(file().prefix(9)), .rejected(.offset(6), "11 bytes are expected")),
        Attack(
            "a specification that is no text", file(specification: number(2, 2) + [255, 0]),
            .rejected(.offset(6), "not valid UTF-8")),
        Attack(
            "2^32 - 1 variables", file(count: -1), .rejected(.offset(22), "there are 4294967295 variables")),
        Attack("more variables than the file has", file(count: 1), .rejected(.offset(26), "a name has no bytes")),
        Attack("bytes after the last name", file(more: [7]), .rejected(.offset(30), "1 bytes are left")),
    ]

    private static let matrix = Variable(name: "a", sizes: [2, 3])

    private static let names: [Attack] = [
        Attack("a second name", file([matrix], aliases: [("b", "a")]), .accepted),
        Attack(
            "a name twice", file([matrix, matrix]), .rejected(.offset(26 + 42), "the name \"a\" occurs twice")),
        Attack(
            "a second name of nothing", file([matrix], aliases: [("b", "c")]),
            .rejected(.offset(26 + 42 + 4), "is no variable")),
        Attack(
            "a second name of a second name", file([matrix], aliases: [("b", "a"), ("c", "b")]),
            .accepted),
        Attack(
            "a second name that is a variable's", file([matrix], aliases: [("a", "a")]),
            .rejected(.offset(26 + 42 + 4), "the name \"a\" occurs twice")),
        Attack(
            "2^32 - 1 second names", file([matrix], aliasCount: -1),
            .rejected(.offset(26 + 42), "there are 4294967295 second names")),
        Attack(
            "fewer second names than the file states", file([matrix], aliasCount: 1),
            .rejected(.offset(26 + 42 + 4), "2 bytes are expected")),
    ]

    private static let variables: [Attack] = [
        Attack("a number", file([Variable(name: "a", type: 3)]), .accepted),
        Attack(
            "nine dimensions", file([Variable(name: "a", sizes: [Int](repeating: 1, count: 9))]),
            .rejected(.offset(30), "has 9 dimensions")),
        Attack("a type of 6", file([Variable(name: "a", type: 6)]), .rejected(.offset(31), "the unknown type 6")),
        Attack(
            "fewer bytes than the shape", file([Variable(name: "a", sizes: [2, 3], stated: 20)]),
            .rejected(.offset(30), "has 20 bytes")),
        Attack(
            "a size that overflows",
            file([Variable(name: "a", sizes: [Int](repeating: 1 << 31, count: 4), content: [])]),
            .rejected(.offset(30), "has 0 bytes")),
        Attack(
            "data past the file", Array(file([matrix]).prefix(26 + 30)),
            .rejected(.offset(26 + 18), "24 bytes are expected")),
        Attack(
            "factors of another number",
            file([Variable(name: "a", sizes: [3, 2], type: 1), Variable(name: "a_scale", sizes: [2])]),
            .rejected(.tensor("a_scale", index: nil), "expected F32 [3]")),
        Attack(
            "factors of another type",
            file([Variable(name: "a", sizes: [3, 2], type: 1), Variable(name: "a_scale", sizes: [3], type: 4)]),
            .rejected(.tensor("a_scale", index: nil), "expected F32 [3]")),
        Attack(
            "factors of no codes",
            file([Variable(name: "a", sizes: [0, 2], type: 1), Variable(name: "a_scale", sizes: [1])]),
            .rejected(.tensor("a_scale", index: nil), "expected F32 [0]")),
    ]

    // MARK: - Whole models

    /// A Whisper of the width 2, with one layer on both sides, 3 words, 2 positions, and 4 mel bands.
    private static func whisper(_ change: (inout [String: Variable]) -> Void) -> [UInt8] {
        var all: [String: Variable] = [:]
        func add(_ name: String, _ sizes: [Int], type: Int = 0, _ content: [UInt8]? = nil) {
            all[name] = Variable(name: name, sizes: sizes, type: type, content: content)
        }
        func linear(_ name: String, _ rows: Int) {
            add("\(name)/weight", [rows, 2])
            add("\(name)/bias", [rows])
        }
        func norm(_ name: String) { for part in ["gamma", "beta"] { add("\(name)/\(part)", [2]) } }
        add("encoder/conv1/weight", [2, 4, 3])
        add("encoder/conv2/weight", [2, 2, 3])
        for name in ["conv1", "conv2"] { add("encoder/\(name)/bias", [2]) }
        for side in ["encoder", "decoder"] {
            add("\(side)/num_heads", [], type: 2, [1, 0])
            add("\(side)/position_encodings/encodings", [2, 2])
            norm("\(side)/layer_norm")
            let layer = "\(side)/layer_0"
            for part in ["self_attention"] + (side == "decoder" ? ["attention"] : []) + ["ffn"] {
                norm("\(layer)/\(part)/layer_norm")
            }
            linear("\(layer)/self_attention/linear_0", 6)
            linear("\(layer)/self_attention/linear_1", 2)
            for part in ["linear_0", "linear_1"] { linear("\(layer)/ffn/\(part)", 2) }
        }
        linear("decoder/layer_0/attention/linear_0", 2)
        linear("decoder/layer_0/attention/linear_1", 4)
        linear("decoder/layer_0/attention/linear_2", 2)
        add("decoder/embeddings/weight", [3, 2])
        add("decoder/activation", [], type: 1, [3])
        change(&all)
        return file(
            all.values.sorted { $0.name < $1.name },
            aliases: [("decoder/projection/weight", "decoder/embeddings/weight")])
    }

    private static func rejected(_ variable: String, index: Int? = nil, _ words: String) -> Verdict {
        .rejected(.tensor(variable, index: index), words)
    }

    private static let (joined, crossed) = (
        "encoder/layer_0/self_attention/linear_0", "decoder/layer_0/attention/linear_1"
    )
    /// 1 as float32.
    private static let one: [UInt8] = [0, 0, 128, 63]

    /// Adds codes of int8 with factors.
    private static func codes(_ name: String, _ rows: Int, factors: [UInt8]) -> [String: Variable] {
        [
            name: Variable(name: name, sizes: [rows, 2], type: 1),
            "\(name)_scale": Variable(name: "\(name)_scale", sizes: [rows], content: factors),
        ]
    }

    private static let models: [Attack] = [
        Attack("a small Whisper", whisper { _ in }, .accepted),
        Attack(
            "queries, keys and values of 5 rows", whisper { $0["\(joined)/weight"]?.sizes = [5, 2] },
            rejected("\(joined)/weight", "expected a multiple of 3 rows")),
        Attack(
            "keys with a bias",
            whisper { $0["\(crossed)/bias"]?.content = [UInt8](repeating: 0, count: 4) + one + one + one },
            rejected("\(crossed)/bias", index: 1, "models of this family have no such bias")),
        Attack(
            "a norm of two dimensions", whisper { $0["encoder/layer_norm/gamma"]?.sizes = [1, 2] },
            rejected("encoder/layer_norm/gamma", "expected 1 dimensions")),
        Attack(
            "a norm of no elements", whisper { $0["encoder/layer_norm/gamma"]?.sizes = [0] },
            rejected("encoder/layer_norm/gamma", "expected 1 dimensions")),
        Attack(
            "0 heads", whisper { $0["encoder/num_heads"]?.content = [0, 0] },
            rejected("encoder/num_heads", "is 0, expected 1...")),
        Attack(
            "heads with a dimension", whisper { $0["encoder/num_heads"]?.sizes = [1] },
            rejected("encoder/num_heads", "expected a number")),
        Attack(
            "a weight of integers", whisper { $0["decoder/embeddings/weight"]?.type = 3 },
            rejected("decoder/embeddings/weight", "expected floats")),
        Attack(
            "codes without factors", whisper { $0["\(joined)/weight"]?.type = 1 },
            rejected("\(joined)/weight", "expected the variable")),
        Attack(
            "codes with a factor of 0",
            whisper { $0.merge(codes("\(joined)/weight", 6, factors: one + [UInt8](repeating: 0, count: 20))) { $1 } },
            rejected("\(joined)/weight_scale", index: 1, "is no factor of codes")),
        Attack(
            "codes with a factor that is no number",
            whisper {
                $0.merge(codes("\(joined)/weight", 6, factors: one + [0, 0, 192, 127] + one + one + one + one)) { $1 }
            }, rejected("\(joined)/weight_scale", index: 1, "is no factor of codes")),
        Attack(
            "codes with factors",
            whisper { $0.merge(codes("\(joined)/weight", 6, factors: one + one + one + one + one + one)) { $1 } },
            .accepted),
        Attack("a layer without a norm", whisper { $0["encoder/layer_0/ffn/layer_norm/beta"] = nil }, .accepted),
        Attack(
            "a variable that no Whisper has",
            whisper { $0["decoder/scale_outputs"] = Variable(name: "decoder/scale_outputs") },
            .accepted),
    ]
}
