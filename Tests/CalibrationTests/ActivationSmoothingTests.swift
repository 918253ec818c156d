import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelCalibration
@testable import AccelWeightCompression

@Suite("Smoothed activations")
struct ActivationSmoothingTests {
    /// A norm with a few channels that are far larger than the others, two weights that read it, and one that reads their
    /// product behind a function.
    /// - Parameter loudColumn: the columns of these weights are 16 times as large from this one on, every 30.
    private static func model(loudColumn: Int? = nil) throws -> Program {
        var generator = SeededGenerator(seed: 5)
        func weight(_ name: String, _ shape: Shape) -> StoredTensor {
            StoredTensor(
                name: name,
                floats: (0..<shape.count).map { index in
                    let isLoud = index % shape.columns % 30 == loudColumn
                    return .random(in: -0.2...0.2, using: &generator) * (isLoud ? 16 : 1)
                }, shape: shape)
        }
        let gain = StoredTensor(name: "norm", floats: (0..<64).map { $0 % 30 == 3 ? 60 : 1 }, shape: [64])
        var builder = ProgramBuilder(
            name: "model", dimensions: [.init("batch", usual: [1]), .init("tokens", usual: [8])])
        let x = builder.input("x", TensorType(.float32, ["batch", "tokens", 64]))
        let normal = try builder.apply(RMSNorm(epsilon: 1e-6), [x, builder.constant(gain, isWeight: true)])
        func linear(_ name: String, _ value: Value, _ shape: Shape) throws -> Value {
            try builder.apply(Linear(), [value, builder.constant(weight(name, shape), isWeight: true)])
        }
        let gate = try builder.apply(Silu(), [try linear("gate", normal, [96, 64])])
        let product = try builder.apply(Multiply(), [gate, try linear("up", normal, [96, 64])])
        let tanh = try builder.apply(Tanh(), [product])
        builder.output("y", try linear("down", tanh, [64, 96]))
        return try builder.finish()
    }

    private static func samples(_ part: Program, seed: UInt64) throws -> CalibrationSamples {
        var generator = SeededGenerator(seed: seed)
        let floats = (0..<16 * 8 * 64).map { _ in Float.random(in: -1...1, using: &generator) }
        let tensor = StoredTensor(name: "x", floats: floats, shape: [16, 8, 64])
        return try #require(try CalibrationSamples([tensor], for: part, file: "x"))
    }

    private static func recipe(_ activations: String) throws -> Recipe {
        var recipe = Recipe(default: try Codecs.codec("int8"))
        recipe.activations = try ActivationQuantization(activations)
        return recipe
    }

    private static func smoothed(_ part: Program, by recipe: Recipe) throws -> ScaledWeights {
        let frozen = try part.freezing(ShapeBindings(["batch": 1, "tokens": 8]))
        var smoothing = ActivationSmoothing([part], plan: recipe.plan(for: [frozen]), by: recipe, threads: 2)
        try smoothing.run([try samples(part, seed: 1)])
        return smoothing.found
    }

    /// The squared error, as a share of the energy, of what other samples give with weights and activations in int8.
    private static func error(_ part: Program, _ recipe: Recipe, _ scaled: [String: StoredTensor]) throws -> Double {
        let made = part.replacing(scaled)
        let ranges = try [try samples(made, seed: 1)].inputRanges(of: ["gate", "up", "down"], threads: 2)
        let rounded = try made.quantizingActivations(by: recipe, ranges: ranges.compactMapValues(\.rounding))
        let exact = try ReferenceOutputs(of: SampleRun(try samples(part, seed: 2), threads: 2))
        let run = try SampleRun(try samples(rounded, seed: 2), threads: 2)
        for constant in made.constants where constant.isWeight && constant.shape.rank == 2 {
            let source = try #require(constant.tensor)
            try run.replace(try CompressedTensor.compressing(source, with: recipe.defaultCodec, threads: 2).tensor)
        }
        return try run.error(from: exact)
    }

    @Test(
        "channels that are large get smaller, their weights larger, and other samples lose far less",
        arguments: ["int8", "int8:static"])
    func outliers(activations: String) throws {
        let part = try Self.model()
        let smooth = try Self.recipe(activations == "int8" ? "int8:smooth" : "\(activations),smooth")
        let found = try Self.smoothed(part, by: smooth)
        let columns = try #require(found.scalings["gate"]?.columns)
        // 60 times as large: 8 times the weight, near the square root of 60.
        #expect(Set(columns.enumerated().filter { $0.offset % 30 == 3 }.map(\.element)) == [3])
        #expect(columns.enumerated().allSatisfy { $0.offset % 30 == 3 || abs($0.element) <= 1 })
        #expect(found.scalings["up"]?.columns == columns)
        #expect(found.scalings["norm"]?.columns == columns.map { -$0 })
        #expect(found.scalings["down"] == nil)
        let plain = try Self.error(part, try Self.recipe(activations), [:])
        let smoothed = try Self.error(part, smooth, found.tensors)
        #expect(smoothed < 0.25 * plain, "\(smoothed) of \(plain)")
    }

    @Test("a stronger smoothing has larger factors; readers that do not all ask for it are left alone")
    func strength() throws {
        let part = try Self.model()
        func largest(_ activations: String) throws -> Int? {
            try Self.smoothed(part, by: try Self.recipe(activations)).scalings["gate"]?.columns.max()
        }
        let strong = try #require(try largest("int8:smooth=0.9"))
        let weak = try #require(try largest("int8:smooth=0.2"))
        #expect(weak < strong)
        #expect(try largest("int8") == nil && largest("int8:static") == nil)
        var mixed = try Self.recipe("int8:smooth")
        mixed.rules = [try Recipe.Rule(match: "up", codec: mixed.defaultCodec)]
        mixed.rules[0].activations = .int8
        #expect(try Self.smoothed(part, by: mixed).scalings.isEmpty)
    }

    @Test("a factor is the activations' range to the strength over the weights' to the rest", arguments: [0.2, 0.75])
    func factors(strength: Double) throws {
        let part = try Self.model(loudColumn: 7)
        let found = try Self.smoothed(part, by: try Self.recipe("int8:smooth=\(strength)"))
        let columns = try #require(found.scalings["gate"]?.columns)
        // Activations are 60 times as large in some channels, weights 16 times in others.
        let (active, loud) = (strength == 0.2 ? 1 : 4, strength == 0.2 ? -3 : -1)
        for (column, exponent) in columns.enumerated() {
            let expected = column % 30 == 3 ? active : column % 30 == 7 ? loud : 0
            #expect(abs(exponent - expected) <= (expected == 0 ? 1 : 0), "\(column)")
        }
    }

    @Test("a specification reads back as it is written, and others are rejected")
    func specifications() throws {
        for (text, canonical) in [
            ("none", "none"), ("bfloat16", "bfloat16"), ("int8", "int8"), ("int8:static", "int8:static"),
            ("int8:smooth", "int8:smooth=0.5"),
            ("int8:smooth=0.50,static", "int8:static,smooth=0.5"),
            ("int8:static,smooth=0.25", "int8:static,smooth=0.25"),
        ] {
            let read = try ActivationQuantization(text)
            #expect(read.specification == canonical)
            #expect(try ActivationQuantization(canonical) == read)
        }
        for text in [
            "", "int4", "int8:", "none:", "none:static", "bfloat16:", "bfloat16:static", "bfloat16:smooth",
            "int8:static,static", "int8:smooth=0", "int8:smooth=1",
            "int8:smooth=nan", "int8:smooth=", "int8:smooth,smooth", "int8:fast", "int8:static,", "int8:static=1",
        ] {
            #expect(throws: RequestError.self, "\(text)") { try ActivationQuantization(text) }
        }
    }
}
