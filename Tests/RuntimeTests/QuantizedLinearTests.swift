import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Products of activations that are rounded to 8 bits")
struct QuantizedLinearTests {
    @Test(
        "they are the reference implementation's with every codec, for any number of rows and threads",
        arguments: Codecs.all.map { $0.name })
    func products(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            for (rows, columns, width) in [(1, 96, 70), (3, 33, 40), (20, 130, 64), (150, 48, 37)] {
                let shape = Shape([width, columns])
                guard codec.unsupportedReason(elementType: .float32, shape: shape) == nil else { continue }
                let program = try SmallProgram(compress: codec.specification) { maker in
                    let inputs = [maker.input([rows, columns]), maker.weight(shape), maker.weight([width])]
                    return [try maker.builder.apply(QuantizedLinear(activation: .silu), inputs)]
                }
                let results = try [1, 2].map { try program.run(threads: $0)[0].floats }
                #expect(results[0] == results[1])
                let expected = try program.reference()[0].floats
                for (found, wanted) in zip(results[0], expected) {
                    #expect(abs(found - wanted) <= 4e-6 * max(1, abs(wanted)), "\(codec.specification), \(rows) rows")
                }
            }
        }
    }

    @Test(
        "weights that are stored as integers are multiplied as integers",
        arguments: [
            "int8", "int8:axis=tensor", "int8:mode=asymmetric", "int4", "int4:block=32", "int4:block=16",
            "int4:block=64,mode=asymmetric", "affine:bits=4,block=64", "affine:bits=8", "affine:bits=3",
        ])
    func kernels(scheme: String) throws {
        let program = try SmallProgram(compress: scheme) { maker in
            try [1, 200].map {
                try maker.builder.apply(QuantizedLinear(), [maker.input([$0, 128]), maker.weight([160, 128])])
            }
        }
        let choices = try ExecutionPlan(program.program, function: 0).choices
        #expect(choices.map(\.kernel) == ["Int8GEMVKernel", "Int8GEMMKernel"])
    }

    @Test("a row that is not finite gives NaN, and leaves the other rows as they are", arguments: ["int8", "float32"])
    func notFinite(scheme: String) throws {
        let rows: [[Float]] = [[1, .nan, 2, 3], [4, .infinity, 1, 1], [0, 0, 0, 0], [1e38, -1e38, 1, 0]]
        for count in [1, 4, 40] {
            let x = (0..<count).flatMap { rows[$0 % 4] }
            let program = try SmallProgram(compress: scheme) { maker in
                let inputs = [maker.input(HostTensor(x, [count, 4])), maker.weight([2000, 4])]
                return [try maker.builder.apply(QuantizedLinear(), inputs)]
            }
            let result = try program.run()[0].floats
            for row in 0..<count {
                let own = result[row * 2000..<(row + 1) * 2000]
                #expect(row % 4 < 2 ? own.allSatisfy(\.isNaN) : own.allSatisfy(\.isFinite))
                #expect(row % 4 != 2 || own.allSatisfy { $0 == 0 })
            }
        }
    }

    @Test("a pass replaces the linear operators that a recipe names, and only those")
    func pass() throws {
        var recipe = Recipe(default: try Codecs.codec("int8"))
        recipe.rules = [try Recipe.Rule(weight: "b", codec: try Codecs.codec("int8"))]
        recipe.rules[0].activations = ActivationQuantization.none
        func operators(_ recipe: Recipe) throws -> [String] {
            var builder = ProgramBuilder(name: "model")
            let x = builder.input("x", TensorType(.float32, [2, 4]))
            let a = builder.constant(
                StoredTensor(name: "a", floats: [Float](repeating: 1, count: 16), shape: [4, 4]), isWeight: true)
            let b = builder.constant(
                StoredTensor(name: "b", floats: [Float](repeating: 1, count: 16), shape: [4, 4]), isWeight: true)
            let product = try builder.apply(Linear(), [try builder.apply(Linear(activation: .silu), [x, a]), b])
            builder.output("y", try builder.apply(Linear(), [product, product]))
            let program = try builder.finish().quantizingActivations(by: recipe)
            return program.nodes.map { "\($0.operation.name) \($0.operation.attributes.values.count)" }
        }
        #expect(try operators(recipe) == ["linear 1", "linear 0", "linear 0"])
        recipe.activations = .int8
        #expect(try operators(recipe) == ["quantized_linear 1", "linear 0", "linear 0"])
        recipe.rules[0].activations = .int8
        recipe.activations = .none
        #expect(try operators(recipe) == ["linear 1", "quantized_linear 0", "linear 0"])
    }
}
