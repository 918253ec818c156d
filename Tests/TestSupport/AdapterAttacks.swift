import AccelByteIO

extension Attack {
    /// `adapter_model.safetensors`, with `adapter_config.json` in its metadata, for a model with the matrices
    /// `layers.0.a.weight` and `layers.1.a.weight` of 4 rows and 6 columns, the bias `layers.0.a.bias` of 4, and the
    /// embedding `embed.weight` of 5 rows and 4 columns.
    public static let adapters: [Attack] = soundAdapters + factors + adapterNames + adapterConfigurations

    private static let plain = #"{"peft_type":"LORA","r":2,"lora_alpha":4}"#
    private static let module = "base_model.model.layers.0.a"
    private static let (down, up) = ("\(module).lora_A.weight", "\(module).lora_B.weight")

    private static func numbers(_ shape: [Int]) -> (type: String, shape: [Int], bytes: [UInt8]) {
        TensorFile.floats((0..<shape.reduce(1, *)).map { Float($0) / 8 }, shape)
    }

    private static func adapter(_ config: String = plain) -> TensorFile {
        TensorFile(config: config, [down: numbers([2, 6]), up: numbers([4, 2])])
    }

    private static func bad(
        _ name: String, _ tensor: String, _ replacement: (String, [Int], [UInt8])?, at place: String? = nil,
        index: Int? = nil, _ words: String
    ) -> Attack {
        Attack(
            name, adapter().replacing(tensor, by: replacement.map { (type: $0.0, shape: $0.1, bytes: $0.2) }).encoded,
            .rejected(.tensor(place ?? tensor, index: index), words))
    }

    private static let soundAdapters: [Attack] = [
        Attack("an adapter as it is", adapter().encoded, .accepted),
        Attack(
            "an embedding's factors",
            TensorFile(
                config: plain,
                [
                    "base_model.model.embed.lora_embedding_A": numbers([2, 5]),
                    "base_model.model.embed.lora_embedding_B": numbers([4, 2]),
                ]
            ).encoded, .accepted),
    ]

    private static let factors: [Attack] = [
        bad("only one factor", up, nil, at: down, "only a part of the factors"),
        bad("factors of ranks 2 and 3", up, numbers([4, 3]), at: down, "are not the factors"),
        bad("rank 0", up, TensorFile.floats([], [4, 0]), at: down, "are not the factors"),
        bad("a factor as a vector", up, numbers([8]), at: down, "are not the factors"),
        bad("a factor of a kernel", down, numbers([2, 6, 1]), "are not the factors"),
        bad("a factor of 7 columns", down, numbers([2, 7]), "are not the factors"),
        bad(
            "a factor of integers", down, TensorFile.words([Int32](repeating: 1, count: 12), [2, 6]), "floating-point"),
        bad(
            "a factor with an infinity", down,
            TensorFile.floats([Float](repeating: 0, count: 11) + [.infinity], [2, 6]),
            index: 11, "is not finite"),
        bad(
            "a factor with a NaN", up, TensorFile.floats([.nan] + [Float](repeating: 0, count: 7), [4, 2]), index: 0,
            "is not finite"),
        Attack(
            "a sum beyond float32",
            adapter().replacing(down, by: TensorFile.floats([Float](repeating: 3e38, count: 12), [2, 6])).replacing(
                up, by: TensorFile.floats([Float](repeating: 3e38, count: 8), [4, 2])
            ).encoded, .rejected(.tensor("layers.0.a.weight", index: 0), "with the adapter merged")),
        Attack(
            "a rank that the configuration does not have",
            adapter(#"{"peft_type":"LORA","r":3,"lora_alpha":4}"#).encoded,
            .rejected(.tensor(down, index: nil), "has the rank 2, but adapter_config.json says 3")),
    ]

    private static let adapterNames: [Attack] = [
        bad("a name without its prefix", "layers.0.a.lora_A.weight", numbers([2, 6]), "starts with base_model.model."),
        bad("an unknown factor", "\(module).lora_C.weight", numbers([2, 6]), "that is known"),
        bad(
            "lengths that the configuration does not have", "\(module).lora_magnitude_vector", numbers([4]),
            "use_dora is not set"),
        bad(
            "factors of an embedding and of a matrix", "\(module).lora_embedding_A", numbers([2, 6]),
            "has this tensor twice"),
        Attack(
            "a module that the model does not have",
            TensorFile(
                config: plain,
                [
                    "base_model.model.layers.2.a.lora_A.weight": numbers([2, 6]),
                    "base_model.model.layers.2.a.lora_B.weight": numbers([4, 2]),
                ]
            ).encoded, .rejected(.tensor("base_model.model.layers.2.a.lora_A.weight", index: nil), "has no tensor")),
        bad("a bias of 5", "\(module).lora_B.bias", numbers([5]), "expected shape [4]"),
        bad(
            "a whole tensor of another shape", "base_model.model.layers.1.a.weight", numbers([6, 4]),
            "expected shape [4,6]"),
        bad(
            "a copy without what it copies", "base_model.model.layers.1.a.modules_to_save.x.weight", numbers([4, 6]),
            "no equal tensor"),
    ]

    private static func configured(_ name: String, _ config: String, field: String?, _ words: String) -> Attack {
        Attack(name, adapter(config).encoded, .rejected(field.map { .field($0) } ?? nil, words))
    }

    private static func lora(_ members: String) -> String { #"{"peft_type":"LORA",\#(members)}"# }

    private static let adapterConfigurations: [Attack] = [
        configured("a configuration that is a list", "[]", field: "", "has no peft_type"),
        configured("no type", #"{"r":2}"#, field: "", "has no peft_type"),
        configured("a type that is a number", #"{"peft_type":1}"#, field: "peft_type", "expected a string"),
        configured("no rank", lora(#""lora_alpha":4"#), field: "r", "expected an integer"),
        configured("a rank of 0", lora(#""r":0,"lora_alpha":4"#), field: "r", "outside"),
        configured("a rank of -2", lora(#""r":-2,"lora_alpha":4"#), field: "r", "outside"),
        configured("a rank of 2^62", lora(#""r":4611686018427387904,"lora_alpha":4"#), field: "r", "outside"),
        configured("a rank of 1.5", lora(#""r":1.5,"lora_alpha":4"#), field: "r", "expected an integer"),
        configured("an alpha of 1e300", lora(#""r":2,"lora_alpha":1e300"#), field: "lora_alpha", "out of range"),
        configured("an alpha of a text", lora(#""r":2,"lora_alpha":"4""#), field: "lora_alpha", "expected a number"),
        configured(
            "a flag that is a number", lora(#""r":2,"lora_alpha":4,"use_dora":1"#), field: "use_dora", "true or false"),
        configured(
            "ranks that are a list", lora(#""r":2,"lora_alpha":4,"rank_pattern":[1]"#), field: "rank_pattern",
            "expected an object"),
        configured(
            "a pattern with a rank of a text", lora(#""r":2,"lora_alpha":4,"rank_pattern":{"a":"2"}"#),
            field: "rank_pattern.a", "expected an integer"),
        configured(
            "a pattern with an alpha of 1e39", lora(#""r":2,"lora_alpha":4,"alpha_pattern":{"a":1e39}"#),
            field: "alpha_pattern.a", "out of range"),
        configured(
            "a model that is a number", lora(#""r":2,"lora_alpha":4,"base_model_name_or_path":7"#),
            field: "base_model_name_or_path", "expected a string"),
    ]
}

extension Attack {
    /// The model that the adapters of `adapters` are for.
    public static let adaptedModel: [UInt8] = {
        func numbers(_ shape: [Int]) -> (type: String, shape: [Int], bytes: [UInt8]) {
            TensorFile.floats((0..<shape.reduce(1, *)).map { Float($0) - 7 }, shape)
        }
        return TensorFile(
            config: "{}",
            [
                "layers.0.a.weight": numbers([4, 6]), "layers.0.a.bias": numbers([4]),
                "layers.1.a.weight": numbers([4, 6]), "embed.weight": numbers([5, 4]),
            ]
        ).encoded
    }()
}
