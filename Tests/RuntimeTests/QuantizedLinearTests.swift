import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelCPURuntime

@Suite("Products of activations that are rounded")
struct QuantizedLinearTests {
    @Test(
        "they are the reference implementation's with every codec, for any number of rows and threads",
        arguments: Codecs.all.map { $0.name })
    func products(name: String) throws {
        for codec in EveryCodec.options(of: name) {
            // Half of the range is below 0, and some elements lie outside of it.
            let range = try #require(RowRounding(scale: 0.00625, lowest: -128))
            let calls: [(Int, Int, Int, QuantizedLinear.Rounding)] = [
                (1, 96, 70, .rows), (3, 33, 40, .rows), (20, 130, 64, .rows), (150, 48, 37, .rows),
                (1, 64, 64, .range(range)), (70, 64, 64, .range(range)),
                (1, 96, 70, .bfloat16), (3, 33, 40, .bfloat16), (20, 130, 64, .bfloat16), (150, 48, 37, .bfloat16),
            ]
            for (rows, columns, width, rounding) in calls {
                let shape = Shape([width, columns])
                guard codec.unsupportedReason(elementType: .float32, shape: shape) == nil else { continue }
                let program = try SmallProgram(compress: codec.specification) { maker in
                    let inputs = [maker.input([rows, columns]), maker.weight(shape), maker.weight([width])]
                    let operation = QuantizedLinear(activation: .silu, rounding: rounding)
                    return [try maker.builder.apply(operation, inputs)]
                }
                let results = try [1, 2].map { try program.run(threads: $0)[0].floats }
                #expect(results[0] == results[1])
                let expected = try program.reference()[0].floats
                for (found, wanted) in zip(results[0], expected) {
                    #expect(
                        abs(found - wanted) <= 4e-6 * max(1, abs(wanted)),
                        "\(codec.specification), \(rounding), \(rows) rows")
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

    @Test("weights of all schemes are multiplied as bfloat16", arguments: ["float32", "bfloat16", "int4:block=32"])
    func bfloat16Kernels(scheme: String) throws {
        let program = try SmallProgram(compress: scheme) { maker in
            try [1, 16].map {
                let operation = QuantizedLinear(rounding: .bfloat16)
                return try maker.builder.apply(operation, [maker.input([$0, 128]), maker.weight([160, 128])])
            }
        }
        let choices = try ExecutionPlan(program.program, function: 0).choices
        #expect(choices.map(\.kernel) == ["BFloat16GEMMKernel", "BFloat16GEMMKernel"])
    }

    @Test("a recipe's bfloat16 leaves products of a few rows as they are")
    func fewRows() throws {
        var recipe = Recipe(default: try Codecs.codec("int4"))
        recipe.activations = .bfloat16
        let program = try SmallProgram { maker in
            let weight = maker.weight([4, 4])
            return try [[1, 4], [7, 4], [2, 3, 4], [8, 4], [2, 4, 4]].map {
                try maker.builder.apply(Linear(), [maker.input(Shape($0)), weight])
            }
        }.frozen
        let names = try program.quantizingActivations(by: recipe).program.nodes.map(\.operation.name)
        #expect(names == ["linear", "linear", "linear", "quantized_linear", "quantized_linear"])
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

    @Test("a fixed range that is a row's own gives the bits of the row", arguments: ["int8", "int4:block=32", "nf4"])
    func ownRange(scheme: String) throws {
        for columns in [1, 33, 128] {
            let range = try SmallProgram { [$0.input([1, columns])] }.inputs["x0"].map { RowRounding(of: $0.floats) }
            let results = try [nil, range].map { range in
                let program = try SmallProgram(compress: scheme) { maker in
                    let inputs = [maker.input([1, columns]), maker.weight([70, columns])]
                    return [try maker.builder.apply(QuantizedLinear(range: range), inputs)]
                }
                return try (program.run()[0], program.reference()[0])
            }
            #expect(results[0] == results[1])
        }
    }

    @Test("a pass gives linear operators the fixed range of their weight's inputs")
    func ranges() throws {
        var recipe = Recipe(default: try Codecs.codec("int8"))
        recipe.activations = try ActivationQuantization("int8:static")
        let program = try SmallProgram { maker in
            let x = maker.input([2, 4])
            return try (0..<2).map { _ in try maker.builder.apply(Linear(), [x, maker.weight([4, 4])]) }
        }.frozen
        let weights = program.program.constants.map(\.name)
        #expect(program.program.weightsOfFixedRanges(by: recipe) == Set(weights))
        let range = try #require(RowRounding(scale: 0.5, lowest: -3))
        let made = try program.quantizingActivations(by: recipe, ranges: [weights[0]: range])
        let ranges = made.program.activationRanges
        #expect(ranges.count == 2 && ranges[weights[0]] == range && ranges[weights[1]] != range)
        recipe.activations = .int8
        let dynamic = try program.quantizingActivations(by: recipe, ranges: [weights[0]: range])
        #expect(dynamic.program.activationRanges.isEmpty && program.program.weightsOfFixedRanges(by: recipe).isEmpty)
    }

    @Test("numbers that no rounding has are rejected")
    func hostileNumbers() throws {
        let good: Attributes = ["numbers": .word("bfloat16")]
        let operation = try QuantizedLinear(attributes: good)
        #expect(operation.rounding == .bfloat16 && operation.attributes == good)
        for bad: Attributes in [
            ["numbers": .word("float16")], ["numbers": .integer(1)], ["numbers": .word("")],
            ["numbers": .word("bfloat16"), "scale": .number(0.5), "lowest": .integer(-3)],
            ["numbers": .word("bfloat16"), "lowest": .integer(-3)],
        ] {
            #expect(throws: OperatorError.self, "\(bad)") { try QuantizedLinear(attributes: bad) }
        }
    }

    @Test("a range that no rounding has is rejected")
    func hostileRanges() throws {
        let good: Attributes = ["scale": .number(0.5), "lowest": .integer(-3)]
        let operation = try QuantizedLinear(attributes: good)
        #expect(operation.range == RowRounding(scale: 0.5, lowest: -3) && operation.attributes == good)
        let scales: [AttributeValue?] = [
            nil, .number(0), .number(-1), .number(.infinity), .number(.nan), .number(0.1), .number(1e-40),
            .number(Double(Float.greatestFiniteMagnitude)), .integer(1),
        ]
        for scale in scales {
            var attributes = good
            attributes["scale"] = scale
            #expect(throws: OperatorError.self, "\(attributes)") { try QuantizedLinear(attributes: attributes) }
        }
        for lowest: AttributeValue? in [nil, .integer(1), .integer(-256), .integer(.min), .number(-3)] {
            var attributes = good
            attributes["lowest"] = lowest
            #expect(throws: OperatorError.self, "\(attributes)") { try QuantizedLinear(attributes: attributes) }
        }
    }

    @Test("a pass replaces the linear operators that a recipe names, and only those")
    func pass() throws {
        var recipe = Recipe(default: try Codecs.codec("int8"))
        recipe.rules = [try Recipe.Rule(weight: "b", codec: try Codecs.codec("int8"))]
        recipe.rules[0].activations = ActivationQuantization.none
        func operators(_ recipe: Recipe, rows: Int = 2) throws -> [String] {
            var builder = ProgramBuilder(name: "model")
            let x = builder.input("x", TensorType(.float32, [.init(rows), 4]))
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
        recipe.activations = .bfloat16
        #expect(try operators(recipe, rows: 9) == ["quantized_linear 2", "quantized_linear 0", "linear 0"])
    }
}
