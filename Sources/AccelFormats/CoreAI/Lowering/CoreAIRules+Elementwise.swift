import AccelPrograms

extension CoreAIRules {
    static let elementwise: [CoreAIRule] = [
        CoreAIRule(Add.self, as: "add"),
        CoreAIRule(Subtract.self, as: "sub"),
        CoreAIRule(Multiply.self, as: "mul"),
        CoreAIRule(Divide.self, as: "divide"),
        CoreAIRule(Maximum.self, as: "maximum"),
        CoreAIRule(Minimum.self, as: "minimum"),
        CoreAIRule(Power.self, as: "pow", isPrecise: true),
        CoreAIRule(Erf.self, as: "erf"),
        CoreAIRule(Exp.self, as: "exp", isPrecise: true),
        CoreAIRule(Log.self, as: "log", isPrecise: true),
        CoreAIRule(Sin.self, as: "sin", isPrecise: true),
        CoreAIRule(Cos.self, as: "cos", isPrecise: true),
        CoreAIRule(Sqrt.self, as: "sqrt"),
        CoreAIRule(Rsqrt.self, as: "rsqrt", isPrecise: true),
        CoreAIRule(Tanh.self, as: "tanh"),
        CoreAIRule(Sigmoid.self) { _, call, builder in builder.sigmoid(call.inputs[0]) },
        CoreAIRule(Silu.self) { _, call, builder in builder.silu(call.inputs[0]) },
        CoreAIRule(Relu.self) { _, call, builder in builder.relu(call.inputs[0]) },
        CoreAIRule(Negate.self) { _, call, builder in builder.binary("mul", call.inputs[0], -1) },
        CoreAIRule(Copy.self) { _, call, _ in call.inputs[0] },
        CoreAIRule(Floor.self) { _, call, builder in builder.binary("floor_divide", call.inputs[0], 1) },
        CoreAIRule(Select.self) { _, call, builder in
            builder.selected(call.inputs[0], call.inputs[1], call.inputs[2])
        },
        CoreAIRule(Cast.self) { _, call, builder in builder.cast(call.inputs[0], to: call.element) },
        CoreAIRule(Gelu.self) { gelu, call, builder in
            guard gelu.kind != .quick else { return nil }
            return builder.apply(
                "primitive.gelu_v1", call.inputs, call.shape, property: .choice(.gelu, gelu.kind == .erf ? 0 : 1))
        },
        CoreAIRule(Modulo.self, isPrecise: { _ in true }) { _, call, builder in
            // The operation has the sign of x.
            let (x, y) = (call.inputs[0], call.inputs[1])
            let rest = builder.binary("modulo", x, y)
            let product = builder.binary("mul", rest, y)
            let isOpposite = builder.binary("greater", builder.number(0, [], x.element), product, .bool)
            return builder.selected(isOpposite, builder.binary("add", rest, y), rest)
        },
        CoreAIRule(Compare.self) { compare, call, builder in
            let (x, y) = (call.inputs[0], call.inputs[1])
            func either(_ name: String, _ x: CoreAIValue, _ y: CoreAIValue) -> CoreAIValue {
                builder.binary(
                    "logical_or", builder.binary(name, x, y, .bool), builder.binary("equal", x, y, .bool), .bool)
            }
            return switch compare.relation {
            case .equal: builder.binary("equal", x, y, .bool)
            case .notEqual: builder.binary("not_equal", x, y, .bool)
            case .less: builder.binary("greater", y, x, .bool)
            case .greater: builder.binary("greater", x, y, .bool)
            case .lessOrEqual: either("greater", y, x)
            case .greaterOrEqual: either("greater", x, y)
            }
        },
        CoreAIRule(Atan2.self, isPrecise: { _ in true }) { _, call, builder in
            angle(call.inputs[0], call.inputs[1], &builder)
        },
    ]

    /// Computes the angle of (y, x) from its half, whose tangent is `y / (r + x)`, or `(r - x) / y` for negative x; 0 at the
    /// origin.
    private static func angle(_ y: CoreAIValue, _ x: CoreAIValue, _ builder: inout CoreAIBuilder) -> CoreAIValue {
        let shape = CoreAIBuilder.broadcastShape([x.shape, y.shape])
        let zero = builder.broadcast(builder.number(0, [], x.element), to: shape)
        let (x, y) = (builder.broadcast(x, to: shape), builder.broadcast(y, to: shape))
        let squares = builder.binary("add", builder.binary("mul", x, x), builder.binary("mul", y, y))
        let radius = builder.unary("sqrt", squares)
        let right = builder.binary("divide", y, builder.binary("add", radius, x))
        let left = builder.binary("divide", builder.binary("sub", radius, x), y)
        let tangent = builder.selected(builder.binary("greater", zero, x, .bool), left, right)
        let safe = builder.selected(builder.binary("equal", radius, zero, .bool), zero, tangent)
        return builder.binary("mul", builder.unary("atan", safe), 2)
    }
}
