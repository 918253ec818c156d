import AccelPrograms
import AccelTensors

extension ImportRule {
    static let products: [ImportRule] = [
        ImportRule("linear", reads: ["bias", "x", "weight"], makes: [Linear.self]) { call in
            let bias = call.has("bias") ? [try call.one("bias")] : []
            return try call.apply(Linear(), [call.one("x"), call.one("weight")] + bias)
        },
        ImportRule("matmul", reads: ["x", "y", "transpose_x", "transpose_y"], makes: [MatMul.self, Transpose.self]) {
            call in
            func operand(_ name: String, _ flag: String) throws -> MILArgument {
                let x = try call.one(name)
                guard try call.flag(flag, false) else { return x }
                let rank = try call.sizes(of: x).count
                guard rank >= 2 else { throw MILCall.Problem(reason: "\(name) is no matrix") }
                return try call.transposed(x, Array(0..<rank - 2) + [rank - 1, rank - 2])
            }
            return try call.apply(MatMul(), [operand("x", "transpose_x"), operand("y", "transpose_y")])
        },
        ImportRule("einsum", reads: ["values", "equation"], makes: [MatMul.self, Reshape.self, Transpose.self]) {
            call in
            let operands = try call.all("values")
            guard operands.count == 2 else { throw MILCall.Problem(reason: "expected 2 values") }
            return try Einsum(call.word("equation")).apply(operands[0], operands[1], in: &call)
        },
        ImportRule(
            "conv", reads: ["x", "weight", "bias", "groups", "strides", "dilations", "pad_type", "pad"],
            makes: [Conv.self]
        ) { call in
            let (x, weight) = (try call.one("x"), try call.one("weight"))
            let window = try window(call, x, kernel: call.sizes(of: weight), isTransposed: false)
            let bias = call.has("bias") ? [try call.one("bias")] : []
            return try call.apply(Conv(window, groups: call.integer("groups", 1)), [x, weight] + bias)
        },
        ImportRule(
            "conv_transpose",
            reads: ["x", "weight", "output_shape", "groups", "bias", "strides", "dilations", "pad_type", "pad"],
            makes: [ConvTranspose.self]
        ) { call in
            let (x, weight) = (try call.one("x"), try call.one("weight"))
            var window = try window(call, x, kernel: call.sizes(of: weight), isTransposed: true)
            var extra = window.strides.map { _ in 0 }
            let sizes = try call.sizes(of: x)
            if let wanted = try call.has("output_shape") ? call.integers("output_shape") : call.declared[0] {
                guard wanted.count == sizes.count, wanted.allSatisfy({ (0...1 << 48).contains($0) }) else {
                    throw MILCall.Problem(reason: "output_shape has another rank")
                }
                let groups = try call.integer("groups", 1)
                let types = try [x, weight].map { try call.type(of: $0) }
                let plain = try ConvTranspose(window, groups: groups).outputTypes(types)[0].shape?.dimensions ?? []
                for axis in extra.indices where plain.count == wanted.count {
                    let missing = wanted[axis + 2] - plain[axis + 2]
                    if missing > 0 { extra[axis] = missing } else { window.after[axis] -= missing }
                }
            }
            let bias = call.has("bias") ? [try call.one("bias")] : []
            let operation = ConvTranspose(window, outputPadding: extra, groups: try call.integer("groups", 1))
            return try call.apply(operation, [x, weight] + bias)
        },
        ImportRule(
            "scaled_dot_product_attention", reads: ["query", "key", "value", "attn_mask"],
            makes: [Attention.self, Expand.self, Reshape.self, Select.self], since: .iOS18, attention),
    ]

    /// Returns strides, dilations and padding of a convolution.
    private static func window(
        _ call: MILCall, _ x: MILArgument, kernel: [Int], isTransposed: Bool
    ) throws -> Window {
        let sizes = try call.sizes(of: x)
        guard sizes.count >= 3, sizes.count == kernel.count else {
            throw MILCall.Problem(reason: "a kernel \(kernel) does not slide over \(sizes)")
        }
        let ones = sizes.dropFirst(2).map { _ in 1 }
        let (strides, dilations) = (try call.integers("strides", ones), try call.integers("dilations", ones))
        guard (strides + dilations).allSatisfy({ (1...1 << 20).contains($0) }), strides.count == ones.count,
            dilations.count == ones.count, kernel.allSatisfy({ (0...1 << 20).contains($0) })
        else { throw MILCall.Problem(reason: "strides \(strides) and dilations \(dilations) do not fit \(sizes)") }
        var (before, after) = (ones.map { _ in 0 }, ones.map { _ in 0 })
        let type = try call.word("pad_type", "valid")
        for axis in ones.indices {
            let span = (kernel[axis + 2] - 1) * dilations[axis] + 1
            switch type {
            case "valid": break
            case "custom":
                let pad = try call.integers("pad", ones.flatMap { _ in [0, 0] })
                guard pad.count == 2 * ones.count, pad.allSatisfy({ (0...1 << 20).contains($0) }) else {
                    throw MILCall.Problem(reason: "a padding of \(pad) does not fit \(sizes)")
                }
                (before[axis], after[axis]) = (pad[2 * axis], pad[2 * axis + 1])
            case "same", "same_lower":
                let size = sizes[axis + 2]
                let total =
                    isTransposed
                    ? max(span - strides[axis], 0)
                    : max(((size + strides[axis] - 1) / strides[axis] - 1) * strides[axis] + span - size, 0)
                before[axis] = type == "same" ? total / 2 : total - total / 2
                after[axis] = total - before[axis]
            default: throw MILCall.Problem(reason: "unknown pad_type \(type)")
            }
        }
        return Window(strides: strides, dilations: dilations, before: before, after: after)
    }

    /// `softmax(query key^T / sqrt(width) + mask) value`; all axes before the last two are batches.
    @Sendable private static func attention(_ call: inout MILCall) throws -> MILArgument {
        let (query, key, value) = (try call.one("query"), try call.one("key"), try call.one("value"))
        let (q, k, v) = (try call.sizes(of: query), try call.sizes(of: key), try call.sizes(of: value))
        guard q.count >= 3, k.count == q.count, v.count == q.count, let width = q.last, width > 0 else {
            throw MILCall.Problem(reason: "\(q), \(k) and \(v) are no queries, keys and values")
        }
        let batches = q.dropLast(2).reduce(1, *)
        func flat(_ argument: MILArgument, _ sizes: [Int]) throws -> MILArgument {
            let lead = Array(q.dropLast(2)) + sizes.suffix(2)
            let wide = sizes == lead ? argument : try call.apply(Expand(to: lead.map(Dimension.fixed)), [argument])
            return try call.reshaped(wide, [batches, 1] + sizes.suffix(2))
        }
        var operands = [try flat(query, q), try flat(key, k), try flat(value, v)]
        if call.has("attn_mask") {
            var mask = try call.one("attn_mask")
            if try call.type(of: mask).elementType == .bool {
                mask = try call.apply(Select(), [mask, call.scalar(0), call.scalar(-.infinity)])
            }
            let scores = Array(q.dropLast()) + [k[k.count - 2]]
            let wide = try call.apply(Expand(to: scores.map(Dimension.fixed)), [mask])
            operands.append(try call.reshaped(wide, [batches, 1] + scores.suffix(2)))
        }
        let result = try call.apply(Attention(scale: 1 / Double(width).squareRoot()), operands)
        return try call.reshaped(result, Array(q.dropLast()) + [v[v.count - 1]])
    }
}

/// A product of two tensors by Einstein's convention, e.g. `bchq,bkhc->bkhq`: letters of both and not of the result are
/// summed over.
struct Einsum {
    private let left: [Character]
    private let right: [Character]
    private let result: [Character]

    init(_ equation: String) throws {
        let sides = equation.filter { $0 != " " }.split(separator: ">", omittingEmptySubsequences: false)
        let inputs = sides[0].dropLast().split(separator: ",", omittingEmptySubsequences: false).map(Array.init)
        guard sides.count == 2, sides[0].hasSuffix("-"), inputs.count == 2 else {
            throw MILCall.Problem(reason: "\"\(equation)\" is no equation of two values")
        }
        (left, right, result) = (inputs[0], inputs[1], Array(sides[1]))
        let known = Set(left).union(right)
        guard [left, right, result].allSatisfy({ Set($0).count == $0.count && $0.allSatisfy(\.isLetter) }),
            result.allSatisfy(known.contains),
            known.allSatisfy({ result.contains($0) || (left.contains($0) && right.contains($0)) })
        else { throw MILCall.Problem(reason: "accelc does not compute \"\(equation)\"") }
    }

    func apply(_ x: MILArgument, _ y: MILArgument, in call: inout MILCall) throws -> MILArgument {
        let (a, b) = (try call.sizes(of: x), try call.sizes(of: y))
        guard a.count == left.count, b.count == right.count else {
            throw MILCall.Problem(reason: "the equation does not fit \(a) and \(b)")
        }
        let sizes = Dictionary(zip(left + right, a + b)) { max($0, $1) }
        guard zip(left + right, a + b).allSatisfy({ sizes[$0] == $1 }) else {
            throw MILCall.Problem(reason: "the sizes of \(a) and \(b) differ where letters do not")
        }
        let batch = result.filter { left.contains($0) && right.contains($0) }
        let rows = result.filter { !right.contains($0) }
        let columns = result.filter { !left.contains($0) }
        let sums = left.filter { !result.contains($0) }
        func count(_ letters: [Character]) -> Int { letters.reduce(1) { $0 * (sizes[$1] ?? 1) } }
        func matrices(
            _ argument: MILArgument, _ own: [Character], _ outer: [Character], _ inner: [Character]
        ) throws -> MILArgument {
            let order = (batch + outer + inner).compactMap(own.firstIndex(of:))
            return try call.reshaped(call.transposed(argument, order), [count(batch), count(outer), count(inner)])
        }
        let product = try call.apply(
            MatMul(), [try matrices(x, left, rows, sums), try matrices(y, right, sums, columns)])
        let letters = batch + rows + columns
        let apart = try call.reshaped(product, letters.map { sizes[$0] ?? 1 })
        return try call.transposed(apart, result.compactMap(letters.firstIndex(of:)))
    }
}
