import AccelPlatform
import AccelPrograms
import AccelTensors

extension MILMeaning {
    static let unary: [MILMeaning] =
        plain + functions + [
            MILMeaning("identity", movesOnly: true) { try $0.one("x") },
            MILMeaning("gelu") { call in
                let kinds = ["EXACT": Gelu.Kind.erf, "TANH_APPROXIMATION": .tanh, "SIGMOID_APPROXIMATION": .quick]
                let mode = try call.word("mode", "EXACT")
                guard let kind = kinds[mode] else { throw MILCall.Problem(reason: "unknown mode \(mode)") }
                return try call.apply(Gelu(kind), [call.one("x")])
            },
            MILMeaning("leaky_relu") { call in
                try call.apply(LeakyRelu(slope: call.number("alpha", 0.01)), [call.one("x")])
            },
            MILMeaning("rsqrt") { call in
                let shifted = try call.apply(Add(), [call.one("x"), call.scalar(call.number("epsilon", 1e-12))])
                return try call.apply(Rsqrt(), [shifted])
            },
            MILMeaning("log") { call in
                let shifted = try call.apply(Add(), [call.one("x"), call.scalar(call.number("epsilon", 1e-45))])
                return try call.apply(Log(), [shifted])
            },
            MILMeaning("inverse") { call in
                let shifted = try call.apply(Add(), [call.one("x"), call.scalar(call.number("epsilon", 1e-4))])
                return try call.apply(Divide(), [call.scalar(1), shifted])
            },
            MILMeaning("clip") { call in
                let low = try call.apply(Maximum(), [call.one("x"), call.scalar(call.number("alpha"))])
                return try call.apply(Minimum(), [low, call.scalar(call.number("beta"))])
            },
            MILMeaning("elu") { call in
                try call.apply(Elu(alpha: call.number("alpha", 1)), [call.one("x")])
            },
            MILMeaning("linear_activation") { call in
                let product = try call.apply(Multiply(), [call.one("x"), call.scalar(call.number("alpha"))])
                return try call.apply(Add(), [product, call.scalar(call.number("beta", 0))])
            },
            MILMeaning("sigmoid_hard") { call in
                let product = try call.apply(Multiply(), [call.one("x"), call.scalar(call.number("alpha", 0.2))])
                let line = try call.apply(Add(), [product, call.scalar(call.number("beta", 0.5))])
                return try call.apply(Minimum(), [try call.apply(Maximum(), [line, call.scalar(0)]), call.scalar(1)])
            },
            MILMeaning("softmax") { call in
                let x = try call.one("x")
                let rank = try call.extents(of: x).count
                var order = Array(0..<rank)
                order.swapAt(try call.axis(call.integer("axis", -1), rank: rank), rank - 1)
                let turned = try call.transposed(x, order)
                return try call.transposed(call.apply(Softmax(), [turned]), order)
            },
            MILMeaning("cast") { call in
                let x = try call.one("x")
                let word = try call.word("dtype")
                switch word {
                case "fp16", "fp32": return try call.apply(Cast(to: .float32), [x])
                case "bool": return try call.apply(Cast(to: .bool), [x])
                case "int32", "int16", "int8", "uint16", "uint8", "int64": return try call.apply(Cast(to: .int64), [x])
                default: throw MILCall.Problem(reason: "accelc does not cast to \(word)")
                }
            },
        ]

    private static func unary(_ name: String, _ operation: any Operator) -> MILMeaning {
        MILMeaning(name) { try $0.apply(operation, [$0.one("x")]) }
    }

    private static let plain: [MILMeaning] = [
        unary("relu", Relu()), unary("sigmoid", Sigmoid()), unary("tanh", Tanh()), unary("silu", Silu()),
        unary("erf", Erf()), unary("exp", Exp()), unary("sin", Sin()), unary("cos", Cos()), unary("sqrt", Sqrt()),
    ]

    private static func function(_ name: String, _ function: @escaping @Sendable (Double) -> Double) -> MILMeaning {
        MILMeaning(name) { call in
            try call.inFloats([call.one("x")]) { try $0.apply(HostOperation.mapping(name, function), $1) }
        }
    }

    /// Functions that programs of our own have not.
    private static let functions: [MILMeaning] = [
        function("abs") { abs($0) },
        function("square") { $0 * $0 },
        function("sign") { $0 > 0 ? 1 : $0 < 0 ? -1 : $0 },
        function("round") { $0.rounded(.toNearestOrEven) },
        function("floor") { $0.rounded(.down) },
        function("ceil") { $0.rounded(.up) },
        function("tan") { AccelPlatform.tan($0) },
        function("sinh") { AccelPlatform.sinh($0) },
        function("cosh") { AccelPlatform.cosh($0) },
        function("asin") { AccelPlatform.asin($0) },
        function("acos") { AccelPlatform.acos($0) },
        function("atan") { AccelPlatform.atan($0) },
        function("exp2") { AccelPlatform.exp2($0) },
        function("relu6") { min(max($0, 0), 6) },
        function("softsign") { $0 / (1 + abs($0)) },
        function("softplus") { max($0, 0) + log1p(AccelPlatform.exp(-abs($0))) },
    ]

    private static func pair(
        _ name: String, _ operation: any Operator, _ integers: @escaping @Sendable (Int64, Int64) throws -> Int64
    ) -> MILMeaning {
        MILMeaning(name) { call in
            let operands = [try call.one("x"), try call.one("y")]
            let isFloat = try call.isFloat(operands[0])
            return try call.apply(isFloat ? operation : HostOperation.zipping(name, integers), operands)
        }
    }

    static let binary: [MILMeaning] = [
        pair("add", Add()) { $0 &+ $1 },
        pair("sub", Subtract()) { $0 &- $1 },
        pair("mul", Multiply()) { $0 &* $1 },
        pair("real_div", Divide()) { try divided($0, $1) },
        pair("maximum", Maximum()) { max($0, $1) },
        pair("minimum", Minimum()) { min($0, $1) },
        pair("floor_div", floorDivision) { try divided($0, $1) },
        pair("mod", Modulo()) { $0 &- (try divided($0, $1)) &* $1 },
        pair("pow", Power()) {
            Int64(clamping: Int(exactly: AccelPlatform.pow(Double($0), Double($1)).rounded()) ?? 0)
        },
    ]

    /// Rounded down.
    @Sendable private static func divided(_ x: Int64, _ y: Int64) throws -> Int64 {
        guard y != 0, y != -1 || x != .min else { throw OperatorError("\(x) cannot be divided by \(y)") }
        let quotient = x / y
        return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient
    }

    private static let floorDivision = HostOperation(
        "floor_div", type: { try Divide().outputTypes($0)[0] },
        { inputs in
            let shape = try broadcastShape(inputs)
            let (x, y) = (
                try inputs[0].expanded(toShape: shape).floats, try inputs[1].expanded(toShape: shape).floats
            )
            return HostTensor(zip(x, y).map { Float((Double($0) / Double($1)).rounded(.down)) }, shape)
        })

    private static func comparison(_ name: String, _ relation: Compare.Relation) -> MILMeaning {
        MILMeaning(name) { call in
            var operands = [try call.one("x"), try call.one("y")]
            if try call.type(of: operands[0]).elementType == .bool {
                operands = [
                    try call.apply(Cast(to: .int64), [operands[0]]), try call.apply(Cast(to: .int64), [operands[1]]),
                ]
            }
            return try call.apply(Compare(relation), operands)
        }
    }

    private static func connective(
        _ name: String, _ function: @escaping @Sendable (Int64, Int64) -> Int64
    ) -> MILMeaning {
        MILMeaning(name) { call in
            try call.apply(HostOperation.zipping(name, to: .bool, function), [call.one("x"), call.one("y")])
        }
    }

    static let logic: [MILMeaning] = [
        comparison("equal", .equal), comparison("not_equal", .notEqual), comparison("less", .less),
        comparison("less_equal", .lessOrEqual), comparison("greater", .greater),
        comparison("greater_equal", .greaterOrEqual), connective("logical_and") { $0 & $1 },
        connective("logical_or") { $0 | $1 }, connective("logical_xor") { $0 ^ $1 },
        MILMeaning("logical_not") { call in
            let not = HostOperation("logical_not", type: { $0[0] }) { inputs in
                HostTensor(inputs[0].flags.map { !$0 }, inputs[0].shape)
            }
            return try call.apply(not, [call.one("x")])
        },
        MILMeaning("select", movesOnly: true) { call in
            var condition = try call.one("cond")
            if try call.type(of: condition).elementType != .bool {
                condition = try call.apply(Cast(to: .bool), [condition])
            }
            return try call.inFloats([call.one("a"), call.one("b")]) {
                try $0.apply(Select(), [condition] + $1)
            }
        },
    ]
}
