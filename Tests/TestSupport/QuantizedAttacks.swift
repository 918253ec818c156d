import AccelByteIO

extension Attack {
    /// Safetensors files with one quantized layer `x`, and its `quantization_config` in their metadata.
    public static let quantized: [Attack] =
        gptq + awq + bitsandbytes + bitsandbytesStates + hqq + packed + floats + integers

    private static func sound(_ name: String, _ file: TensorFile) -> Attack { Attack(name, file.encoded, .accepted) }

    /// A layer with a part replaced, or without it, that is rejected at a tensor.
    static func bad(
        _ name: String, _ file: TensorFile, _ part: String, _ tensor: (String, [Int], [UInt8])?,
        at place: String? = nil,
        _ words: String
    ) -> Attack {
        Attack(
            name, file.replacing("x\(part)", by: tensor.map { (type: $0.0, shape: $0.1, bytes: $0.2) }).encoded,
            .rejected(.tensor("x\(place ?? part)", index: nil), words))
    }

    private static func words(_ count: Int, _ value: Int32 = 0x1234_5678) -> [Int32] {
        [Int32](repeating: value, count: count)
    }
    private static func halves(_ count: Int, _ bits: UInt16 = 0x2C00) -> [UInt16] {
        [UInt16](repeating: bits, count: count)
    }

    /// 8 rows and 32 columns of 4 bits, in 2 groups.
    private static let gptqLayer = TensorFile(
        config: #"{"quant_method":"gptq"}"#,
        [
            "x.qweight": TensorFile.words(words(32), [4, 8]), "x.qzeros": TensorFile.words(words(2), [2, 1]),
            "x.scales": TensorFile.halves(halves(16), [2, 8]),
            "x.g_idx": TensorFile.words((0..<32).map { $0 / 16 }),
        ])

    private static let gptq: [Attack] = [
        sound("GPTQ as it is", gptqLayer),
        sound(
            "GPTQ with columns in any order",
            gptqLayer.replacing("x.g_idx", by: TensorFile.words((0..<32).map { $0 % 2 }))),
        sound(
            "GPTQ with all columns in one group",
            gptqLayer.replacing("x.g_idx", by: TensorFile.words((0..<32).map { _ in 1 }))),
        sound(
            "GPTQ with one column in another group",
            gptqLayer.replacing("x.g_idx", by: TensorFile.words((0..<32).map { $0 == 5 ? 1 : 0 }))),
        Attack(
            "GPTQ with a group of -1",
            gptqLayer.replacing("x.g_idx", by: TensorFile.words((0..<32).map { $0 == 3 ? -1 : 0 })).encoded,
            .rejected(.tensor("x.g_idx", index: 3), "is -1, but there are 2 groups")),
        Attack(
            "GPTQ with a group of 2^31 - 1",
            gptqLayer.replacing("x.g_idx", by: TensorFile.words((0..<32).map { $0 == 0 ? .max : 0 })).encoded,
            .rejected(.tensor("x.g_idx", index: 0), "but there are 2 groups")),
        bad(
            "GPTQ with groups of no columns", gptqLayer, ".g_idx", TensorFile.words([]), at: ".qweight", "are not of 2"),
        bad(
            "GPTQ with groups as a matrix", gptqLayer, ".g_idx", TensorFile.words(words(32, 0), [32, 1]),
            at: ".qweight", "are not of 2"),
        bad(
            "GPTQ with groups as floats", gptqLayer, ".g_idx", TensorFile.floats((0..<32).map { Float($0 / 16) }),
            "expected I32 or I64"),
        bad(
            "GPTQ with words of 5 bits", gptqLayer, ".qweight", TensorFile.words(words(40), [5, 8]),
            "are not of 2, 3, 4"),
        bad("GPTQ without zero points", gptqLayer, ".qzeros", nil, at: ".qweight", "there is no \"x.qzeros\""),
        bad(
            "GPTQ with zero points of 1 group", gptqLayer, ".qzeros", TensorFile.words(words(1), [1, 1]), "expected I32"
        ),
        bad("GPTQ with scales as a vector", gptqLayer, ".scales", TensorFile.halves(halves(16), [16]), "a matrix"),
        bad("GPTQ with no scales", gptqLayer, ".scales", TensorFile.halves([], [2, 0]), "a matrix"),
        Attack(
            "GPTQ with a scale that is not a number",
            gptqLayer.replacing("x.scales", by: TensorFile.halves(halves(15) + [0x7E00], [2, 8])).encoded,
            .rejected(.tensor("x.scales", index: 15), "scales have to be finite")),
        Attack(
            "GPTQ with a layout of a number", gptqLayer.configured(#"{"checkpoint_format":7}"#).encoded,
            .rejected(.field("quantization_config.checkpoint_format"), "expected a string")),
        Attack(
            "a method that is a list", gptqLayer.configured(#"{"quant_method":["gptq"]}"#).encoded,
            .rejected(.field("quantization_config.quant_method"), "expected a string")),
    ]

    private static let awqLayer = TensorFile(
        config: #"{"quant_method":"awq"}"#,
        [
            "x.qweight": TensorFile.words(words(32), [32, 1]), "x.qzeros": TensorFile.words(words(2), [2, 1]),
            "x.scales": TensorFile.halves(halves(16), [2, 8]),
        ])

    private static let awq: [Attack] = [
        sound("AWQ as it is", awqLayer),
        bad(
            "AWQ with scales of 3 groups", awqLayer, ".scales", TensorFile.halves(halves(24), [3, 8]), "a divisor of 32"
        ),
        bad(
            "AWQ with scales of 4 rows", awqLayer, ".scales", TensorFile.halves(halves(8), [2, 4]), "expected rows of 8"
        ),
        bad("AWQ with zero points of 2 rows", awqLayer, ".qzeros", TensorFile.words(words(1), [1, 1]), "expected I32"),
        bad("AWQ with words as bytes", awqLayer, ".qweight", TensorFile.bytes([1, 2, 3, 4]), "expected I32"),
    ]

    /// The table of NF4.
    private static let entries: [Float] = [
        -1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0, 0.0795803, 0.1609302,
        0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1,
    ]
    private static let mark = ".weight.quant_state.bitsandbytes__nf4"
    private static func state(_ text: String) -> (String, [Int], [UInt8]) { TensorFile.bytes(Array(text.utf8)) }

    /// 2 rows of 48 columns: three blocks of 32 across the end of the first row.
    private static let nestedLayer = TensorFile(
        config: #"{"quant_method":"bitsandbytes"}"#,
        [
            "x.weight": TensorFile.bytes([UInt8](repeating: 0x5A, count: 48), [48, 1]),
            "x.weight.absmax": TensorFile.bytes([7, 8, 9]), "x.weight.quant_map": TensorFile.floats(entries),
            "x.weight.nested_absmax": TensorFile.floats([2]),
            "x.weight.nested_quant_map": TensorFile.floats((0..<256).map { Float($0) / 256 }),
            "x\(mark)": state(
                #"{"quant_type":"nf4","blocksize":32,"shape":[2,48],"nested_blocksize":256,"nested_offset":0.1}"#),
        ])

    private static let bitsandbytes: [Attack] = [
        sound("bitsandbytes as it is", nestedLayer),
        bad(
            "bitsandbytes with a byte too few", nestedLayer, ".weight", TensorFile.bytes([1, 2, 3], [3, 1]), "48 bytes"),
        bad("bitsandbytes with 2 scales", nestedLayer, ".weight.absmax", TensorFile.bytes([1, 2]), "expected U8 [3]"),
        bad("bitsandbytes without scales", nestedLayer, ".weight.absmax", nil, at: mark, "there is no"),
        Attack(
            "bitsandbytes with another table",
            nestedLayer.replacing("x.weight.quant_map", by: TensorFile.floats(entries.map { $0 / 2 })).encoded,
            .rejected(.tensor("x.weight.quant_map", index: 0), "NF4 has -1.0 there")),
        bad(
            "bitsandbytes with a table of 15", nestedLayer, ".weight.quant_map",
            TensorFile.floats(Array(entries.dropLast())), "expected F32 [16]"),
        Attack(
            "bitsandbytes with a table of NaN",
            nestedLayer.replacing("x.weight.quant_map", by: TensorFile.floats(entries.dropLast() + [.nan])).encoded,
            .rejected(.tensor("x.weight.quant_map", index: 15), "finite")),
        bad(
            "bitsandbytes with no scales of scales", nestedLayer, ".weight.nested_absmax", TensorFile.floats([]),
            "expected 1 scales of scales"),
        Attack(
            "bitsandbytes with a product of scales that overflows",
            nestedLayer.replacing("x.weight.nested_absmax", by: TensorFile.floats([3e38])).replacing(
                "x.weight.nested_quant_map", by: TensorFile.floats([Float](repeating: 1000, count: 256))
            ).encoded, .rejected(.tensor("x.weight.nested_absmax", index: nil), "not finite")),
    ]

    private static func stated(_ name: String, _ text: String, _ words: String) -> Attack {
        Attack(
            "bitsandbytes with \(name)", nestedLayer.replacing("x\(mark)", by: state(text)).encoded,
            .rejected(.tensor("x\(mark)", index: nil), words))
    }

    private static let bitsandbytesStates: [Attack] = [
        stated("a state that is no JSON", "nf4", "expected a JSON value"),
        stated("an empty state", "", "is empty"),
        stated("a state without a shape", #"{"blocksize":32}"#, "shape"),
        stated("a shape of one size", #"{"blocksize":32,"shape":[96]}"#, "two sizes"),
        stated("a negative size", #"{"blocksize":32,"shape":[-2,48]}"#, "outside"),
        Attack(
            "bitsandbytes of 2^31 x 2^31 weights",
            nestedLayer.replacing(
                "x\(mark)", by: state(#"{"blocksize":32,"shape":[2147483648,2147483648]}"#)
            ).encoded, .rejected(.tensor("x.weight", index: nil), "bytes")),
        stated("2^63 rows", #"{"blocksize":32,"shape":[9223372036854775808,1]}"#, "expected an integer"),
        stated("blocks of 0", #"{"blocksize":0,"shape":[2,48]}"#, "outside"),
        stated("blocks of a text", #"{"blocksize":"64","shape":[2,48]}"#, "expected an integer"),
        stated("blocks of 2^40", #"{"blocksize":1099511627776,"shape":[2,48]}"#, "outside"),
        stated(
            "blocks of scales of 0", #"{"blocksize":32,"shape":[2,48],"nested_blocksize":0,"nested_offset":0}"#,
            "outside"),
        stated("no offset of scales", #"{"blocksize":32,"shape":[2,48],"nested_blocksize":256}"#, "nested_offset"),
        stated(
            "an offset beyond float32",
            #"{"blocksize":32,"shape":[2,48],"nested_blocksize":256,"nested_offset":1e300}"#, "out of range"),
    ]
}
