import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

@Suite("What is written for Core ML means what the operators mean")
struct LoweringRoundTripTests {
    /// Writes the program, reads it back, runs it, and compares the outputs with the reference meaning.
    private func noise(
        _ function: FrozenProgram, _ inputs: [String: HostTensor], _ target: CoreMLTarget, _ floatType: MILDataType,
        layout: CoreMLOptions.Layout = .plain
    ) throws -> Float? {
        let exporter = try CoreMLExporter(
            ExportOptionValues(words: [
                "target": target.rawValue, "precision": floatType == .float32 ? "float32" : "float16",
                "layout": layout.rawValue,
            ]))
        return try withTemporaryFolder { folder in
            let path = "\(folder)/x.mlpackage"
            let model = ExportedModel(
                program: CompressedProgram(functions: [function], weights: []), family: "sample", provenance: [])
            do { _ = try exporter.export(model, to: path) } catch is RequestError { return nil }
            var states: [String: HostTensor] = [:]
            let found = try CoreMLPackage(at: path).run(
                inputs: inputs.mapValues { $0.elementType == .bool ? HostTensor($0.integers, $0.shape) : $0 },
                states: &states)
            var largest: Float = 0
            for (name, expected) in try function.evaluate(inputs) {
                let result = try #require(found[name])
                #expect(result.shape == expected.shape, "\(name)")
                let wanted = expected.floats
                let scale = max(wanted.map(abs).max() ?? 0, 1e-3)
                for (found, expected) in zip(result.floats, wanted) {
                    // The greater of two numbers is never NaN where one of them is a number.
                    largest = found.isNaN != expected.isNaN ? .infinity : max(largest, abs(found - expected) / scale)
                }
            }
            return largest
        }
    }

    @Test("Every order of axes")
    func transposed() throws {
        var builder = ProgramBuilder(name: "model")
        let x = builder.input("x", TensorType(.float32, [2, 3, 4]))
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            builder.output("y\(order)".filter { !" ,[]".contains($0) }, try builder.apply(Transpose(order), [x]))
        }
        let function = try builder.finish().freezing(ShapeBindings())
        let inputs = ["x": HostTensor((0..<24).map { Float($0) }, [2, 3, 4])]
        for target in [CoreMLTarget.iOS16, .iOS18] {
            #expect(try noise(function, inputs, target, .float32) == 0, "\(target.rawValue)")
        }
    }

    @Test(
        "A norm of nearly equal elements has its own epsilon in float16, also one that is no number of it",
        arguments: [1e-5, 1e-12])
    func epsilon(_ epsilon: Double) throws {
        var builder = ProgramBuilder(name: "model")
        let x = builder.input("x", TensorType(.float32, [2, 4]))
        let gain = builder.literal(HostTensor([1.0, 2, 3, 4], [4]), name: "gain")
        builder.output("y", try builder.apply(LayerNorm(epsilon: epsilon), [x, gain]))
        let function = try builder.finish().freezing(ShapeBindings())
        let inputs = ["x": HostTensor([0, 0x1p-14, 0x1p-13, 0x3p-14, 1, 2, 3, 4], [2, 4])]
        let noise = try #require(try noise(function, inputs, .iOS18, .float16))
        #expect(noise <= 0x1p-7, "\(noise)")
    }

    private static let samples = OperatorSample.all.filter { !$0.name.hasSuffix("_special") }

    @Test("In float32, within its rounding", arguments: samples)
    func float32(sample: OperatorSample) throws {
        let inputs = try sample.inputsByName()
        for target in [CoreMLTarget.iOS16, .iOS18] {
            guard let noise = try noise(try sample.function(), inputs, target, .float32) else { continue }
            #expect(noise <= 4e-6, "\(target.rawValue)")
        }
    }

    @Test("In float16, within its rounding", arguments: samples)
    func float16(sample: OperatorSample) throws {
        guard !sample.differsInHalves else { return }
        let inputs = try sample.inputsByName()
        guard let noise = try noise(try sample.function(), inputs, .iOS18, .float16) else { return }
        #expect(noise <= 0x1p-7, "\(noise)")
    }

    @Test("Laid out for the Neural Engine, within float16's rounding", arguments: samples)
    func neuralEngine(sample: OperatorSample) throws {
        guard !sample.differsInHalves else { return }
        let inputs = try sample.inputsByName()
        guard let noise = try noise(try sample.function(), inputs, .iOS18, .float16, layout: .ane) else { return }
        #expect(noise <= 0x1p-7, "\(noise)")
    }
}

extension OperatorSample {
    /// A step at a whole number, or an index, is another one where the input is rounded. A mask of float32's lowest number is
    /// infinite, and a row that sees nothing else has no weights.
    fileprivate var differsInHalves: Bool {
        ["floor", "modulo", "compare", "cast", "argmax"].contains(operation.name) || name == "attention_all_masked"
    }

    func inputsByName() throws -> [String: HostTensor] {
        let names = Set(try function().program.inputs.map(\.name))
        let all = try inputs().enumerated().map { ("input\($0)", $1) }
        return Dictionary(uniqueKeysWithValues: all.filter { names.contains($0.0) })
    }
}
