import AccelByteIO

extension Attack {
    /// 4 rows of 12 columns of 4 bits, in groups of 8 across the ends of rows.
    private static let hqqLayer = TensorFile(
        config: #"{"quant_method":"hqq"}"#,
        [
            "x.W_q": TensorFile.bytes([UInt8](repeating: 0x21, count: 24), [3, 8]),
            "x.scale": TensorFile.floats([1, 2, 3, 4, 5, 6], [6, 1]),
            "x.zero": TensorFile.floats([1, 2, 3, 4, 5, 6], [6, 1]), "x.nbits": TensorFile.longs([4], []),
            "x.axis": TensorFile.longs([1], []), "x.shape": TensorFile.longs([4, 12]),
            "x.group_size": TensorFile.longs([8], []),
        ])

    static let hqq: [Attack] = [
        Attack("HQQ as it is", hqqLayer.encoded, .accepted),
        Attack(
            "HQQ of columns",
            hqqLayer.replacing("x.axis", by: TensorFile.longs([0], []))
                .replacing("x.scale", by: TensorFile.floats([1, 2, 3, 4, 5, 6], [1, 6]))
                .replacing("x.zero", by: TensorFile.floats([1, 2, 3, 4, 5, 6], [1, 6])).encoded, .accepted),
        bad("HQQ with 7 bits", hqqLayer, ".nbits", TensorFile.longs([7], []), at: ".W_q", "are not HQQ's"),
        bad("HQQ with -2^63 bits", hqqLayer, ".nbits", TensorFile.longs([.min], []), at: ".W_q", "are not HQQ's"),
        bad("HQQ with a real number of bits", hqqLayer, ".nbits", TensorFile.floats([4], []), "expected an integer"),
        bad("HQQ with two numbers of bits", hqqLayer, ".nbits", TensorFile.longs([4, 4]), "expected an integer"),
        bad("HQQ with axis 2", hqqLayer, ".axis", TensorFile.longs([2], []), at: ".W_q", "are not HQQ's"),
        bad("HQQ with axis -1", hqqLayer, ".axis", TensorFile.longs([-1], []), at: ".W_q", "are not HQQ's"),
        bad("HQQ with no rows", hqqLayer, ".shape", TensorFile.longs([0, 12]), at: ".W_q", "are not HQQ's"),
        bad("HQQ with -4 rows", hqqLayer, ".shape", TensorFile.longs([-4, 12]), at: ".W_q", "are not HQQ's"),
        bad(
            "HQQ of 2^31 x 2^31 weights", hqqLayer, ".shape", TensorFile.longs([1 << 31, 1 << 31]), at: ".scale",
            "do not fit"),
        bad("HQQ of three sizes", hqqLayer, ".shape", TensorFile.longs([4, 4, 3]), "expected I64"),
        bad("HQQ with a byte too few", hqqLayer, ".W_q", TensorFile.bytes([1, 2, 3]), "3 bytes are not"),
        bad("HQQ with 5 scales", hqqLayer, ".scale", TensorFile.floats([1, 2, 3, 4, 5]), "5 scales and 6 zero points"),
        bad("HQQ without scales", hqqLayer, ".scale", nil, at: ".W_q", "there is no \"x.scale\""),
        Attack(
            "HQQ with no groups",
            hqqLayer.replacing("x.scale", by: TensorFile.floats([])).replacing("x.zero", by: TensorFile.floats([]))
                .encoded,
            .rejected(.tensor("x.scale", index: nil), "0 scales")),
        Attack(
            "HQQ with an infinite zero point",
            hqqLayer.replacing("x.zero", by: TensorFile.floats([1, 2, .infinity, 4, 5, 6], [6, 1])).encoded,
            .rejected(.tensor("x.zero", index: 2), "finite")),
    ]

    /// 4 rows of 16 columns of 4 bits.
    private static let packedLayer = TensorFile(
        config: #"{"quant_method":"compressed-tensors"}"#,
        [
            "x.weight_packed": TensorFile.words([Int32](repeating: 0x7654_3210, count: 8), [4, 2]),
            "x.weight_scale": TensorFile.floats((1...8).map { Float($0) }, [4, 2]),
            "x.weight_shape": TensorFile.longs([4, 16]),
        ])

    static let packed: [Attack] = [
        Attack("packed codes as they are", packedLayer.encoded, .accepted),
        Attack(
            "packed codes with columns in any order",
            packedLayer.replacing("x.weight_g_idx", by: TensorFile.words((0..<16).map { $0 % 2 })).encoded, .accepted),
        bad(
            "packed codes with a group of 2", packedLayer, ".weight_g_idx", TensorFile.words((0..<16).map { $0 % 3 }),
            "expected 16 groups from 0 to 1"),
        bad("packed codes with -16 columns", packedLayer, ".weight_shape", TensorFile.longs([4, -16]), "do not fit"),
        bad(
            "packed codes with 2^62 columns", packedLayer, ".weight_shape", TensorFile.longs([4, 1 << 62]), "do not fit"
        ),
        bad("packed codes with 5 rows", packedLayer, ".weight_shape", TensorFile.longs([5, 16]), "do not fit"),
        bad(
            "packed codes with 3 groups", packedLayer, ".weight_scale", TensorFile.floats([1, 2, 3], [1, 3]),
            "scales of [1,3] do not fit"),
        bad(
            "packed codes with no scales", packedLayer, ".weight_scale", TensorFile.floats([], [4, 0]),
            "expected scales"),
        bad(
            "packed codes with zero points of one row", packedLayer, ".weight_zero_point",
            TensorFile.words([1, 2], [2, 1]), "expected I32 [1,2]"),
    ]

    private static let float8Layer = TensorFile(
        config: #"{"quant_method":"fp8"}"#,
        [
            "x.weight": TensorFile.bytes([UInt8](repeating: 0x38, count: 128), [4, 32], as: "F8_E4M3"),
            "x.weight_scale": TensorFile.floats([1, 2, 3, 4], [4, 1]),
        ])
    private static let mxfp4Layer = TensorFile(
        config: "{}",
        [
            "x_blocks": TensorFile.bytes([UInt8](repeating: 0x21, count: 64), [2, 2, 16]),
            "x_scales": TensorFile.bytes([120, 121, 122, 123], [2, 2]),
        ])

    static let floats: [Attack] = [
        Attack("FP8 as it is", float8Layer.encoded, .accepted),
        bad("FP8 with 3 scales", float8Layer, ".weight_scale", TensorFile.floats([1, 2, 3]), "scales of [3]"),
        bad("FP8 with no scales", float8Layer, ".weight_scale", TensorFile.floats([]), "scales of [0]"),
        bad("FP8 as a vector", float8Layer, ".weight", TensorFile.bytes([1, 2, 3, 4], as: "F8_E4M3"), "a matrix"),
        Attack(
            "FP8 with a scale that is not a number",
            float8Layer.replacing("x.weight_scale", by: TensorFile.floats([1, .nan, 3, 4], [4, 1])).encoded,
            .rejected(.tensor("x.weight_scale", index: 1), "finite")),
        Attack("MXFP4 as it is", mxfp4Layer.encoded, .accepted),
        bad(
            "MXFP4 with scales of one row", mxfp4Layer, "_scales", TensorFile.bytes([1, 2], [1, 2]), at: "_blocks",
            "are not of blocks of 32"),
        bad(
            "MXFP4 with blocks of 30", mxfp4Layer, "_blocks",
            TensorFile.bytes([UInt8](repeating: 1, count: 60), [2, 2, 15]),
            "are not of blocks of 32"),
        bad(
            "MXFP4 with a scale that is not a number", mxfp4Layer, "_scales",
            TensorFile.bytes([1, 2, 3, 255], [2, 2]),
            at: "", "scale"),
    ]

    private static let integerLayer = TensorFile(
        config: #"{"quant_method":"compressed-tensors"}"#,
        [
            "x.weight": TensorFile.bytes([UInt8](0..<32), [4, 8], as: "I8"),
            "x.weight_scale": TensorFile.floats([1, 2, 3, 4], [4, 1]),
        ])

    static let integers: [Attack] = [
        Attack("int8 as it is", integerLayer.encoded, .accepted),
        bad("int8 with no scales", integerLayer, ".weight_scale", TensorFile.floats([]), "scales of [0]"),
        bad(
            "int8 with 3 scales", integerLayer, ".weight_scale", TensorFile.floats([1, 2, 3]), "scales of [3]"
        ),
        bad(
            "int8 with 12 scales", integerLayer, ".weight_scale",
            TensorFile.floats([Float](repeating: 1, count: 12), [4, 3]),
            "scales of [4,3]"),
        bad(
            "int8 with one zero point", integerLayer, ".weight_zero_point", TensorFile.bytes([1], as: "I8"),
            "expected I8 [4,1]"),
    ]
}
