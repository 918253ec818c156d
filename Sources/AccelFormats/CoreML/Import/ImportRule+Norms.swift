import AccelPrograms
import AccelTensors

extension ImportRule {
    static let norms: [ImportRule] = [
        ImportRule(
            "layer_norm", reads: ["x", "axes", "gamma", "beta", "epsilon"],
            makes: [LayerNorm.self, Reshape.self, Transpose.self], layerNorm),
        ImportRule("instance_norm", reads: ["x", "gamma", "beta", "epsilon"], makes: [InstanceNorm.self]) { call in
            let x = try call.one("x")
            let sizes = try call.sizes(of: x)
            guard sizes.count >= 3, sizes[1] <= 1 << 24 else {
                throw MILCall.Problem(reason: "\(sizes) has no channels and positions")
            }
            let gain = call.has("gamma") ? try call.one("gamma") : try call.constants(1, count: sizes[1])
            let shift = call.has("beta") ? try call.one("beta") : try call.constants(0, count: sizes[1])
            return try call.apply(InstanceNorm(epsilon: call.number("epsilon", 1e-5)), [x, gain, shift])
        },
        ImportRule(
            "batch_norm", reads: ["x", "mean", "variance", "gamma", "beta", "epsilon"],
            makes: [Add.self, Multiply.self, Reshape.self, Rsqrt.self, Subtract.self]
        ) { call in
            let x = try call.one("x")
            let sizes = try call.sizes(of: x)
            guard sizes.count >= 3 else { throw MILCall.Problem(reason: "\(sizes) has no channels") }
            func channel(_ argument: MILArgument) throws -> MILArgument {
                try call.reshaped(argument, [sizes[1]] + sizes.dropFirst(2).map { _ in 1 })
            }
            let centred = try call.apply(Subtract(), [x, try channel(call.one("mean"))])
            let variance = try call.apply(
                Add(), [try channel(call.one("variance")), call.scalar(call.number("epsilon", 1e-5))])
            var y = try call.apply(Multiply(), [centred, try call.apply(Rsqrt(), [variance])])
            if call.has("gamma") { y = try call.apply(Multiply(), [y, try channel(call.one("gamma"))]) }
            return call.has("beta") ? try call.apply(Add(), [y, try channel(call.one("beta"))]) : y
        },
        // Over the last three axes, or all of fewer.
        ImportRule("l2_norm", reads: ["x", "epsilon"], makes: [Add.self, Multiply.self, Reduce.self, Rsqrt.self]) {
            call in
            let x = try call.one("x")
            let rank = try call.sizes(of: x).count
            let squares = try call.apply(Multiply(), [x, x])
            let sum = try call.apply(Reduce(.sum, axes: Array(max(rank - 3, 0)..<rank)), [squares])
            let shifted = try call.apply(Add(), [sum, call.scalar(call.number("epsilon", 1e-6))])
            return try call.apply(Multiply(), [x, try call.apply(Rsqrt(), [shifted])])
        },
    ]

    /// Layer norm over any axes: they are transposed to the end and flattened into one.
    @Sendable private static func layerNorm(_ call: inout MILCall) throws -> MILArgument {
        let x = try call.one("x")
        let sizes = try call.sizes(of: x)
        let rank = sizes.count
        let named = try call.integers("axes", [-1]).map { try call.axis($0, rank: rank) }
        guard !named.isEmpty, Set(named).count == named.count, named.allSatisfy({ sizes[$0] <= 1 << 24 }) else {
            throw MILCall.Problem(reason: "axes \(named)")
        }
        let axes = named.sorted()
        let order = (0..<rank).filter { !axes.contains($0) } + axes
        let permuted = order.map { sizes[$0] }
        let width = axes.reduce(1) { $0 * sizes[$1] }
        let flat = try call.reshaped(call.transposed(x, order), permuted.dropLast(axes.count) + [width])
        let gain =
            call.has("gamma") ? try call.reshaped(call.one("gamma"), [width]) : try call.constants(1, count: width)
        let shift = call.has("beta") ? [try call.reshaped(call.one("beta"), [width])] : []
        let norm = try call.apply(LayerNorm(epsilon: call.number("epsilon", 1e-5)), [flat, gain] + shift)
        let back = (0..<rank).compactMap(order.firstIndex(of:))
        return try call.transposed(call.reshaped(norm, permuted), back)
    }

    static let reductions: [ImportRule] =
        [
            reduction("reduce_sum", .sum), reduction("reduce_mean", .mean), reduction("reduce_max", .max),
            reduction("reduce_min", .max, [Negate.self], before: negation, after: negation),
            reduction("reduce_sum_square", .sum, [Multiply.self], before: square),
            reduction(
                "reduce_l2_norm", .sum, [Multiply.self, Sqrt.self], before: square,
                after: HostOperation.mapping("sqrt") { $0.squareRoot() }.becoming { try $0.apply(Sqrt(), $1) }),
            reduction(
                "reduce_l1_norm", .sum, [Maximum.self, Negate.self],
                before: HostOperation.mapping("abs") { abs($0) }.becoming { call, x in
                    try call.apply(Maximum(), [x[0], try call.apply(Negate(), x)])
                }),
            argument("reduce_argmax", sign: 1), argument("reduce_argmin", sign: -1),
            ImportRule(
                "cumsum", reads: ["x", "axis", "exclusive", "reverse"],
                makes: [Cast.self, CumulativeSum.self, Gather.self, Subtract.self, Transpose.self]
            ) { call in
                let x = try call.one("x")
                let axis = try call.axis(call.integer("axis", 0), rank: call.sizes(of: x).count)
                let (exclusive, reverse) = (try call.flag("exclusive", false), try call.flag("reverse", false))
                return try call.inFloats([x]) { call, x in
                    let start = reverse ? try call.reversed(x[0], axis) : x[0]
                    var sum = try call.apply(CumulativeSum(axis: axis), [start])
                    if exclusive { sum = try call.apply(Subtract(), [sum, start]) }
                    return reverse ? try call.reversed(sum, axis) : sum
                }
            },
        ]

    private static let negation = HostOperation.mapping("negate") { -$0 }.becoming { try $0.apply(Negate(), $1) }
    private static let square = HostOperation.mapping("square") { $0 * $0 }
        .becoming { try $0.apply(Multiply(), [$1[0], $1[0]]) }

    private static func reduction(
        _ name: String, _ kind: Reduce.Kind, _ operators: [any Operator.Type] = [], before: HostOperation? = nil,
        after: HostOperation? = nil
    ) -> ImportRule {
        ImportRule(name, reads: ["x", "axes", "keep_dims"], makes: operators + [Cast.self, Reduce.self]) { call in
            let x = try call.one("x")
            let rank = try call.sizes(of: x).count
            let axes = try call.integers("axes", Array(0..<rank)).map { try call.axis($0, rank: rank) }
            let reduce = Reduce(kind, axes: Set(axes).sorted(), keepsAxes: try call.flag("keep_dims", false))
            return try call.inFloats([x]) { call, x in
                let start = try before.map { try call.apply($0, x) } ?? x[0]
                let result = try call.apply(reduce, [start])
                return try after.map { try call.apply($0, [result]) } ?? result
            }
        }
    }

    private static func argument(_ name: String, sign: Double) -> ImportRule {
        ImportRule(name, reads: ["x", "axis", "keep_dims"], makes: [ArgMax.self, Cast.self, Multiply.self]) { call in
            var x = try call.one("x")
            let axis = try call.axis(call.integer("axis", -1), rank: call.sizes(of: x).count)
            if try !call.isFloat(x) { x = try call.apply(Cast(to: .float32), [x]) }
            if sign < 0 { x = try call.apply(Multiply(), [x, call.scalar(-1)]) }
            return try call.apply(ArgMax(axis: axis, keepsAxis: call.flag("keep_dims", false)), [x])
        }
    }
}

extension MILCall {
    /// - Throws: `Problem` for an implausible number of channels.
    func constants(_ number: Float, count: Int) throws -> MILArgument {
        guard count <= 1 << 24 else { throw Problem(reason: "\(count) channels") }
        return known(HostTensor([Float](repeating: number, count: count), [count]))
    }

    mutating func reversed(_ x: MILArgument, _ axis: Int) throws -> MILArgument {
        let sizes = try self.sizes(of: x)
        let reverse = HostOperation.picking("reverse \(axis)", to: sizes) { shape in
            shape.offsets(
                of: sizes.indices.map { index in
                    index == axis ? Array((0..<sizes[index]).reversed()) : Array(0..<sizes[index])
                })
        }.becoming { try $0.gathered($1[0], axis, Array((0..<sizes[axis]).reversed())) }
        return try apply(reverse, [x])
    }
}

extension Shape {
    /// Returns the row-major indices of the elements at all combinations of positions along the axes.
    func offsets(of positions: [[Int]]) -> [Int] {
        zip(positions, strides).reduce([0]) { starts, axis in
            starts.flatMap { start in axis.0.map { start + $0 * axis.1 } }
        }
    }
}
