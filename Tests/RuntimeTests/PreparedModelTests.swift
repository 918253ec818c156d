import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Preparation is shared by the sessions of a model")
struct PreparedModelTests {
    /// Small weights that have to be decoded, a large one, and a call whose operand is staged.
    private static func sample() throws -> SmallProgram {
        try SmallProgram(compress: "float16") { maker in
            let x = maker.input([3, 97])
            let wide = try maker.builder.apply(Linear(), [x, maker.weight([300, 97]), maker.weight([300])])
            let table = maker.weight([300, 20])
            let narrow = try maker.builder.apply(MatMul(), [wide, table])
            return [narrow, try maker.builder.apply(Add(), [narrow, maker.weight([20])])]
        }
    }

    @Test("a second session decodes nothing and chooses nothing, and gives the same bits")
    func shared() throws {
        let program = try Self.sample()
        let expected = try program.run(threads: 1)
        let model = PreparedModel(program.program)
        let first = try Session(model)
        let second = try Session(model, threads: 2)
        let made = try [first, second].map { try $0.executor(of: 0).preparation }
        #expect(made[0].decodedBytes > 0)
        #expect(made[0].chosenKernels == program.program.functions[0].calls.count)
        #expect(made[1].decodedBytes == 0 && made[1].chosenKernels == 0)
        #expect(made[1].scratchBytes >= made[0].scratchBytes)
        let names = try [first, second].map { try $0.executor(of: 0).kernelNames }
        #expect(names[0] == names[1])
        for session in [first, second, first] {
            #expect(try session.run(0, program.storedInputs).map { HostTensor($0) } == expected)
        }
        // An execution beside them, and a model that was prepared before.
        #expect(try first.makeExecution(of: 0).preparation.chosenKernels == 0)
        let ready = PreparedModel(program.program)
        try ready.prepare(0)
        let late = try Session(ready).executor(of: 0)
        #expect(late.preparation.decodedBytes == 0 && late.preparation.chosenKernels == 0)
        #expect(try late.run(program.storedInputs).map { HostTensor($0) } == expected)
    }

    @Test("a weight that is replaced in one executor is replaced there alone")
    func replaced() throws {
        let program = try Self.sample()
        let expected = try program.run(threads: 1)
        let model = PreparedModel(program.program)
        let (own, other) = (try Session(model).executor(of: 0), try Session(model).executor(of: 0))
        for (index, weight) in program.program.weights.enumerated() {
            let zeros = StoredTensor(
                name: weight.name, floats: [Float](repeating: 0, count: weight.shape.count), shape: weight.shape)
            let codec = try Codecs.codec("float32")
            try own.replace(weight: index, by: CompressedTensor.compressing(zeros, with: codec, threads: 1).tensor)
        }
        #expect(try own.run(program.storedInputs).allSatisfy { HostTensor($0).floats.allSatisfy { $0 == 0 } })
        #expect(try other.run(program.storedInputs).map { HostTensor($0) } == expected)
        #expect(try Session(model).run(0, program.storedInputs).map { HostTensor($0) } == expected)
    }

    @Test("sessions that are made and run at the same time do not disturb each other")
    func atOnce() throws {
        let program = try Self.sample()
        let expected = try program.run(threads: 1)
        let model = PreparedModel(program.program)
        let inputs = program.storedInputs
        let equal = Locked(0)
        try Parallel.forEach(4, threads: 4) { _ in
            for _ in 0..<20 {
                let found = (try? Session(model, threads: 2).run(0, inputs))?.map { HostTensor($0) }
                if found == expected { equal.withLock { $0 += 1 } }
            }
        }
        #expect(equal.withLock { $0 } == 80)
    }
}
