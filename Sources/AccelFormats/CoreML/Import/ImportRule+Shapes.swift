import AccelPrograms
import AccelTensors

extension ImportRule {
    static let shapes: [ImportRule] = [
        ImportRule("shape", reads: ["x"], makes: [], movesOnly: true) { call in
            let xSizes = try call.sizes(of: call.one("x"))
            return call.known(HostTensor(xSizes.map(Int64.init), [xSizes.count]))
        },
        ImportRule("reshape", reads: ["x", "shape"], makes: [Reshape.self], movesOnly: true) { call in
            let x = try call.one("x")
            let xSizes = try call.sizes(of: x)
            var wanted = try call.integers("shape")
            for axis in wanted.indices where wanted[axis] == 0 && axis < xSizes.count { wanted[axis] = xSizes[axis] }
            let known = wanted.filter { $0 != -1 }.reduce(1, { $0.multipliedReportingOverflow(by: $1).partialValue })
            if let free = wanted.firstIndex(of: -1), known > 0 { wanted[free] = xSizes.reduce(1, *) / known }
            guard wanted.allSatisfy({ $0 >= 0 }) else {
                throw MILCall.Problem(reason: "cannot make \(wanted) of \(xSizes)")
            }
            return try call.reshaped(x, wanted)
        },
        ImportRule("reshape_like", reads: ["x"], makes: [Reshape.self], since: .iOS17, movesOnly: true) { call in
            guard let wanted = call.declared[0] else { throw MILCall.Problem(reason: "has no known shape") }
            return try call.reshaped(call.one("x"), wanted)
        },
        ImportRule("transpose", reads: ["x", "perm"], makes: [Transpose.self], movesOnly: true) { call in
            let x = try call.one("x")
            let rank = try call.sizes(of: x).count
            return try call.transposed(x, call.integers("perm").map { try call.axis($0, rank: rank) })
        },
        ImportRule("expand_dims", reads: ["x", "axes"], makes: [Reshape.self], movesOnly: true) { call in
            let x = try call.one("x")
            var xSizes = try call.sizes(of: x)
            let axes = try call.integers("axes")
            let rank = xSizes.count + axes.count
            for axis in try axes.map({ try call.axis($0, rank: rank) }).sorted() {
                guard axis <= xSizes.count else { throw MILCall.Problem(reason: "there is no axis \(axis)") }
                xSizes.insert(1, at: axis)
            }
            return try call.reshaped(x, xSizes)
        },
        ImportRule("squeeze", reads: ["x", "axes"], makes: [Reshape.self], movesOnly: true) { call in
            let x = try call.one("x")
            let xSizes = try call.sizes(of: x)
            let all = xSizes.indices.filter { xSizes[$0] == 1 }
            let axes = Set(try call.integers("axes", all).map { try call.axis($0, rank: xSizes.count) })
            return try call.reshaped(x, xSizes.indices.filter { !axes.contains($0) }.map { xSizes[$0] })
        },
        ImportRule("concat", reads: ["values", "interleave", "axis"], makes: [Concat.self], movesOnly: true) { call in
            let values = try call.all("values")
            guard try !call.flag("interleave", false) else {
                throw MILCall.Problem(reason: "accelc does not interleave")
            }
            let axis = try call.axis(call.integer("axis"), rank: call.sizes(of: values[0]).count)
            var list = try call.apply(Concat(axis: axis), values)
            if try call.sizes(of: list).count == 1 { list.parts = try call.elements(of: values) }
            return list
        },
        ImportRule("stack", reads: ["values", "axis"], makes: [Concat.self, Reshape.self], movesOnly: true) { call in
            let values = try call.all("values")
            var xSizes = try call.sizes(of: values[0])
            let axis = try call.axis(call.integer("axis"), rank: xSizes.count + 1)
            xSizes.insert(1, at: axis)
            var parts: [MILArgument] = []
            for value in values { parts.append(try call.reshaped(value, xSizes)) }
            return try call.apply(Concat(axis: axis), parts)
        },
        ImportRule(
            names: "split", reads: ["x", "axis", "split_sizes", "num_splits"], makes: [Slice.self], movesOnly: true
        ) { call in
            let x = try call.one("x")
            let xSizes = try call.sizes(of: x)
            let axis = try call.axis(call.integer("axis"), rank: xSizes.count)
            var sizes = call.operation.outputs.map { _ in xSizes[axis] / max(call.operation.outputs.count, 1) }
            if call.has("split_sizes") { sizes = try call.integers("split_sizes") }
            guard sizes.count == call.operation.outputs.count,
                sizes.allSatisfy({ (0...xSizes[axis]).contains($0) }), sizes.reduce(0, { $0 &+ $1 }) == xSizes[axis]
            else {
                throw MILCall.Problem(reason: "sizes \(sizes) do not split the \(xSizes[axis]) of axis \(axis)")
            }
            var (parts, start): ([MILArgument], Int) = ([], 0)
            for size in sizes {
                var (begin, box) = (xSizes.map { _ in 0 }, xSizes)
                (begin[axis], box[axis]) = (start, size)
                parts.append(try call.sliced(x, begin: begin, sizes: box))
                start += size
            }
            return parts
        },
        ImportRule("pad", reads: ["x", "pad", "mode", "constant_val"], makes: [Cast.self, Pad.self], movesOnly: true) {
            call in
            let x = try call.one("x")
            let rank = try call.sizes(of: x).count
            let amounts = try call.integers("pad")
            guard amounts.count % 2 == 0, amounts.count <= 2 * rank else {
                throw MILCall.Problem(reason: "a padding of \(amounts) does not fit rank \(rank)")
            }
            let mode = try call.word("mode", "constant")
            guard let own = ["constant": Pad.Mode.constant, "reflect": .reflect, "replicate": .edge][mode] else {
                throw MILCall.Problem(reason: "unknown mode \(mode)")
            }
            // The amounts are for the last axes.
            let all = [Int](repeating: 0, count: 2 * rank - amounts.count) + amounts
            let pad = Pad(
                own, before: (0..<rank).map { .fixed(all[2 * $0]) }, after: (0..<rank).map { .fixed(all[2 * $0 + 1]) },
                value: try call.number("constant_val", 0))
            return try call.inFloats([x]) { try $0.apply(pad, $1) }
        },
        ImportRule("tile", reads: ["x", "reps"], makes: [Expand.self, Reshape.self], movesOnly: true) { call in
            let x = try call.one("x")
            let (xSizes, reps) = (try call.sizes(of: x), try call.integers("reps"))
            guard reps.count == xSizes.count,
                zip(xSizes, reps).allSatisfy({ (0...1 << 24).contains($1) && $0 * max($1, 1) < 1 << 48 })
            else {
                throw MILCall.Problem(reason: "repetitions \(reps) do not fit \(xSizes)")
            }
            return try call.apply(
                HostOperation.picking("tile \(reps)", to: zip(xSizes, reps).map { $0 * $1 }) { shape in
                    shape.offsets(
                        of: zip(xSizes, reps).map { axisSize, count in (0..<axisSize * count).map { $0 % axisSize } })
                }.becoming { try $0.tiled($1[0], reps) }, [x])
        },
        ImportRule("fill", reads: ["shape", "value"], makes: [], movesOnly: true) { call in
            try call.filled(call.integers("shape"), with: call.one("value"))
        },
        ImportRule("fill_like", reads: ["ref_tensor", "value"], makes: [], movesOnly: true) { call in
            try call.filled(call.sizes(of: call.one("ref_tensor")), with: call.one("value"))
        },
        ImportRule("range_1d", reads: ["start", "end", "step"], makes: []) { call in
            let (start, end, step) = (try call.known("start"), try call.known("end"), try call.known("step"))
            if start.elementType == .int64 {
                guard let by = step.integers.first, by != 0, let first = start.integers.first,
                    let last = end.integers.first,
                    abs(Double(last) - Double(first)) < 0x1p24
                else { throw MILCall.Problem(reason: "the range has no end") }
                let numbers = Array(stride(from: first, to: last, by: Int64.Stride(by)))
                return call.known(HostTensor(numbers, [numbers.count]))
            }
            guard let by = step.floats.first, by != 0, let first = start.floats.first, let last = end.floats.first,
                abs((last - first) / by) < 0x1p24
            else { throw MILCall.Problem(reason: "the range has no end") }
            let numbers = Array(stride(from: first, to: last, by: by))
            return call.known(HostTensor(numbers, [numbers.count]))
        },
        ImportRule("band_part", reads: ["x", "lower", "upper"], makes: [Select.self], movesOnly: true) { call in
            let x = try call.one("x")
            let (lower, upper) = (try call.integer("lower", -1), try call.integer("upper", -1))
            let band = HostOperation("band_part \(lower) \(upper)", type: { $0[0] }) { inputs in
                let xSizes = inputs[0].shape.dimensions
                guard let columns = xSizes.last, xSizes.count >= 2 else { throw OperatorError("no matrix") }
                let rows = xSizes[xSizes.count - 2]
                let outside = (0..<inputs[0].shape.count).filter { index in
                    let (row, column) = (index / columns % rows, index % columns)
                    return (lower >= 0 && row - column > lower) || (upper >= 0 && column - row > upper)
                }
                return inputs[0].replacing(
                    outside, by: HostTensor([Float](repeating: 0, count: outside.count), [outside.count]))
            }.becoming { call, x in
                guard let columns = try call.sizes(of: x[0]).last,
                    let rows = try call.sizes(of: x[0]).dropLast().last
                else { throw MILCall.Problem(reason: "no matrix") }
                let kept = (0..<rows).flatMap { row in
                    (0..<columns).map { (lower < 0 || row - $0 <= lower) && (upper < 0 || $0 - row <= upper) }
                }
                return try call.apply(
                    Select(), [call.known(HostTensor(kept, [rows, columns])), x[0], call.scalar(0)])
            }
            return try call.apply(band, [x])
        },
        ImportRule(
            "pixel_shuffle", reads: ["x", "upscale_factor"], makes: [Reshape.self, Transpose.self], movesOnly: true
        ) { call in
            let x = try call.one("x")
            let (xSizes, factor) = (try call.sizes(of: x), try call.integer("upscale_factor"))
            guard xSizes.count == 4, (1...1 << 12).contains(factor), xSizes.allSatisfy({ $0 < 1 << 32 }),
                xSizes[1] % (factor * factor) == 0
            else {
                throw MILCall.Problem(reason: "a factor of \(factor) does not fit \(xSizes)")
            }
            let channels = xSizes[1] / (factor * factor)
            let apart = try call.reshaped(x, [xSizes[0], channels, factor, factor, xSizes[2], xSizes[3]])
            return try call.reshaped(
                call.transposed(apart, [0, 1, 4, 2, 5, 3]),
                [xSizes[0], channels, xSizes[2] * factor, xSizes[3] * factor])
        },
    ]

    static let states: [ImportRule] = [
        ImportRule("read_state", reads: ["input"], makes: [], since: .iOS18, movesOnly: true) { call in
            let (name, value) = try call.state("input")
            _ = name
            return MILArgument(type: call.resultType, content: .computed(value))
        },
        ImportRule(names: "write_state", reads: ["input", "data"], makes: [], since: .iOS18, movesOnly: true) { call in
            let (name, _) = try call.state("input")
            let data = try call.one("data")
            call.states[name] = try call.value(data)
            return []
        },
    ]
}

extension MILCall {
    /// Returns the state that a parameter names, with its current value.
    func state(_ parameter: String) throws -> (name: String, value: Value) {
        guard case .state(let name) = try one(parameter).content, let value = states[name] else {
            throw Problem(reason: "\(parameter) is no state")
        }
        return (name, value)
    }

    func filled(_ sizes: [Int], with value: MILArgument) throws -> MILArgument {
        guard case .known(let number) = value.content, number.shape.count == 1,
            let count = Shape(sizes).checkedCount, count <= 1 << 24
        else { throw Problem(reason: "cannot fill \(sizes) with something that is no known number") }
        return known(number.picking([Int](repeating: 0, count: count), Shape(sizes)))
    }

    mutating func sliced(_ x: MILArgument, begin: [Int], sizes: [Int]) throws -> MILArgument {
        try apply(Slice(begin: begin.map(Dimension.fixed), sizes: sizes.map(Dimension.fixed)), [x])
    }
}
