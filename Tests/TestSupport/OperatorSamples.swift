public import AccelPrograms
public import AccelTensors
public import Testing

/// An application of an operator to the inputs that `operators.safetensors` holds under its name.
public struct OperatorSample: Sendable, CustomTestStringConvertible {
    public let name: String
    /// As a program with free dimensions has it.
    public let operation: any Operator
    /// The inputs' sizes with free dimensions; empty: all are numbers.
    public let sizes: [[Dimension]]
    public static let bindings = ["batch": 2, "sequence": 3]
    public var testDescription: String { name }

    init(_ name: String, _ operation: any Operator, _ sizes: [Dimension]...) {
        self.name = name
        self.operation = operation
        self.sizes = sizes
    }

    /// As a frozen program has it.
    public func frozen() throws -> any Operator {
        try Operators.make(operation.name, operation.attributes.binding(Self.bindings))
    }

    public func inputs() throws -> [HostTensor] {
        let golden = try Self.golden()
        return (0..<8).compactMap { golden["\(name).in.\($0)"].map(HostTensor.content) }
    }

    public func expected() throws -> HostTensor { HostTensor.content(try #require(try Self.golden()["\(name).out"])) }

    /// The inputs of a program whose ports have types that ports may have: rows of codes are given as the F32 that they
    /// stand for.
    public func portInputs() throws -> [HostTensor] { try inputs().map { $0.wideningRows() } }

    /// Adds the sample to such a program: the inputs that it takes as rows of codes are rounded, and results widened.
    public func applied(to ports: [Value], in builder: inout ProgramBuilder) throws -> [Value] {
        let values = try zip(inputs(), ports).map { input, port in
            input.elementType == .int8 ? try builder.apply(RoundRows(), [port]) : port
        }
        return try builder.applyAll(frozen(), values).map { result in
            builder.type(of: result).elementType == .int8 ? try builder.apply(WidenRows(), [result]) : result
        }
    }

    public static func golden() throws -> SafetensorsFile { try file.get() }
    /// Read once: each sample asks for it several times.
    private static let file = Result { try SafetensorsFile(Fixtures.path("operators.safetensors")) }

    /// The types of the inputs, with free dimensions.
    public func types() throws -> [TensorType] {
        try inputs().enumerated().map { index, tensor in
            sizes.isEmpty ? tensor.type : TensorType(tensor.elementType, sizes[index])
        }
    }

    /// Every operator of the registry has a sample here: a test says so.
    public static let all: [OperatorSample] =
        unary + binary + movement + contractions + others + convolutions + positions + waves + norms + rows

    private static let unary: [OperatorSample] = [
        ("gelu_erf", Gelu(.erf)), ("gelu_tanh", Gelu(.tanh)), ("gelu_quick", Gelu(.quick)), ("relu", Relu()),
        ("sigmoid", Sigmoid()), ("silu", Silu()), ("tanh", Tanh()), ("negate", Negate()), ("exp", Exp()),
        ("erf", Erf()), ("log", Log()), ("sqrt", Sqrt()), ("rsqrt", Rsqrt()),
    ].flatMap { (name: String, operation: any Operator) in
        [OperatorSample(name, operation, ["batch", 5]), OperatorSample("\(name)_special", operation)]
    }

    private static let binary: [OperatorSample] =
        [
            ("add", Add()), ("subtract", Subtract()), ("multiply", Multiply()), ("divide", Divide()),
            ("maximum", Maximum()), ("minimum", Minimum()),
        ].flatMap { (name: String, operation: any Operator) in
            [
                OperatorSample(name, operation, ["batch", "sequence", 4], ["batch", "sequence", 4]),
                OperatorSample("\(name)_broadcast", operation, ["batch", 1, 4], ["sequence", 1]),
                OperatorSample("\(name)_special", operation),
            ]
        } + [
            OperatorSample("power", Power(), ["batch", 5], ["batch", 5]),
            OperatorSample("power_broadcast", Power(), ["batch", 5], []),
        ]

    private static let movement: [OperatorSample] = [
        OperatorSample("gather", Gather(), [6, 3], ["batch", "sequence"]),
        OperatorSample("gather_integers", Gather(), [8], ["batch"]),
        OperatorSample("reshape", Reshape(to: ["batch", "sequence", 2, 4]), ["batch", "sequence", 8]),
        OperatorSample("transpose", Transpose([0, 2, 1, 3]), ["batch", "sequence", 2, 4]),
        OperatorSample("slice", Slice(begin: [1, "batch"], sizes: ["sequence", 3]), [6, 7]),
        OperatorSample("concat", Concat(axis: 1), ["batch", "sequence", 2], ["batch", 1, 2], ["batch", 3, 2]),
        OperatorSample("expand", Expand(to: ["batch", "sequence", 4]), ["sequence", 1]),
        OperatorSample("copy", Copy(), ["batch", "sequence"]),
        OperatorSample("cast_to_floats", Cast(to: .float32), ["batch", 3]),
        OperatorSample("cast_to_integers", Cast(to: .int64), [4]),
        OperatorSample("cast_to_flags", Cast(to: .bool), [1, "sequence"]),
    ]

    private static let contractions: [OperatorSample] = [
        OperatorSample("linear", Linear(), ["batch", "sequence", 7], [5, 7], [5]),
        OperatorSample("linear_no_bias", Linear(), ["batch", "sequence", 7], [5, 7]),
        OperatorSample("quantized_linear", QuantizedLinear(), ["batch", "sequence", 7], [5, 7], [5]),
        OperatorSample("quantized_linear_relu", QuantizedLinear(activation: .relu), ["batch", "sequence", 7], [5, 7]),
        OperatorSample(
            "quantized_linear_static", QuantizedLinear(range: RowRounding(scale: 0.0078125, lowest: -100)),
            ["batch", "sequence", 7], [5, 7], [5]),
        OperatorSample(
            "quantized_linear_bfloat16", QuantizedLinear(rounding: .bfloat16), ["batch", "sequence", 7], [5, 7], [5]),
        OperatorSample("linear_gelu", Linear(activation: .geluErf), ["batch", "sequence", 7], [5, 7], [5]),
        OperatorSample("matmul", MatMul(), ["batch", "sequence", 4, 5], ["batch", "sequence", 5, 6]),
        OperatorSample("matmul_broadcast", MatMul(), ["sequence", 4, 5], ["batch", 1, 5, 6]),
        OperatorSample(
            "attention", Attention(scale: 0.5), ["batch", 4, "sequence", 5], ["batch", 4, 6, 5], ["batch", 4, 6, 7]),
        OperatorSample(
            "attention_mask", Attention(scale: 0.5), ["batch", 4, "sequence", 5], ["batch", 4, 6, 5],
            ["batch", 4, 6, 7], ["batch", 1, 1, 6]),
        OperatorSample("attention_all_masked", Attention(scale: 0.5)),
        OperatorSample(
            "attention_grouped", Attention(scale: 0.5), ["batch", 4, "sequence", 5], ["batch", 2, 6, 5],
            ["batch", 2, 6, 7], ["sequence", 6]),
        OperatorSample(
            "attention_native", Attention(scale: 1 / 5.0.squareRoot()), ["batch", 4, "sequence", 5],
            ["batch", 4, 6, 5],
            ["batch", 4, 6, 7]),
        OperatorSample(
            "attention_native_mask", Attention(scale: 1 / 5.0.squareRoot()), ["batch", 4, "sequence", 5],
            ["batch", 4, 6, 5], ["batch", 4, 6, 7], ["batch", 1, 1, 6]),
    ]

    private static let others: [OperatorSample] =
        Compare.Relation.allCases.map { OperatorSample("compare_\($0.rawValue)", Compare($0), ["batch", 1], [4]) }
        + Reduce.Kind.allCases.flatMap { kind in
            [
                OperatorSample("reduce_\(kind.rawValue)", Reduce(kind, axes: [1]), ["batch", 5, "sequence"]),
                OperatorSample(
                    "reduce_\(kind.rawValue)_drop", Reduce(kind, axes: [0, 2], keepsAxes: false),
                    ["batch", 5, "sequence"]),
            ]
        } + [
            OperatorSample("compare_integers", Compare(.less), ["batch", 1], ["batch"]),
            OperatorSample("select", Select(), ["batch", 1], ["batch", "sequence"], []),
            OperatorSample("softmax", Softmax(), ["batch", "sequence", 7]),
            OperatorSample("layer_norm", LayerNorm(epsilon: 1e-5), ["batch", "sequence", 7], [7], [7]),
            OperatorSample("layer_norm_no_bias", LayerNorm(epsilon: 1e-12), ["batch", "sequence", 7], [7]),
            OperatorSample("l2_norm", L2Norm(), [4, 7]),
            OperatorSample("rms_norm", RMSNorm(epsilon: 1e-6), ["batch", "sequence", 7], [7]),
        ]

    private static let convolutions: [OperatorSample] = [
        OperatorSample("conv", Conv(), ["batch", 3, "sequence" * 3], [4, 3, 3], [4]),
        OperatorSample(
            "conv_strided", Conv(Window(strides: [2], dilations: [3], before: [2], after: [1]), groups: 2),
            ["batch", 4, "sequence" * 4], [6, 2, 3]),
        OperatorSample("conv_depthwise", Conv(Window(padding: 3), groups: 4), ["batch", 4, 8], [4, 1, 7], [4]),
        OperatorSample(
            "conv_2d", Conv(Window(strides: [2, 1], dilations: [1, 2], before: [0, 1], after: [0, 1])),
            ["batch", 3, "sequence" * 2, 7], [5, 3, 2, 3], [5]),
        OperatorSample("conv_3d", Conv(Window(axes: 3)), [1, 2, "sequence", 4, 5], [3, 2, 2, 2, 2]),
        OperatorSample(
            "conv_transpose", ConvTranspose(Window(stride: 2, padding: 1)), ["batch", 3, "batch" * 2], [3, 5, 4], [5]),
        OperatorSample(
            "conv_transpose_grouped",
            ConvTranspose(Window(stride: 3, dilation: 2, padding: 1), outputPadding: [2], groups: 2),
            ["batch", 4, "sequence" + 2], [4, 3, 3]),
        OperatorSample(
            "conv_transpose_2d",
            ConvTranspose(Window(strides: [2, 3], dilations: [1, 1], before: [0, 0], after: [0, 0])),
            ["batch", 3, 4, 2], [3, 2, 3, 2], [2]),
    ]

    private static let waves: [OperatorSample] =
        [
            ("sin", Sin()), ("cos", Cos()), ("floor", Floor()), ("leaky_relu", LeakyRelu(slope: 0.2)),
            ("elu", Elu(alpha: 0.75)),
        ].flatMap { (name: String, operation: any Operator) in
            [OperatorSample(name, operation, ["batch", 5]), OperatorSample("\(name)_special", operation)]
        }
        + [("modulo", Modulo()), ("atan2", Atan2())].flatMap { (name: String, operation: any Operator) in
            [
                OperatorSample(name, operation, ["batch", "sequence", 4], ["batch", "sequence", 4]),
                OperatorSample("\(name)_broadcast", operation, ["batch", 1, 4], ["sequence", 1]),
                OperatorSample("\(name)_special", operation),
            ]
        } + [
            OperatorSample("snake", Snake(epsilon: 1e-9), ["batch", "sequence", 5], [1, "sequence", 1]),
            OperatorSample("cumsum", CumulativeSum(axis: 1), ["batch", 5, "sequence"]),
            OperatorSample("argmax", ArgMax(axis: 1), ["sequence", 3]),
            OperatorSample("argmax_keep", ArgMax(axis: 1, keepsAxis: true), ["batch", 5, "sequence"]),
            OperatorSample(
                "pad_constant", Pad(.constant, before: [0, 0, 1], after: [0, 1, "batch"], value: -1.5),
                ["batch", "sequence", 4]),
            OperatorSample(
                "pad_reflect", Pad(.reflect, before: [0, 0, "sequence"], after: [0, 0, 2]), ["batch", 3, 4]),
            OperatorSample("pad_edge", Pad(.edge, before: [0, 0, 1], after: [0, 0, 5]), ["batch", 3, "batch" * 2]),
            OperatorSample("resize_nearest", Resize(.nearest, to: ["sequence" * 2 + 1]), ["batch", 3, 4]),
            OperatorSample("resize_linear_up", Resize(.linear, to: ["sequence" * 4]), ["batch", 3, "sequence" + 1]),
            OperatorSample("resize_linear_down", Resize(.linear, to: ["sequence"]), ["batch", 3, "sequence" * 3]),
            OperatorSample("resize_bilinear", Resize(.linear, to: ["sequence", 8]), ["batch", 3, 5, 4]),
        ]

    private static let norms: [OperatorSample] = [
        OperatorSample("group_norm", GroupNorm(groups: 2, epsilon: 1e-5), ["batch", 4, "sequence", 5], [4], [4]),
        OperatorSample("instance_norm", InstanceNorm(epsilon: 1e-5), ["batch", 3, 7]),
        OperatorSample(
            "instance_norm_affine", InstanceNorm(epsilon: 1e-5), ["batch", "sequence", 4, 5], ["sequence"],
            ["sequence"]),
        OperatorSample(
            "instance_norm_valid", InstanceNorm(epsilon: 1e-5), ["batch", 3, 7], ["batch", 3], ["batch", 3], ["batch"]),
        OperatorSample("instance_norm_valid_plain", InstanceNorm(epsilon: 1e-5), ["batch", 3, 7], []),
        OperatorSample("lstm_cell", LSTMCell(), ["batch", 5], [2, "batch", 3], [12, 5], [12, 3], [12], [12]),
        OperatorSample("lstm_cell_no_bias", LSTMCell(), ["batch", 5], [2, "batch", 3], [12, 5], [12, 3]),
        OperatorSample("lstm", LSTM(), ["batch", 5, 12], [12, 3], [12]),
        OperatorSample("lstm_reverse", LSTM(reverses: true), ["batch", 5, 12], [12, 3]),
        OperatorSample("lstm_valid", LSTM(), ["batch", "sequence" + 4, 12], [12, 3], [12], ["batch"]),
        OperatorSample(
            "lstm_valid_reverse", LSTM(reverses: true), ["batch", "sequence" + 4, 12], [12, 3], [12], ["batch"]),
        OperatorSample("lstm_valid_one", LSTM(reverses: true), ["batch", 6, 12], [12, 3], []),
    ]

    /// Rows of codes with a scale each.
    private static let rows: [OperatorSample] = [
        OperatorSample("round_rows", RoundRows(), ["batch", "sequence", 7]),
        OperatorSample("round_rows_special", RoundRows()),
        OperatorSample("widen_rows", WidenRows(), ["batch", "sequence", 11]),
        OperatorSample("widen_rows_special", WidenRows()),
        OperatorSample(
            "attention_rows", Attention(scale: 0.5), ["batch", 4, "sequence", 5], ["batch", 2, 6, 9],
            ["batch", 2, 6, 11], ["sequence", 6]),
    ]

    private static let positions: [OperatorSample] = [
        OperatorSample("rope", Rope(), ["batch", 4, "sequence", 8], ["sequence", 4], ["sequence", 4]),
        OperatorSample(
            "rope_partial", Rope(), ["batch", 4, "sequence", 7], ["batch", 1, "sequence", 2],
            ["batch", 1, "sequence", 2]),
        OperatorSample(
            "update_slice", UpdateSlice(axis: 2), ["batch", "sequence", 6, 4], ["batch", "sequence", 2, 4], []),
        OperatorSample(
            "update_slice_rows", UpdateSlice(axis: 1), ["batch", 6, 4], ["batch", "sequence", 4], ["batch"]),
        OperatorSample("update_slice_integers", UpdateSlice(axis: 0), [5], ["batch"], [1]),
    ]
}

/// Whether two tensors are equal within `tolerance` times the largest finite magnitude; NaN equals NaN.
public func agree(_ found: HostTensor, _ expected: HostTensor, tolerance: Float) -> Bool {
    guard found.type == expected.type, case .float32(let wanted) = expected.elements else { return found == expected }
    let scale = wanted.filter(\.isFinite).map(abs).max() ?? 0
    return zip(found.floats, wanted).allSatisfy {
        $0 == $1 || ($0.isNaN && $1.isNaN) || abs($0 - $1) <= tolerance * scale
    }
}
