import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Laws of the executor over all operators")
struct ExecutorLawTests {
    private func check(_ program: SmallProgram, _ comment: Comment? = nil) throws {
        let (found, expected) = (try program.run(), try program.reference())
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) {
            #expect(agree(found, expected, tolerance: 1e-6), comment ?? "expected \(expected), found \(found)")
        }
    }

    @Test("an operator on inputs gives its reference meaning", arguments: OperatorSample.all)
    func inputs(sample: OperatorSample) throws {
        let arguments = try sample.portInputs()
        try check(
            SmallProgram { maker in
                try sample.applied(to: arguments.map { maker.input($0) }, in: &maker.builder)
            })
    }

    @Test("an operator on weights gives its reference meaning", arguments: OperatorSample.all)
    func weights(sample: OperatorSample) throws {
        let arguments = try sample.portInputs()
        for position in arguments.indices where arguments[position].floats.allSatisfy(\.isFinite) {
            try check(
                SmallProgram { maker in
                    let values = arguments.enumerated().map { index, tensor in
                        index == position ? maker.weight(tensor) : maker.input(tensor)
                    }
                    return try sample.applied(to: values, in: &maker.builder)
                }, "weight \(position)")
        }
    }

    @Test("an operator on values in the arena that others have made", arguments: OperatorSample.all)
    func arena(sample: OperatorSample) throws {
        let arguments = try sample.portInputs()
        try check(
            SmallProgram { maker in
                let values = try arguments.map { tensor in
                    let value = maker.input(tensor)
                    return tensor.elementType == .float32 ? try maker.builder.apply(Negate(), [value]) : value
                }
                let back = try zip(arguments, values).map { tensor, value in
                    tensor.elementType == .float32 ? try maker.builder.apply(Negate(), [value]) : value
                }
                return try sample.applied(to: back, in: &maker.builder)
            })
    }

    @Test("an operator between transposes, which only change layouts", arguments: OperatorSample.all)
    func transposed(sample: OperatorSample) throws {
        let arguments = try sample.portInputs()
        for position in arguments.indices where arguments[position].shape.rank > 1 {
            let rank = arguments[position].shape.rank
            for order in [Array((0..<rank).reversed()), [0] + (1..<rank).reversed()] where rank > 2 || order[0] != 0 {
                // Both orders are their own inverse.
                let turned = try Transpose(order).evaluate([arguments[position]])[0]
                try check(
                    SmallProgram { maker in
                        var values: [Value] = []
                        for (index, tensor) in arguments.enumerated() {
                            let value = maker.input(index == position ? turned : tensor)
                            values.append(
                                index == position ? try maker.builder.apply(Transpose(order), [value]) : value)
                        }
                        return try sample.applied(to: values, in: &maker.builder).map { result in
                            let rank = maker.builder.type(of: result).rank
                            guard rank > 1 else { return result }
                            return try maker.builder.apply(Transpose(Array((0..<rank).reversed())), [result])
                        }
                    }, "input \(position) in the order \(order)")
            }
        }
    }

    @Test("every operator has a kernel, and every kernel is of an operator")
    func everyOperatorHasAKernel() {
        let covered = Set(Kernels.all.flatMap { kernel in kernel.operators.map { $0.name } })
        let known = Operators.all.map { $0.name }
        #expect(known.filter { !covered.contains($0) } == [])
        #expect(covered.subtracting(known) == [])
    }

    @Test("every kernel takes the plain samples of its operators, without a copy of an operand")
    func kernelsAreUsed() throws {
        // These have tests of their own.
        let special: [any Kernel.Type] = [
            DecodeAttentionKernel.self, ConvTransposeAxesKernel.self, GEMVKernel.self, GEMMKernel.self,
            Int8GEMVKernel.self, Int8GEMMKernel.self, BFloat16GEMMKernel.self, HalfCastKernel.self,
            ViewKernel.self, WeightViewKernel.self,
        ]
        for kernel in Kernels.all where !special.contains(where: { $0 == kernel }) {
            for operation in kernel.operators {
                let sample = try #require(
                    OperatorSample.all.first { $0.operation.name == operation.name }, "\(operation.name)")
                let arguments = try sample.inputs()
                let program = try SmallProgram { maker in
                    try maker.builder.applyAll(try sample.frozen(), arguments.map { maker.input($0) })
                }
                let choice = try #require(ExecutionPlan(program.program, function: 0).choices.last)
                #expect(choice.kernel == "\(kernel)")
                #expect(choice.staged == [])
                #expect(choice.candidates.filter { $0.cost == nil }.allSatisfy { !$0.reason.isEmpty })
            }
        }
    }

    @Test("the kernel of least cost is chosen, and the others say why not")
    func choice() throws {
        let program = try SmallProgram(compress: "int4:block=32") { maker in
            try [1, 3, 16].map { try maker.builder.apply(Linear(), [maker.input([$0, 64]), maker.weight([80, 64])]) }
        }
        let choices = try ExecutionPlan(program.program, function: 0).choices
        #expect(choices.map(\.kernel) == ["GEMVKernel", "SmallGEMMKernel", "GEMMKernel"])
        let costs = [1, 3, 16].map { rows -> [Double?] in
            [LinearCost.vectors(rows: rows), LinearCost.fewRows(rows), LinearCost.panels(rows: rows)]
        }
        #expect(choices.map { $0.candidates.map(\.cost) } == costs)
        #expect(choices[1].reason == "int4 rows decoded to the cache; each meets 3 rows")
        #expect(choices[2].reason == "int4 decoded to panels; each panel meets 16 rows")
        let float = try SmallProgram { maker in
            [try maker.builder.apply(MatMul(), [maker.input([3, 64]), maker.weight([64, 80])])]
        }
        let staged = try #require(try ExecutionPlan(float.program, function: 0).choices.first)
        #expect(staged.staged == ["input 1 read where it is stored"])
        #expect(staged.reason == "operands in contiguous memory")
    }

    @Test("whole rows of a weight are decoded by themselves")
    func weightViews() throws {
        let program = try SmallProgram(compress: "float16") { maker in
            let weight = maker.weight([700, 24])
            return [
                try maker.builder.apply(Slice(begin: [13, 0], sizes: [650, 24]), [weight]),
                try maker.builder.apply(Slice(begin: [0, 3], sizes: [700, 5]), [weight]),
                try maker.builder.apply(Reshape(to: [70, 240]), [weight]),
            ]
        }
        let names = try Executor(program.program).kernelNames
        #expect(names == ["WeightViewKernel", "ViewKernel", "WeightViewKernel"])
        #expect(try program.run(threads: 2) == program.reference())
    }

    /// Larger than one piece of work of each kernel, with ragged ends.
    static let large: [(name: String, build: @Sendable (inout SmallProgram.Maker) throws -> [Value])] = [
        (
            "linear",
            { maker in
                let x = maker.input([3, 101, 70])
                return [
                    try maker.builder.apply(
                        Linear(activation: .geluErf), [x, maker.weight([133, 70]), maker.weight([133])]),
                    try maker.builder.apply(Linear(), [x, maker.weight([5, 70])]),
                ]
            }
        ),
        (
            "attention",
            { maker in
                let (q, k, v) = (
                    maker.input([2, 150, 4, 40]), maker.input([2, 77, 2, 40]), maker.input([2, 77, 2, 33])
                )
                let turned = try [q, k, v].map { try maker.builder.apply(Transpose([0, 2, 1, 3]), [$0]) }
                let mask = maker.input([2, 1, 1, 77])
                let result = try maker.builder.apply(Attention(scale: 0.2), turned + [mask])
                return [try maker.builder.apply(Transpose([0, 2, 1, 3]), [result])]
            }
        ),
        (
            "rows and elements",
            { maker in
                let x = maker.input([70, 300])
                let normal = try maker.builder.apply(
                    LayerNorm(epsilon: 1e-12), [x, maker.weight([300]), maker.weight([300])])
                let sum = try maker.builder.apply(Add(), [try maker.builder.apply(Silu(), [normal]), x])
                let shares = try maker.builder.apply(Softmax(), [sum])
                return [shares, try maker.builder.apply(Multiply(), [shares, maker.input([70, 1])])]
            }
        ),
        (
            "gather and matrix product",
            { maker in
                let indices = maker.input(HostTensor((0..<90).map { Int64($0 * 37 % 50) }, [2, 45]))
                let rows = try maker.builder.apply(Gather(), [maker.weight([50, 129]), indices])
                return [try maker.builder.apply(MatMul(), [rows, maker.input([1, 129, 65])])]
            }
        ),
    ]

    @Test("a step of one token: attention reads its cache in place, and only what the mask lets through")
    func attentionStep() throws {
        let lowest = -Float.greatestFiniteMagnitude
        let masks: [[Float]?] = [
            nil, (0..<77).map { $0 < 41 ? 0 : lowest }, (0..<77).map { (20..<41).contains($0) ? 0.25 : -.infinity },
            (0..<77).map { $0 % 3 == 0 ? lowest : 0 }, [Float](repeating: lowest, count: 77),
        ]
        for (mask, isTurned) in masks.flatMap({ mask in [(mask, false), (mask, true)] }) {
            let program = try SmallProgram { maker in
                let q = maker.input([2, 6, 1, 40])
                var (k, v) = (maker.input([2, 3, 77, 40]), maker.input([2, 3, 77, 66]))
                if isTurned {
                    let turned = [maker.input([2, 77, 3, 40]), maker.input([2, 77, 3, 66])]
                    (k, v) = (
                        try maker.builder.apply(Transpose([0, 2, 1, 3]), [turned[0]]),
                        try maker.builder.apply(Transpose([0, 2, 1, 3]), [turned[1]])
                    )
                }
                let masks = mask.map { [maker.input(HostTensor($0, [1, 77]))] } ?? []
                return [try maker.builder.apply(Attention(scale: 0.2), [q, k, v] + masks)]
            }
            #expect(try Executor(program.program).kernelNames.contains("DecodeAttentionKernel"))
            let found = try program.run(threads: 2)
            #expect(found == (try program.run(threads: 1)))
            #expect(agree(found[0], try program.reference()[0], tolerance: 2e-6))
        }
    }

    /// Values of a mask of 270 rows and 430 keys, more than a piece of attention's work has.
    static let masks: [(name: String, value: @Sendable (_ row: Int, _ key: Int) -> Float)] = [
        ("of no key", { _, _ in 0 }),
        ("causal", { row, key in key <= row + 160 ? 0 : -.greatestFiniteMagnitude }),
        ("a window", { row, key in key <= row + 160 && key > row + 20 ? 0.5 : -.greatestFiniteMagnitude }),
        ("keys that come late", { row, key in key >= 200 + row % 3 ? 0 : -.infinity }),
        ("holes", { row, key in (row + key) % 7 < 3 ? Float(key % 5) : -.greatestFiniteMagnitude }),
        ("rows that see none", { row, key in row % 2 == 0 || key < 30 ? -.greatestFiniteMagnitude : 1 }),
    ]

    @Test("attention of many rows over many keys is the reference's, for every mask", arguments: masks.indices)
    func attentionBlocks(index: Int) throws {
        let (rows, keys, value) = (270, 430, Self.masks[index].value)
        for scale in [0.3, -0.3] {
            for isBroadcast in [false, true] {
                let program = try SmallProgram { maker in
                    let inputs = [
                        maker.input([1, 2, rows, 24]), maker.input([1, 1, keys, 24]), maker.input([1, 1, keys, 40]),
                    ]
                    let mask = HostTensor(
                        (0..<(isBroadcast ? 1 : rows)).flatMap { row in (0..<keys).map { value(row, $0) } },
                        [isBroadcast ? 1 : rows, keys])
                    return [try maker.builder.apply(Attention(scale: scale), inputs + [maker.input(mask)])]
                }
                #expect(try Executor(program.program).kernelNames == ["AttentionKernel"])
                let found = try program.run(threads: 2)
                #expect(found == (try program.run(threads: 1)))
                #expect(agree(found[0], try program.reference()[0], tolerance: 2e-6))
            }
        }
    }

    @Test("a row of a mask is read from the first key that it sees to the last; all keys where it sees none")
    func seenKeys() {
        let (hidden, lowest) = (-Float.infinity, -Float.greatestFiniteMagnitude)
        for (values, expected) in [
            ([0, 0, 0], 0..<3), ([0, 0, hidden], 0..<2), ([lowest, 0, hidden, lowest], 1..<2),
            ([0, lowest, 0, lowest], 0..<3), ([hidden, hidden, 0.5], 2..<3), ([-1e38, hidden], 0..<1),
            ([hidden, lowest], 0..<2), ([], 0..<0),
        ] as [([Float], Range<Int>)] {
            // One value after the other, and every third one.
            for step in [1, 3] {
                let spread = values.flatMap { value -> [Float] in [value] + Array(repeating: 0, count: step - 1) } + [0]
                let found = spread.withUnsafeBufferPointer { memory in
                    memory.baseAddress.map { AttentionMask.Row(start: $0, step: step).seen(among: values.count) }
                }
                #expect(found == expected, "\(values)")
            }
        }
    }

    @Test("zero points of int8 and scales of a palette's channels are those of each row, whoever computes it")
    func rowParameters() throws {
        for codec in ["int8:mode=asymmetric", "palette:bits=2,scale=channel"] {
            for rows in [1, 2, 16] {
                let program = try SmallProgram(compress: codec) { maker in
                    // More rows than a piece of work has, no two alike.
                    let weight = HostTensor((0..<5000 * 24).map { Float($0 % 24) - Float($0 / 24) / 500 }, [5000, 24])
                    return [try maker.builder.apply(Linear(), [maker.input([rows, 24]), maker.weight(weight)])]
                }
                let (found, expected) = (try program.run(threads: 2), try program.reference())
                #expect(agree(found[0], expected[0], tolerance: 2e-6), "\(codec), \(rows) rows")
            }
        }
    }

    @Test("one row, few and many meet weights of every codec, by a kernel each", arguments: codecs)
    func linearRows(codec: String) throws {
        for (rows, kernel) in [
            (1, "GEMVKernel"), (2, "SmallGEMMKernel"), (7, "SmallGEMMKernel"), (14, "SmallGEMMKernel"),
            (16, "GEMMKernel"),
        ] {
            let program = try SmallProgram(compress: codec) { maker in
                let x = maker.input([1, rows, 97])
                let wide = try maker.builder.apply(
                    Linear(activation: .silu), [x, maker.weight([2000, 97]), maker.weight([2000])])
                return [wide, try maker.builder.apply(Linear(), [wide, maker.weight([60, 2000])])]
            }
            #expect(try Executor(program.program).kernelNames == [kernel, kernel])
            let found = try program.run(threads: 2)
            #expect(found == (try program.run(threads: 1)))
            for (found, expected) in zip(found, try program.reference()) {
                #expect(agree(found, expected, tolerance: 2e-6))
            }
        }
    }

    @Test("equal bits for any number of threads, close to the reference", arguments: large.indices)
    func threads(index: Int) throws {
        let program = try SmallProgram(Self.large[index].build)
        let single = try program.run(threads: 1)
        for threads in [2, 3, 5] { #expect(try program.run(threads: threads) == single) }
        for (found, expected) in zip(single, try program.reference()) {
            #expect(agree(found, expected, tolerance: 2e-6))
        }
    }

    static let codecs = Codecs.all.map { $0.name }

    @Test("weights of every codec are read as the codec decodes them", arguments: codecs)
    func compressed(codec: String) throws {
        let program = try SmallProgram(compress: codec) { maker in
            let indices = maker.input(HostTensor([0, 69, 3, 69, 41] as [Int64], [5]))
            let rows = try maker.builder.apply(Gather(), [maker.weight([70, 96]), indices])
            let wide = try maker.builder.apply(Linear(), [rows, maker.weight([75, 96]), maker.weight([75])])
            return [rows, wide, try maker.builder.apply(Add(), [wide, maker.weight([5, 75])])]
        }
        let found = try program.run(threads: 2)
        for (found, expected) in zip(found, try program.reference()) {
            #expect(agree(found, expected, tolerance: 1e-6))
        }
        #expect(found == (try program.run(threads: 1)))
    }
}
