import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Weights that are packed before a run")
struct PackedWeightsTests {
    /// A program with products of floats, of rows of 8 bits and of bfloat16, of one, a few and many rows.
    private static func program(_ codec: any WeightCodec) throws -> SmallProgram {
        try SmallProgram(compress: codec.specification) { maker in
            var results: [Value] = []
            for shape in [[70, 96], [160, 130]] {
                let weight = maker.weight(Shape(shape))
                for rows in [1, 3, 40] {
                    let x = maker.input([rows, shape[1]])
                    results.append(try maker.builder.apply(Linear(), [x, weight]))
                    results.append(try maker.builder.apply(QuantizedLinear(), [x, weight]))
                    let bfloat16 = QuantizedLinear(rounding: .bfloat16)
                    results.append(try maker.builder.apply(bfloat16, [x, weight]))
                }
            }
            return results
        }
    }

    @Test("give the results of those packed while it runs, with every codec", arguments: Codecs.all.map { $0.name })
    func results(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            let shapes = [[70, 96], [160, 130]].map { Shape($0) }
            guard shapes.allSatisfy({ codec.unsupportedReason(elementType: .float32, shape: $0) == nil }) else {
                continue
            }
            let program = try Self.program(codec)
            let packed = try #require(try Self.packed(program.program))
            let plain = try program.run().map(\.floats)
            let session = try Session(program.program, packed: packed, threads: 2)
            let found = try session.run(0, program.storedInputs).map { HostTensor($0).floats }
            #expect(found == plain, "\(codec.specification)")
            let reasons = try ExecutionPlan(program.program, function: 0, packed: packed).choices
                .map(\.reason).filter { $0.contains("before") }
            #expect(reasons.count >= 6, "\(codec.specification)")
        }
    }

    @Test("those of another model are left alone, or rejected by name")
    func others() throws {
        let program = try Self.program(Codecs.codec("int8"))
        let plain = try program.run().map(\.floats)
        let other = try SmallProgram(compress: "int8") { maker in
            [try maker.builder.apply(Linear(), [maker.input([64, 32]), maker.weight([160, 32])])]
        }
        let packed = try #require(try Self.packed(other.program))
        let session = try Session(program.program, packed: packed)
        #expect(try session.run(0, program.storedInputs).map { HostTensor($0).floats } == plain)
        for name in ["0", "x float32", "0 float32"] {
            let type: ElementType = name == "0 float32" ? .float32 : .uint8
            let tensor = StoredTensor(
                name: name, elementType: type, shape: [64 / type.byteCount],
                bytes: ByteView([UInt8](repeating: 0, count: 64)), file: "test")
            let content = try SafetensorsWriter.parts([tensor])
            let bytes = ByteView(content.flatMap { $0.withBytes { Array($0) } })
            let error = try #require(throws: FormatError.self) { try PackedWeights(bytes, file: "packed") }
            #expect("\(error)".contains("packed") && "\(error)".contains(name))
        }
    }

    @Test("weights that kernels read where they are have no packed form")
    func small() throws {
        let mixed = try SmallProgram(compress: "float32") { maker in
            let x = try maker.builder.apply(Linear(), [maker.input([64, 32]), maker.weight([48, 32])])
            let y = try maker.builder.apply(Linear(), [x, maker.weight([160, 48])])
            return [try maker.builder.apply(Linear(), [y, maker.weight([40, 160])])]
        }
        let packed = try #require(try Self.packed(mixed.program))
        let sizes = mixed.program.weights.map(\.shape.count)
        #expect(sizes.contains { $0 <= 1 << 12 } && sizes.contains { $0 > 1 << 12 })
        for (index, size) in sizes.enumerated() { #expect(packed.forms(of: index).isEmpty == (size <= 1 << 12)) }
        let session = try Session(mixed.program, packed: packed)
        let found = try session.run(0, mixed.storedInputs).map { HostTensor($0).floats }
        #expect(try found == mixed.run().map(\.floats))
    }

    private static func packed(_ program: ModelPlan) throws -> PackedWeights? {
        try withTemporaryFolder { folder in
            let path = "\(folder)/packed"
            guard try PackedWeights.write(of: PreparedModel(program), to: path, threads: 2) else { return nil }
            return try PackedWeights(MappedFile(path).bytes, file: path)
        }
    }
}
