import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Tensors laid out for the Neural Engine")
struct ChannelsLayoutTests {
    @Test("Splitting channels into heads, and turning them about, is another look at the same tensor")
    func heads() throws {
        let whole = ChannelsLayout(of: [2, 5, 12])
        #expect(whole == ChannelsLayout(batch: [0], channels: [2], positions: [1]))
        #expect(whole.sizes([2, 5, 12]) == [2, 12, 1, 5])
        let apart = try #require(whole.reshaped(from: [2, 5, 12], to: [2, 5, 3, 4]))
        #expect(apart == ChannelsLayout(batch: [0], channels: [2, 3], positions: [1]))
        let turned = apart.transposed([0, 2, 1, 3])
        #expect(turned == ChannelsLayout(batch: [0], channels: [1, 3], positions: [2]))
        #expect(turned.sizes([2, 3, 5, 4]) == [2, 12, 1, 5])
        #expect(turned.transposed([0, 2, 1, 3]).reshaped(from: [2, 5, 3, 4], to: [2, 5, 12]) == whole)
        // Positions and channels mixed.
        #expect(whole.reshaped(from: [2, 5, 12], to: [2, 60]) == nil)
        // One row, one head: axes of one element are nowhere.
        #expect(ChannelsLayout(of: [1, 1, 12]) == ChannelsLayout(batch: [], channels: [2], positions: []))
    }

    @Test("A value laid out and taken back is itself")
    func roundTrip() throws {
        for layout in [
            ChannelsLayout(batch: [0], channels: [1, 3], positions: [2]),
            ChannelsLayout(batch: [0], channels: [3], positions: [1, 2]),
            ChannelsLayout(batch: [0], channels: [2], positions: [3, 1]),
        ] {
            var builder = MILBuilder(floatType: .float32)
            let own = [2, 3, 5, 4].enumerated().map { layout.axes.contains($0.offset) ? $0.element : 1 }
            let x = MILOperand(name: "x", type: MILTensorType(.float32, own), isConstant: false)
            let inside = builder.laidOut(x, own, layout)
            #expect(inside.sizes == layout.sizes(own))
            let back = builder.plain(ChannelsValue(operand: inside, layout: layout, sizes: own))
            #expect(back.sizes == own)
            let function = MILFunction(
                name: "main", inputs: [MILNamed("x", .tensor(x.type))], opset: "CoreML8",
                operations: builder.operations, outputs: [back.name])
            let model = CoreMLModel(
                specificationVersion: 9, metadata: CoreMLModel.Metadata(),
                interfaces: [
                    CoreMLModel.Interface(
                        function: "main", inputs: [CoreMLModel.Feature("x", x.type)],
                        outputs: [CoreMLModel.Feature(back.name, back.type)])
                ], program: MILProgram(functions: [function]))
            var states: [String: HostTensor] = [:]
            let count = own.reduce(1, *)
            let numbers = HostTensor((0..<count).map(Float.init), Shape(own))
            let package = try CoreMLPackage(path: "x.mlpackage", model: model, blobs: nil)
            let found = try package.run(inputs: ["x": numbers], states: &states)
            #expect(found[back.name] == numbers)
        }
    }

    /// A table of words, and a head of as many, over a norm.
    private func decoder(words: Int, _ codec: String) throws -> CompressedProgram {
        var builder = ProgramBuilder(name: "decoder")
        let width = 16
        let numbers = (0..<words * width).map { Float(($0 * 37) % 101 - 50) / 40 }
        let tensor = StoredTensor(name: "words", floats: numbers, shape: [words, width])
        let table = builder.constant(tensor, isWeight: true)
        let gain = builder.literal(HostTensor([Float](repeating: 1.5, count: width), [width]), name: "gain")
        let ids = builder.input("ids", TensorType(.int64, [1, 6]))
        let x = try builder.apply(Gather(), [table, ids])
        let normal = try builder.apply(RMSNorm(epsilon: 1e-3), [x, gain])
        let logits = try builder.apply(Linear(), [normal, table])
        builder.output("logits", try builder.apply(Tanh(), [logits]))
        let function = try builder.finish().freezing(ShapeBindings())
        let recipe = Recipe(default: try Codecs.codec(codec))
        return try recipe.compressing([function], threads: 1)
    }

    @Test(
        "A table and a head that are too long for an axis are cut, and mean the same",
        arguments: ["float16", "palette:bits=4,group=4", "int8:axis=channel", "int4:block=16"])
    func cut(codec: String) throws {
        let program = try decoder(words: 50, codec)
        try withTemporaryFolder { folder in
            let path = "\(folder)/x.mlpackage"
            let exporter = CoreMLExporter(
                CoreMLOptions(
                    target: .iOS18, floatType: .float16, layout: .ane, allowsFallback: false, longestAxis: 16))
            let model = ExportedModel(program: program, family: "sample", provenance: [])
            let report = try exporter.export(model, to: path)
            #expect(report.lines.contains { $0.hasPrefix("in parts: logits as logits_0, logits_1, ") })
            let package = try CoreMLPackage(at: path)
            let sizes = package.model.program.functions[0].operations.flatMap { operation in
                operation.outputs.flatMap { $0.content.tensor.sizes ?? [] }
            }
            #expect(sizes.max() ?? 0 <= 16)
            var states: [String: HostTensor] = [:]
            let ids = HostTensor([0, 49, 16, 15, 33, 7] as [Int64], [1, 6])
            let found = try #require(try package.run(inputs: ["ids": ids], states: &states)["logits"])
            let weights = Dictionary(uniqueKeysWithValues: program.weights.map { ($0.tensor.name, $0.tensor) })
            let expected = try program.functions[0].evaluate(["ids": ids]) { constant in
                try weights[constant.name].map { HostTensor($0.floats(), $0.shape) }
                    ?? HostTensor(constant.requireTensor())
            }[0].tensor
            #expect(found.shape == expected.shape)
            for (a, b) in zip(found.floats, expected.floats) { #expect(abs(a - b) < 4e-3) }
        }
    }

    @Test("What keeps an operation off the Neural Engine is told")
    func obstacles() throws {
        func tensor(_ type: MILDataType, _ sizes: [Int]) -> MILType { .tensor(MILTensorType(type, sizes)) }
        func operation(_ type: String, _ result: MILType) -> MILOperation {
            MILOperation(type, inputs: [MILNamed("x", [.name("x")])], outputs: [MILNamed("y", result)])
        }
        let function = MILFunction(
            name: "main", inputs: [MILNamed("x", tensor(.float16, [1, 8, 1, 4]))], opset: "CoreML8",
            operations: [
                operation("relu", tensor(.float16, [1, 8, 1, 4])), operation("gather", tensor(.float16, [1, 8])),
                operation("cos", tensor(.float32, [1, 8])), operation("add", tensor(.int32, [1, 8])),
                operation("reshape", tensor(.float16, [1, 2, 2, 2, 4])),
                operation("conv", tensor(.float16, [1, 16385, 1, 4])),
            ], outputs: ["y"])
        let (count, obstacles) = NeuralEngineObstacle.all(in: function)
        #expect(count == 6)
        #expect(
            obstacles.map { "\($0.what.operation) \($0.what.reason)" }.sorted() == [
                "add computes integers", "conv has an axis of 16385; the longest is 16384",
                "cos computes in float32", "gather reads rows by integers",
                "reshape has 5 axes; the Neural Engine has 4",
            ])
    }
}
