import AccelPlatform
import AccelPrograms
import AccelTensors

extension ImportRule {
    static let unary: [ImportRule] =
        plain + functions + [
            ImportRule("identity", reads: ["x"], makes: [], movesOnly: true) { try $0.one("x") },
            ImportRule("gelu", reads: ["mode", "x"], makes: [Gelu.self]) { call in
                let kinds = ["EXACT": Gelu.Kind.erf, "TANH_APPROXIMATION": .tanh, "SIGMOID_APPROXIMATION": .quick]
                let mode = try call.word("mode", "EXACT")
                guard let kind = kinds[mode] else { throw MILCall.Problem(reason: "unknown mode \(mode)") }
                return try call.apply(Gelu(kind), [call.one("x")])
            },
            ImportRule("leaky_relu", reads: ["alpha", "x"], makes: [LeakyRelu.self]) { call in
                try call.apply(LeakyRelu(slope: call.number("alpha", 0.01)), [call.one("x")])
            },
            ImportRule("rsqrt", reads: ["x", "epsilon"], makes: [Add.self, Rsqrt.self]) { call in
                let shifted = try call.apply(Add(), [call.one("x"), call.scalar(call.number("epsilon", 1e-12))])
                return try call.apply(Rsqrt(), [shifted])
            },
            ImportRule("log", reads: ["x", "epsilon"], makes: [Add.self, Log.self]) { call in
                let shifted = try call.apply(Add(), [call.one("x"), call.scalar(call.number("epsilon", 1e-45))])
                return try call.apply(Log(), [shifted])
            },
            ImportRule("inverse", reads: ["x", "epsilon"], makes: [Add.self, Divide.self]) { call in
                let shifted = try call.apply(Add(), [call.one("x"), call.scalar(call.number("epsilon", 1e-4))])
                return try call.apply(Divide(), [call.scalar(1), shifted])
            },
            ImportRule("clip", reads: ["x", "alpha", "beta"], makes: [Maximum.self, Minimum.self]) { call in
                let low = try call.apply(Maximum(), [call.one("x"), call.scalar(call.number("alpha"))])
                return try call.apply(Minimum(), [low, call.scalar(call.number("beta"))])
            },
            ImportRule("elu", reads: ["alpha", "x"], makes: [Elu.self]) { call in
                try call.apply(Elu(alpha: call.number("alpha", 1)), [call.one("x")])
            },
            ImportRule("linear_activation", reads: ["x", "alpha", "beta"], makes: [Add.self, Multiply.self]) { call in
                let product = try call.apply(Multiply(), [call.one("x"), call.scalar(call.number("alpha"))])
                return try call.apply(Add(), [product, call.scalar(call.number("beta", 0))])
            },
            ImportRule(
                "sigmoid_hard", reads: ["x", "alpha", "beta"],
                makes: [Add.self, Maximum.self, Minimum.self, Multiply.self]
            ) { call in
                let product = try call.apply(Multiply(), [call.one("x"), call.scalar(call.number("alpha", 0.2))])
                let line = try call.apply(Add(), [product, call.scalar(call.number("beta", 0.5))])
                return try call.apply(Minimum(), [try call.apply(Maximum(), [line, call.scalar(0)]), call.scalar(1)])
            },
            ImportRule("softmax", reads: ["x", "axis"], makes: [Softmax.self, Transpose.self]) { call in
                let x = try call.one("x")
                let rank = try call.sizes(of: x).count
                var order = Array(0..<rank)
                order.swapAt(try call.axis(call.integer("axis", -1), rank: rank), rank - 1)
                let permuted = try call.transposed(x, order)
                return try call.transposed(call.apply(Softmax(), [permuted]), order)
            },
            ImportRule("cast", reads: ["x", "dtype"], makes: [Cast.self]) { call in
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

    private static func unary(_ name: String, _ operation: any Operator) -> ImportRule {
        ImportRule(name, reads: ["x"], makes: [type(of: operation)]) { try $0.apply(operation, [$0.one("x")]) }
    }

    private static let plain: [ImportRule] = [
        unary("relu", Relu()), unary("sigmoid", Sigmoid()), unary("tanh", Tanh()), unary("silu", Silu()),
        unary("erf", Erf()), unary("exp", Exp()), unary("sin", Sin()), unary("cos", Cos()), unary("sqrt", Sqrt()),
    ]

    private static func function(
        _ name: String, _ operators: [any Operator.Type], _ function: @escaping @Sendable (Double) -> Double,
        _ graph: @escaping @Sendable (inout MILCall, MILArgument) throws -> MILArgument
    ) -> ImportRule {
        ImportRule(name, reads: ["x"], makes: operators + [Cast.self]) { call in
            try call.inFloats([call.one("x")]) { call, x in
                try call.apply(HostOperation.mapping(name, function).becoming { try graph(&$0, $1[0]) }, x)
            }
        }
    }

    /// Elementwise functions without a registered operator; one that becomes an operator moves to `plain`.
    private static let functions: [ImportRule] = [
        function("abs", [Maximum.self, Negate.self], { abs($0) }) { try $0.magnitude($1) },
        function("square", [Multiply.self], { $0 * $0 }) { try $0.apply(Multiply(), [$1, $1]) },
        function("sign", [Compare.self, Select.self], { $0 > 0 ? 1 : $0 < 0 ? -1 : $0 }) { call, x in
            let below = try call.apply(Compare(.less), [x, call.scalar(0)])
            let above = try call.apply(Compare(.greater), [x, call.scalar(0)])
            let rest = try call.apply(Select(), [below, call.scalar(-1), x])
            return try call.apply(Select(), [above, call.scalar(1), rest])
        },
        function(
            "round", [Add.self, Compare.self, Floor.self, Modulo.self, Select.self, Subtract.self],
            { $0.rounded(.toNearestOrEven) }
        ) { call, x in
            // Rounds half up, then corrects to the even neighbour if the number is half-way and the result odd.
            let above = try call.apply(Floor(), [try call.apply(Add(), [x, call.scalar(0.5)])])
            let half = try call.apply(Subtract(), [above, x])
            let isHalf = try call.apply(Compare(.equal), [half, call.scalar(0.5)])
            let odd = try call.apply(Modulo(), [above, call.scalar(2)])
            return try call.apply(Select(), [isHalf, try call.apply(Subtract(), [above, odd]), above])
        },
        function("floor", [Floor.self], { $0.rounded(.down) }) { try $0.apply(Floor(), [$1]) },
        function("ceil", [Floor.self, Negate.self], { $0.rounded(.up) }) { call, x in
            let floor = try call.apply(Floor(), [try call.apply(Negate(), [x])])
            return try call.apply(Negate(), [floor])
        },
        function("tan", [Cos.self, Divide.self, Sin.self], { AccelPlatform.tan($0) }) { call, x in
            try call.apply(Divide(), [call.apply(Sin(), [x]), call.apply(Cos(), [x])])
        },
        function("sinh", [Exp.self, Multiply.self, Negate.self, Subtract.self], { AccelPlatform.sinh($0) }) { call, x in
            try call.apply(Multiply(), [try call.exponentials(x, Subtract()), call.scalar(0.5)])
        },
        function("cosh", [Add.self, Exp.self, Multiply.self, Negate.self], { AccelPlatform.cosh($0) }) { call, x in
            try call.apply(Multiply(), [try call.exponentials(x, Add()), call.scalar(0.5)])
        },
        function("asin", [Atan2.self, Multiply.self, Sqrt.self, Subtract.self], { AccelPlatform.asin($0) }) { call, x in
            try call.apply(Atan2(), [x, try call.legOfUnit(x)])
        },
        function("acos", [Atan2.self, Multiply.self, Sqrt.self, Subtract.self], { AccelPlatform.acos($0) }) { call, x in
            try call.apply(Atan2(), [try call.legOfUnit(x), x])
        },
        function("atan", [Atan2.self], { AccelPlatform.atan($0) }) { try $0.apply(Atan2(), [$1, $0.scalar(1)]) },
        function("exp2", [Exp.self, Multiply.self], { AccelPlatform.exp2($0) }) { call, x in
            try call.apply(Exp(), [try call.apply(Multiply(), [x, call.scalar(0.693_147_180_559_945_3)])])
        },
        function("relu6", [Minimum.self, Relu.self], { min(max($0, 0), 6) }) { call, x in
            try call.apply(Minimum(), [try call.apply(Relu(), [x]), call.scalar(6)])
        },
        function("softsign", [Add.self, Divide.self, Maximum.self, Negate.self], { $0 / (1 + abs($0)) }) { call, x in
            let size = try call.apply(Add(), [try call.magnitude(x), call.scalar(1)])
            return try call.apply(Divide(), [x, size])
        },
        function(
            "softplus", [Add.self, Exp.self, Log.self, Maximum.self, Negate.self, Relu.self],
            { max($0, 0) + log1p(AccelPlatform.exp(-abs($0))) }
        ) { call, x in
            let power = try call.apply(Exp(), [try call.apply(Negate(), [try call.magnitude(x)])])
            let rest = try call.apply(Log(), [try call.apply(Add(), [power, call.scalar(1)])])
            return try call.apply(Add(), [try call.apply(Relu(), [x]), rest])
        },
    ]

    private static func pair(
        _ name: String, _ operation: any Operator, whole: (any Operator)? = nil,
        _ integers: @escaping @Sendable (Int64, Int64) throws -> Int64
    ) -> ImportRule {
        // Integers are divided as floats, and rounded down.
        let parts: [any Operator.Type] = whole == nil ? [type(of: operation)] : [Divide.self, Floor.self]
        return ImportRule(name, reads: ["x", "y"], makes: parts + [Cast.self]) { call in
            let operands = [try call.one("x"), try call.one("y")]
            if try call.isFloat(operands[0]) { return try call.apply(operation, operands) }
            let inFloats = whole ?? operation
            // Exact up to 2^24, which covers positions and sizes.
            return try call.apply(
                HostOperation.zipping(name, integers).becoming { call, operands in
                    try call.inFloats(operands) { try $0.apply(inFloats, $1) }
                }, operands)
        }
    }

    static let binary: [ImportRule] = [
        pair("add", Add()) { $0 &+ $1 },
        pair("sub", Subtract()) { $0 &- $1 },
        pair("mul", Multiply()) { $0 &* $1 },
        pair("real_div", Divide(), whole: floorDivision) { try divided($0, $1) },
        pair("maximum", Maximum()) { max($0, $1) },
        pair("minimum", Minimum()) { min($0, $1) },
        pair("floor_div", floorDivision, whole: floorDivision) { try divided($0, $1) },
        pair("mod", Modulo()) { $0 &- (try divided($0, $1)) &* $1 },
        pair("pow", Power()) {
            Int64(clamping: Int(exactly: AccelPlatform.pow(Double($0), Double($1)).rounded()) ?? 0)
        },
    ]

    /// Divides and rounds down.
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
        }
    ).becoming { try $0.apply(Floor(), [try $0.apply(Divide(), $1)]) }

    private static func comparison(_ name: String, _ relation: Compare.Relation) -> ImportRule {
        ImportRule(name, reads: ["x", "y"], makes: [Cast.self, Compare.self]) { call in
            var operands = [try call.one("x"), try call.one("y")]
            if try call.type(of: operands[0]).elementType == .bool {
                operands = [
                    try call.apply(Cast(to: .int64), [operands[0]]), try call.apply(Cast(to: .int64), [operands[1]]),
                ]
            }
            return try call.apply(Compare(relation), operands)
        }
    }

    /// - Parameter numbers: the operator for numbers 0 and 1; a result other than zero is true.
    private static func connective(
        _ name: String, _ numbers: any Operator, _ function: @escaping @Sendable (Int64, Int64) -> Int64
    ) -> ImportRule {
        ImportRule(name, reads: ["x", "y"], makes: [Cast.self, type(of: numbers)]) { call in
            let operation = HostOperation.zipping(name, to: .bool, function).becoming { call, flags in
                let ones = try flags.map { try call.apply(Cast(to: .float32), [$0]) }
                return try call.apply(Cast(to: .bool), [try call.apply(numbers, ones)])
            }
            return try call.apply(operation, [call.one("x"), call.one("y")])
        }
    }

    static let logic: [ImportRule] = [
        comparison("equal", .equal), comparison("not_equal", .notEqual), comparison("less", .less),
        comparison("less_equal", .lessOrEqual), comparison("greater", .greater),
        comparison("greater_equal", .greaterOrEqual), connective("logical_and", Multiply()) { $0 & $1 },
        connective("logical_or", Maximum()) { $0 | $1 }, connective("logical_xor", Subtract()) { $0 ^ $1 },
        ImportRule("logical_not", reads: ["x"], makes: [Cast.self, Compare.self]) { call in
            let not = HostOperation("logical_not", type: { $0[0] }) { inputs in
                HostTensor(inputs[0].flags.map { !$0 }, inputs[0].shape)
            }.becoming { call, x in
                let ones = try call.apply(Cast(to: .float32), x)
                return try call.apply(Compare(.equal), [ones, call.scalar(0)])
            }
            return try call.apply(not, [call.one("x")])
        },
        ImportRule("select", reads: ["cond", "a", "b"], makes: [Cast.self, Select.self], movesOnly: true) { call in
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

extension MILCall {
    fileprivate mutating func magnitude(_ x: MILArgument) throws -> MILArgument {
        try apply(Maximum(), [x, try apply(Negate(), [x])])
    }

    /// Applies an operation to `e^x` and `e^-x`.
    fileprivate mutating func exponentials(_ x: MILArgument, _ operation: any Operator) throws -> MILArgument {
        let (up, down) = (try apply(Exp(), [x]), try apply(Exp(), [try apply(Negate(), [x])]))
        return try apply(operation, [up, down])
    }

    /// `sqrt(1 - x^2)`
    fileprivate mutating func legOfUnit(_ x: MILArgument) throws -> MILArgument {
        let square = try apply(Multiply(), [x, x])
        return try apply(Sqrt(), [try apply(Subtract(), [scalar(1), square])])
    }
}
