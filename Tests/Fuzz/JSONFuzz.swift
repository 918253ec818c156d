import AccelByteIO

extension FuzzTarget {
    static let json = FuzzTarget(
        name: "json",
        seeds: [
            #"{"hidden_size": 384, "eps": 1e-12, "names": ["a", "\u00e9\ud83d\ude00", null, true, -0]}"#,
            "[9223372036854775807, -9223372036854775808, 1.5e300]", "[[[[[[]]]]]]", "\"\\n\\/\"",
        ].map { Array($0.utf8) }
    ) { bytes in
        let value = try JSON.parse(bytes, file: "fuzz")
        for pretty in [false, true] {
            let text = ByteView(Array(value.text(pretty: pretty).utf8))
            guard let again = try? JSON.parse(text, file: "fuzz"), again == value else {
                preconditionFailure("written JSON does not read back equal")
            }
        }
        // What a program asks of a configuration.
        let field = JSONField(value, file: "fuzz")
        _ = (try? field["hidden_size"].int(in: 1...1 << 20), try? field["eps"].double(), try? field["names"].array())
    }
}
