import AccelByteIO

extension Attack {
    /// Files `config.json` beside the weights of the fixture `bert_base`.
    public static let configurations: [Attack] = documents + numbers + types + code

    /// The configuration that the weights are of, with some fields' JSON text in place of theirs.
    private static func text(_ changes: [(field: String, text: String)]) -> String {
        let sound = [
            ("model_type", "\"bert\""), ("hidden_size", "36"), ("num_hidden_layers", "2"), ("num_attention_heads", "3"),
            ("intermediate_size", "100"), ("vocab_size", "131"), ("max_position_embeddings", "40"),
        ]
        let kept = sound.filter { field in !changes.contains { $0.field == field.0 } }
        return "{" + (changes + kept).map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    private static func with(_ name: String, _ field: String, _ value: String, _ words: String) -> Attack {
        Attack(name, Array(text([(field, value)]).utf8), .rejected(.field(field), words))
    }

    private static func allowed(_ name: String, _ changes: [(field: String, text: String)]) -> Attack {
        Attack(name, Array(text(changes).utf8), .accepted)
    }

    /// A value at whose byte `offset` the reader of JSON stops.
    private static func unreadable(_ name: String, _ value: String, _ words: String, at offset: Int = 0) -> Attack {
        Attack(name, Array(text([("x", value)]).utf8), .rejected(.offset(UInt64(5 + offset)), words))
    }

    private static let documents: [Attack] = [
        allowed("as it is", []),
        Attack("empty file", [], .rejected(.offset(0), "is empty")),
        Attack("spaces", Array("  \n ".utf8), .rejected(.line(2, column: 2), "ends too early")),
        Attack("zeros", [UInt8](repeating: 0, count: 64), .rejected(.offset(0), "expected a JSON value")),
        Attack(
            "a byte order mark", [0xEF, 0xBB, 0xBF] + Array(text([]).utf8), .rejected(.offset(0), "byte order mark")),
        Attack("UTF-16", text([]).utf8.flatMap { [$0, 0] }, .rejected(.offset(0), "UTF-16")),
        Attack("an array", Array("[]".utf8), .rejected(.field("model_type"), "found nothing")),
        Attack("a string", Array("\"bert\"".utf8), .rejected(.field("model_type"), "found nothing")),
        Attack(
            "two documents", Array((text([]) + "{}").utf8), .rejected(.offset(UInt64(text([]).utf8.count)), "the end")),
        Attack(
            "cut off", Array(text([]).utf8.dropLast()), .rejected(.offset(UInt64(text([]).utf8.count - 1)), "too early")
        ),
        unreadable("a comment", "/* none */ 1", "expected a JSON value"),
        unreadable("a comma at the end", "[1,]", "expected a JSON value", at: 3),
        unreadable("half a surrogate pair", #""\ud800""#, "surrogate", at: 1),
        unreadable("a control character in a string", "\"\u{1}\"", "control character", at: 1),
        unreadable(
            "100,000 arrays in each other", String(repeating: "[", count: 100_000), "more than 64 levels", at: 63),
        unreadable(
            "65 objects in each other", String(repeating: #"{"a":"#, count: 65), "more than 64 levels", at: 63 * 5),
        allowed(
            "63 arrays in each other",
            [("task_specific_params", String(repeating: "[", count: 63) + String(repeating: "]", count: 63))]),
        Attack(
            "a field twice", Array(#"{"vocab_size":131,"vocab_size":131}"#.utf8),
            .rejected(.offset(18), "\"vocab_size\" occurs twice")),
        Attack(
            "a field twice, once by its escape", Array(#"{"vocab_size":131,"vocab_siz\u0065":131}"#.utf8),
            .rejected(.offset(18), "\"vocab_size\" occurs twice")),
    ]

    private static let numbers: [Attack] = [
        unreadable("NaN", "NaN", "expected a JSON value"), unreadable("Infinity", "Infinity", "expected a JSON value"),
        unreadable("-Infinity", "-Infinity", "expected a JSON value"),
        unreadable("1e999", "1e999", "too large for 64-bit floating point"),
        unreadable("an integer of 400 digits", String(repeating: "9", count: 400), "too large for 64-bit"),
        unreadable("0x20", "0x20", "',' or '}'", at: 1), unreadable("007", "007", "starts with 0"),
        with("a vocabulary of 2^40", "vocab_size", "1099511627776", "1099511627776 is outside of 1...16777216"),
        with("a vocabulary of 2^63", "vocab_size", "9223372036854775808", "expected an integer, found a number"),
        with("a vocabulary of -1", "vocab_size", "-1", "-1 is outside of"),
        with("10^9 layers", "num_hidden_layers", "1000000000", "1000000000 is outside of 1...1000"),
        with("no layers", "num_hidden_layers", "0", "0 is outside of 1...1000"),
        with("2^62 wide", "hidden_size", "4611686018427387904", "4611686018427387904 is outside of 1...65536"),
        with("0 wide", "hidden_size", "0", "0 is outside of"),
        with("a width as a fraction", "hidden_size", "36.0", "expected an integer, found a number"),
        with("a width with an exponent", "hidden_size", "36e0", "expected an integer, found a number"),
        with("2^62 heads", "num_attention_heads", "4611686018427387904", "is outside of"),
        with("heads that do not divide the width", "num_attention_heads", "5", "5 heads do not divide hidden_size 36"),
        with("2^62 positions", "max_position_embeddings", "4611686018427387904", "is outside of"),
        with("an epsilon of 1e300", "layer_norm_eps", "1e300", "is outside of 0..<1"),
        with("an epsilon below zero", "layer_norm_eps", "-1e-12", "is outside of 0..<1"),
    ]

    private static let types: [Attack] = [
        with("a width as a string", "hidden_size", "\"36\"", "expected an integer, found a string"),
        with("a width as a boolean", "hidden_size", "true", "expected an integer, found a boolean"),
        with("a width as an array", "hidden_size", "[36]", "expected an integer, found an array"),
        with("a width as an object", "hidden_size", "{}", "expected an integer, found an object"),
        with("a number as the model's type", "model_type", "5", "expected a string, found an integer"),
        with("null as the model's type", "model_type", "null", "expected a string, found null"),
        with("an array as the activation", "hidden_act", "[\"gelu\"]", "expected a string, found an array"),
        with("a string for the architectures", "architectures", "\"BertModel\"", "expected an array, found a string"),
        with("a word as a flag", "is_decoder", "\"no\"", "expected true or false, found a string"),
        allowed(
            "a field that changes nothing, of any kind",
            [("task_specific_params", #"[{"y":[null,-0,1e300,"\u0000"]}]"#)]),
    ]

    private static let code: [Attack] = [
        allowed("auto_map (ignored, and said so)", [("auto_map", #"{"AutoModel":"evil.Model"}"#)]),
        allowed("trust_remote_code (ignored, and said so)", [("trust_remote_code", "true")]),
        allowed("auto_map of another type (ignored, and said so)", [("auto_map", "[1]")]),
    ]
}
