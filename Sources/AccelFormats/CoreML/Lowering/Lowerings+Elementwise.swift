import AccelPrograms

extension Lowerings {
    static let elementwise: [Lowering] = [
        Lowering(Add.self, as: "add", ["x", "y"]),
        Lowering(Subtract.self, as: "sub", ["x", "y"]),
        Lowering(Multiply.self, as: "mul", ["x", "y"]),
        Lowering(Divide.self, as: "real_div", ["x", "y"]),
        Lowering(Maximum.self, as: "maximum", ["x", "y"]),
        Lowering(Minimum.self, as: "minimum", ["x", "y"]),
        Lowering(Modulo.self, as: "mod", ["x", "y"], isPrecise: true),
        Lowering(Power.self, as: "pow", ["x", "y"], isPrecise: true),
        Lowering(Erf.self, as: "erf"),
        Lowering(Exp.self, as: "exp", isPrecise: true),
        Lowering(Floor.self, as: "floor"),
        Lowering(Sin.self, as: "sin", isPrecise: true),
        Lowering(Cos.self, as: "cos", isPrecise: true),
        Lowering(Sqrt.self, as: "sqrt"),
        Lowering(Tanh.self, as: "tanh"),
        Lowering(Sigmoid.self, as: "sigmoid"),
        Lowering(Relu.self, as: "relu"),
        Lowering(Silu.self, as: "silu"),
        Lowering(Copy.self, as: "identity"),
        Lowering(Select.self, selected),
        // The default epsilon of these operations is not 0.
        Lowering(Log.self, isPrecise: { _ in true }) { _, x, builder in
            builder.result("log", ["x": .operand(x[0]), "epsilon": builder.number(0)])
        },
        Lowering(Rsqrt.self, isPrecise: { _ in true }) { _, x, builder in
            builder.result("rsqrt", ["x": .operand(x[0]), "epsilon": builder.number(0)])
        },
        Lowering(Negate.self) { _, x, builder in
            builder.result("mul", ["x": .operand(x[0]), "y": builder.number(-1)])
        },
        Lowering(LeakyRelu.self) { relu, x, builder in
            builder.result("leaky_relu", ["x": .operand(x[0]), "alpha": builder.number(relu.slope)])
        },
        Lowering(Elu.self) { elu, x, builder in
            builder.result("elu", ["x": .operand(x[0]), "alpha": builder.number(elu.alpha)])
        },
        Lowering(Gelu.self) { gelu, x, builder in
            if gelu.kind == .quick {
                let gate = builder.step("mul", ["x": .operand(x[0]), "y": builder.number(1.702)], x[0].sizes)
                let open = builder.step("sigmoid", ["x": .operand(gate)], x[0].sizes)
                return builder.result("mul", ["x": .operand(x[0]), "y": .operand(open)])
            }
            let mode = gelu.kind == .erf ? "EXACT" : "TANH_APPROXIMATION"
            return builder.result("gelu", ["x": .operand(x[0]), "mode": .value(MILValue(mode))])
        },
        Lowering(Compare.self) { compare, x, builder in
            let operation =
                switch compare.relation {
                case .equal: "equal"
                case .notEqual: "not_equal"
                case .less: "less"
                case .lessOrEqual: "less_equal"
                case .greater: "greater"
                case .greaterOrEqual: "greater_equal"
                }
            return builder.result(operation, ["x": .operand(x[0]), "y": .operand(x[1])])
        },
        Lowering(Cast.self) { _, x, builder in
            if x[0].type.dataType == builder.resultType { return builder.result("identity", ["x": .operand(x[0])]) }
            return builder.cast(x[0], to: builder.resultType)
        },
        Lowering(Atan2.self, isPrecise: { _ in true }, angle),
    ]

    /// coremltools derives the result's shape from `a` and `b` alone, so one of them must have it.
    @Sendable private static func selected(
        _: Select, _ inputs: [MILOperand], _ builder: inout MILBuilder
    ) -> MILOperand {
        let sizes = builder.resultSizes
        var a = inputs[1]
        if a.sizes != sizes, inputs[2].sizes != sizes {
            let flags = builder.cast(inputs[0], to: builder.floatType)
            let zeros = builder.step("mul", ["x": .operand(flags), "y": builder.number(0)], flags.sizes)
            a = builder.step("add", ["x": .operand(zeros), "y": .operand(a)], sizes)
        }
        return builder.result("select", ["cond": .operand(inputs[0]), "a": .operand(a), "b": .operand(inputs[2])])
    }

    /// Computes the angle of (y, x) from its half, whose tangent is `y / (r + x)`, or `(r - x) / y` for negative x; 0 at the
    /// origin.
    @Sendable private static func angle(
        _: Atan2, _ inputs: [MILOperand], _ builder: inout MILBuilder
    ) -> MILOperand {
        let sizes = builder.resultSizes
        // Both operands get the result's shape, so that each step has it.
        let zeros = builder.step(
            "mul",
            [
                "x": .operand(builder.step("add", ["x": .operand(inputs[0]), "y": .operand(inputs[1])], sizes)),
                "y": builder.number(0),
            ], sizes)
        func step(
            _ type: String, _ left: MILOperand, _ right: MILParameter, _ result: MILDataType? = nil
        ) -> MILOperand {
            builder.step(type, ["x": .operand(left), "y": right], sizes, result)
        }
        let (y, x) = (step("add", zeros, .operand(inputs[0])), step("add", zeros, .operand(inputs[1])))
        let squares = step("add", step("mul", x, .operand(x)), .operand(step("mul", y, .operand(y))))
        let radius = builder.step("sqrt", ["x": .operand(squares)], sizes)
        let right = step("real_div", y, .operand(step("add", radius, .operand(x))))
        let left = step("real_div", step("sub", radius, .operand(x)), .operand(y))
        let isLeft = step("less", x, builder.number(0), .bool)
        let tangent = builder.step(
            "select", ["cond": .operand(isLeft), "a": .operand(left), "b": .operand(right)], sizes)
        let isOrigin = step("equal", radius, builder.number(0), .bool)
        let safe = builder.step(
            "select", ["cond": .operand(isOrigin), "a": .operand(zeros), "b": .operand(tangent)], sizes)
        let half = builder.step("atan", ["x": .operand(safe)], sizes)
        return builder.result("mul", ["x": .operand(half), "y": builder.number(2)])
    }
}
