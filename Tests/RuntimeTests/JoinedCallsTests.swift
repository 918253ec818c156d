import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Calls that run as one")
struct JoinedCallsTests {
    /// Three products of the same rows, apart from each other in the program, and a product that is added to its rows.
    private static func program(_ codec: String, rows: Int, _ rounding: QuantizedLinear.Rounding?) throws
        -> SmallProgram
    {
        try SmallProgram(compress: codec) { maker in
            func product(_ activation: Activation = .none) -> any Operator {
                rounding.map { QuantizedLinear(activation: activation, rounding: $0) } ?? Linear(activation: activation)
            }
            let x = maker.input([rows, 96])
            let (q, k, v) = (maker.weight([96, 96]), maker.weight([40, 96]), maker.weight([70, 96]))
            let (bias, out) = (maker.weight([40]), maker.weight([96, 96]))
            let query = try maker.builder.apply(Tanh(), [try maker.builder.apply(product(), [x, q])])
            let key = try maker.builder.apply(product(.silu), [x, k, bias])
            let value = try maker.builder.apply(product(), [x, v])
            let result = try maker.builder.apply(product(.geluErf), [query, out])
            return [query, key, value, try maker.builder.apply(Add(), [x, result])]
        }
    }

    /// The program with every rounding, and with one row, few and many.
    private static let programs = Result {
        try [1, 5, 150].map { rows in try roundings.map { try program("float32", rows: rows, $0) } }
    }

    private static let roundings: [QuantizedLinear.Rounding?] = [
        nil, .rows, RowRounding(scale: 0.00625, lowest: -128).map { .range($0) }, .bfloat16,
    ]

    @Test(
        "have the bits of the same calls one after the other, with every codec, rounding and number of threads",
        arguments: Codecs.all.map { $0.name })
    func equality(name: String) throws {
        let codecs = EveryCodec.options(of: name).filter {
            $0.unsupportedReason(elementType: .float32, shape: [40, 96]) == nil
        }
        for (number, codec) in codecs.enumerated() {
            // Of many options each meets every number of rows, with one of the roundings in turn.
            let chosen = try Self.programs.get().enumerated().flatMap { row, programs in
                codecs.count < 8 ? programs : [programs[(number + row) % programs.count]]
            }
            for plain in chosen {
                let program = try SmallProgram(plain, compress: codec)
                let rows = plain.inputs["x0"]?.shape.rows ?? 0
                let single = try Executor(program.program).run(program.storedInputs) { _ in }
                for threads in [1, 2] {
                    let executor = try Executor(program.program, threads: threads)
                    let joined = try executor.run(program.storedInputs)
                    #expect(joined.map(\.bytes) == single.map(\.bytes), "\(codec.specification), \(rows) rows")
                    #expect(executor.joinedCalls == [0..<3, 3..<5], "\(codec.specification), \(rows) rows")
                }
            }
        }
    }

    @Test(
        "lie apart from all that the calls of the group read, also where nothing reads it later",
        arguments: [1, 5, 150])
    func memory(rows: Int) throws {
        let sum = try SmallProgram { maker in
            let x = maker.input([rows, 96])
            let last = try maker.builder.apply(Tanh(), [x])
            let product = try maker.builder.apply(Linear(), [last, maker.weight([96, 96])])
            return [try maker.builder.apply(Add(), [product, x])]
        }
        #expect(sum.program.functions[0].joined == [1..<3])
        let siblings = try SmallProgram { maker in
            let (x, bias) = (maker.input([rows, 96]), try maker.builder.apply(Tanh(), [maker.input([96])]))
            return try [maker.builder.apply(Linear(), [x, maker.weight([96, 96]), bias])]
                + [maker.builder.apply(Linear(), [x, maker.weight([96, 96])])]
        }
        #expect(siblings.program.functions[0].joined == [1..<3])
        for program in [sum, siblings] {
            let function = program.program.functions[0]
            let group = Array(function.calls[function.joined[0]])
            let results = group.flatMap(\.outputs).compactMap(Self.bytes(of:))
            let operands = group.enumerated().flatMap { index, call in
                let made = group[..<index].flatMap(\.outputs).map(\.storage)
                return call.inputs.filter { !made.contains($0.storage) }
            }
            #expect(results.count == 2)
            for operand in operands.compactMap(Self.bytes(of:)) { #expect(!results.contains { $0.overlaps(operand) }) }
            let single = try Executor(program.program).run(program.storedInputs) { _ in }
            for threads in [1, 2] {
                let joined = try Executor(program.program, threads: threads).run(program.storedInputs)
                #expect(joined.map(\.bytes) == single.map(\.bytes))
            }
        }
    }

    /// The bytes of the arena in which an operand lies; nil if it lies elsewhere.
    private static func bytes(of operand: Operand) -> Range<Int>? {
        guard case .arena(let start) = operand.storage else { return nil }
        return start..<start + operand.layout.shape.count * operand.elementType.byteCount
    }

    @Test("are found where nothing else reads what a sum replaces, and no product reads another's result")
    func rejections() throws {
        let kept = try SmallProgram { maker in
            let (x, weight) = (maker.input([4, 8]), maker.weight([8, 8]))
            let product = try maker.builder.apply(Linear(), [x, weight])
            return [product, try maker.builder.apply(Add(), [product, x])]
        }
        #expect(kept.program.functions[0].joined.isEmpty)
        let twice = try SmallProgram { maker in
            let product = try maker.builder.apply(Linear(), [maker.input([4, 8]), maker.weight([8, 8])])
            return [try maker.builder.apply(Add(), [product, product])]
        }
        #expect(twice.program.functions[0].joined.isEmpty)
        let broadcast = try SmallProgram { maker in
            let product = try maker.builder.apply(Linear(), [maker.input([1, 8]), maker.weight([8, 8])])
            return [try maker.builder.apply(Add(), [product, maker.input([4, 8])])]
        }
        #expect(broadcast.program.functions[0].joined.isEmpty)
        let chain = try SmallProgram { maker in
            let x = maker.input([8, 8])
            let product = try maker.builder.apply(Linear(), [x, maker.weight([8, 8])])
            return [try maker.builder.apply(Linear(), [x, product])]
        }
        #expect(chain.program.functions[0].joined.isEmpty)
        for program in [kept, twice, broadcast, chain] {
            let (found, expected) = (try program.run(), try program.reference())
            for (found, expected) in zip(found, expected) {
                for (found, wanted) in zip(found.floats, expected.floats) {
                    #expect(abs(found - wanted) <= 4e-6 * max(1, abs(wanted)))
                }
            }
        }
    }

    @Test("fill in what several of them read once, before the first that reads it")
    func sharedSteps() {
        let rounded = SharedScratch(number: 0, parts: []), interleaved = SharedScratch(number: 64, parts: [])
        func step(_ pieces: Int, fills scratch: SharedScratch? = nil) -> KernelStep {
            KernelStep(pieces, fills: scratch) { _, _ in }
        }
        let steps = JoinedCalls.sideBySide([
            [step(2, fills: rounded), step(3)], [step(2, fills: rounded), step(1, fills: interleaved), step(5)],
            [step(0), step(7)],
        ])
        #expect(steps.map(\.pieces) == [2, 1, 15])
        #expect(steps.map { $0.fills?.number } == [0, 64, nil])
    }

    @Test("a replaced weight is that of the group too")
    func replacing() throws {
        let program = try Self.program("float32", rows: 3, nil)
        let executor = try Executor(program.program)
        _ = try executor.run(program.storedInputs)
        let (index, old) = try #require(program.program.weights.enumerated().first { $1.shape == [70, 96] })
        let zeros = StoredTensor(name: old.name, floats: [Float](repeating: 0, count: 70 * 96), shape: [70, 96])
        let stored = try CompressedTensor.compressing(zeros, with: Codecs.codec("float32"), threads: 1).tensor
        try executor.replace(weight: index, by: stored)
        let (joined, single) = (
            try executor.run(program.storedInputs), try executor.run(program.storedInputs) { _ in }
        )
        #expect(joined.map(\.bytes) == single.map(\.bytes))
        #expect(HostTensor(joined[2]).floats.allSatisfy { $0 == 0 })
    }
}
