import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelFormats

@Suite("One function of several shapes")
struct ShapeMergerTests {
    /// A layer of a transformer over words, learned places and places that are computed.
    private func encoder() throws -> Program {
        var builder = ProgramBuilder(name: "encoder", dimensions: [Program.FreeDimension("sequence", usual: [8])])
        func weight(_ name: String, _ shape: Shape, _ builder: inout ProgramBuilder) -> Value {
            let numbers = (0..<shape.count).map { Float(($0 * 37 + name.count * 11) % 101 - 50) / 80 }
            return builder.constant(StoredTensor(name: name, floats: numbers, shape: shape), isWeight: true)
        }
        func linear(_ name: String, _ x: Value, _ builder: inout ProgramBuilder) throws -> Value {
            try builder.apply(Linear(), [x, weight("\(name).weight", [8, 8], &builder)])
        }
        let type = TensorType(.int64, [1, "sequence"])
        let (ids, kinds) = (builder.input("ids", type), builder.input("kinds", type))
        let words = try builder.apply(Gather(), [weight("words", [12, 8], &builder), ids])
        let sorts = try builder.apply(Gather(), [weight("sorts", [2, 8], &builder), kinds])
        let places = try builder.apply(
            Slice(begin: [0, 0], sizes: ["sequence", 8]), [weight("places", [32, 8], &builder)])
        let ramp = builder.literal(HostTensor((0..<32 * 8).map { Float($0) / 16 }, [32, 8]), name: "ramp")
        let angles = try builder.apply(Slice(begin: [0, 0], sizes: ["sequence", 8]), [ramp])
        var x = try builder.apply(Add(), [words, sorts])
        x = try builder.apply(Add(), [x, places])
        x = try builder.apply(Add(), [x, try builder.apply(Cos(), [angles])])
        var heads: [Value] = []
        for name in ["q", "k", "v"] {
            let all = try linear(name, x, &builder)
            let apart = try builder.apply(Reshape(to: [1, "sequence", 2, 4]), [all])
            heads.append(try builder.apply(Transpose([0, 2, 1, 3]), [apart]))
        }
        let mixed = try builder.apply(Transpose([0, 2, 1, 3]), [try builder.apply(Attention(scale: 0.5), heads)])
        let joined = try builder.apply(Reshape(to: [1, "sequence", 8]), [mixed])
        builder.output("y", try linear("o", joined, &builder))
        return try builder.finish()
    }

    private func exported(_ program: Program, _ lengths: [Int], _ options: CoreMLOptions) throws -> CoreMLPackage {
        let functions = try lengths.map { try program.freezing(ShapeBindings(["sequence": $0])) }
        let recipe = Recipe(default: try Codecs.codec("float16"))
        let model = ExportedModel(
            program: try recipe.compressing(functions, threads: 1), family: "sample", provenance: [])
        return try withTemporaryFolder { folder in
            _ = try CoreMLExporter(options).export(model, to: "\(folder)/x.mlpackage")
            return try CoreMLPackage(at: "\(folder)/x.mlpackage")
        }
    }

    private func options(_ target: CoreMLTarget, _ layout: CoreMLOptions.Layout = .plain) -> CoreMLOptions {
        CoreMLOptions(
            target: target, floatType: .float16, layout: layout, enumeratesShapes: true, allowsFallback: false)
    }

    @Test(
        "It computes what the model does in each of them, for every target and layout",
        arguments: CoreMLTarget.allCases, CoreMLOptions.Layout.allCases)
    func shapes(target: CoreMLTarget, layout: CoreMLOptions.Layout) throws {
        let program = try encoder()
        let lengths = [6, 16, 9]
        let package = try exported(program, lengths, options(target, layout))
        #expect(package.model.interfaces.count == 1)
        let interface = package.model.interfaces[0]
        let all = lengths.map { [1, $0] }
        #expect(interface.inputs[0].enumeratedShapes == all && interface.inputs[0].type.sizes == [1, 6])
        #expect(interface.inputs[1].enumeratedShapes == (target >= .iOS18 ? all : []))
        #expect(interface.inputs[1].shapeRanges == (target >= .iOS18 ? [] : [1...1, 6...16]))
        #expect(interface.outputs[0].type.dimensions.isEmpty)
        for length in lengths {
            var states: [String: HostTensor] = [:]
            let inputs = [
                "ids": HostTensor((0..<length).map { Int64($0 * 5 % 12) }, [1, length]),
                "kinds": HostTensor((0..<length).map { Int64($0 % 2) }, [1, length]),
            ]
            let found = try #require(try package.run(inputs: inputs, states: &states)["y"])
            let frozen = try program.freezing(ShapeBindings(["sequence": length]))
            let expected = try frozen.evaluate(inputs)[0].tensor
            #expect(found.shape == expected.shape)
            for (a, b) in zip(found.floats, expected.floats) { #expect(abs(a - b) < 2e-2) }
        }
    }

    @Test("Its constants are those of the longest shape, of which the others are the beginning")
    func tables() throws {
        let package = try exported(try encoder(), [6, 16], options(.iOS17))
        let function = package.model.program.functions[0]
        let shapes = function.operations.filter { $0.type == "shape" }
        #expect(shapes.count == 1)
        let constants = function.operations.filter { $0.type == "const" }.compactMap { $0["val"]?.type.sizes }
        #expect(constants.contains([16, 8]) && !constants.contains([6, 8]))
        #expect(!constants.contains([1, 6, 2, 4]))
        let corner = ShapeMerger.corner([2, 2], of: Array(0..<24), [3, 4], elementBytes: 2)
        #expect(corner == [0, 1, 2, 3, 8, 9, 10, 11])
        #expect(ShapeMerger.corner([4, 2], of: Array(0..<24), [3, 4], elementBytes: 2) == nil)
        #expect(ShapeMerger.corner([2, 2], of: Array(0..<23), [3, 4], elementBytes: 2) == nil)
    }

    @Test("An operation that has to know the sizes before the model runs is named")
    func rejected() throws {
        var builder = ProgramBuilder(name: "wide", dimensions: [Program.FreeDimension("sequence", usual: [8])])
        let x = builder.input("x", TensorType(.float32, ["sequence", 4]))
        let row = builder.constant(
            StoredTensor(name: "row", floats: [1, 2, 3, 4], shape: [1, 4]), isWeight: true)
        let rows = try builder.apply(Expand(to: ["sequence", 4]), [row])
        builder.output("y", try builder.apply(Add(), [x, rows]))
        let program = try builder.finish()
        #expect {
            _ = try exported(program, [5, 7], options(.iOS17))
        } throws: { error in
            guard let diagnostic = (error as? RequestError)?.diagnostic else { return false }
            return diagnostic.text.hasPrefix("tile \"") && diagnostic.text.contains("has reps [5, 1], [7, 1]")
                && diagnostic.candidates == ["shapes-as=functions"]
        }
        #expect(try exported(program, [5], options(.iOS17)).model.interfaces[0].inputs[0].enumeratedShapes == [])
    }
}
