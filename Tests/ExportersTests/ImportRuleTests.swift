import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelFormats

/// What is read of a package to be converted, against what the package means.
@Suite("Import rules of Core ML")
struct ImportRuleTests {
    @Test(
        "A graph has registered operators only, and gives what the operations mean",
        arguments: ["operators_iOS16", "operators_iOS18", "encoder", "states"])
    func graphs(name: String) throws {
        let package = try CoreMLReadingTests.package(name)
        let (meaning, graph) = (try package.program(for: .meaning), try package.program(for: .graph))
        let registered = Set(Operators.all.map { $0.name })
        #expect(Set(graph.program.nodes.map(\.operation.name)).subtracting(registered) == [])
        let golden = try SafetensorsFile(Fixtures.path("coreml/\(name).safetensors"))
        var inputs: [String: HostTensor] = [:]
        for input in graph.program.inputs {
            let tensor = golden["in.\(input.name)"] ?? golden["in.\(input.name).0"]
            inputs[input.name] = HostTensor(try #require(tensor, "\(input.name)"))
        }
        func run(_ function: FrozenProgram) throws -> [(name: String, tensor: HostTensor)] {
            var states: [String: HostTensor] = [:]
            let outputs = try function.evaluate(inputs, states: &states)
            return outputs.map { ($0.name, $0.tensor) } + states.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
        // What is float32 in the package is nearly the same (an inverse sine near 1 cancels); halves are not rounded in between.
        let isHalf = name == "encoder" || name == "states"
        for (found, wanted) in zip(try run(graph), try run(meaning)) {
            #expect(found.name == wanted.name && found.tensor.shape == wanted.tensor.shape)
            let (x, y) = (found.tensor.floats, wanted.tensor.floats)
            let scale = max(y.filter(\.isFinite).map(abs).max() ?? 0, 1e-6)
            let worst = zip(x, y).map { $0 == $1 || $0.isNaN && $1.isNaN ? 0 : abs($0 - $1) / scale }.max() ?? 0
            #expect(worst <= (isHalf ? 4e-3 : 3e-4), "\(found.name): \(worst)")
        }
    }

    @Test("A rule reads every input that an operation of the samples has, and makes the operators that it lists")
    func table() throws {
        let names = [
            "operators_iOS16", "operators_iOS18", "encoder", "states", "functions", "weights_iOS16", "weights_iOS18",
            "checkpoint_right",
        ]
        // Of no effect on what the operation computes.
        let idle: Set = ["validate_indices", "name"]
        var tried: Set<String> = []
        for package in try names.map(CoreMLReadingTests.package) {
            for function in package.model.program.functions {
                for operation in function.operations where !operation.isConstant {
                    let rule = try #require(ImportRules.rule(for: operation.type), "\(operation.type)")
                    tried.insert(rule.name)
                    let given = Set(operation.inputs.map(\.name))
                    #expect(given.subtracting(rule.inputs).subtracting(idle) == [], "\(operation.type)")
                }
                var interpreter = try FunctionInterpreter(function, of: package, for: .graph)
                _ = try interpreter.program(shapes: [:])
                for (operation, made) in interpreter.made {
                    let listed = try #require(ImportRules.rule(for: operation)).operators.map { $0.name }
                    #expect(made.subtracting(listed) == [], "\(operation)")
                }
            }
        }
        #expect(tried.count > 90)
        let registered = Set(Operators.all.map { $0.name })
        for rule in ImportRules.all {
            #expect(Set(rule.operators.map { $0.name }).isSubset(of: registered), "\(rule.name)")
            #expect(!rule.inputs.isEmpty && Set(rule.inputs).count == rule.inputs.count, "\(rule.name)")
        }
    }

    @Test("A file of roles is what interface.schema.json says, and what it gives the ports of a package")
    func interfaces() throws {
        let text = """
            {"one": {"role": "encode", "inputs": {}, "outputs": {"y": {"kind": "embedding"}}, "states": {}, "links": []}}
            """
        let document = try JSON.parse(ByteView(Array(text.utf8)), file: "roles.json")
        #expect(try JSONSchema(named: "interface.schema.json").violations(of: document) == [])
        let file = try InterfaceFile(JSONField(document, file: "roles.json"))
        let source = CoreMLSource(try CoreMLReadingTests.package("functions"), interfaces: file)
        let programs = try source.model().programs
        #expect(programs.map(\.interface.role) == [.opaque, .encode])
        #expect(programs[1].interface.outputs["y"]?.kind == .embedding)
        let wrong = text.replacing("embedding", with: "cloud")
        let other = try JSON.parse(ByteView(Array(wrong.utf8)), file: "roles.json")
        #expect(throws: FormatError.self) {
            try CoreMLSource(
                CoreMLReadingTests.package("functions"), interfaces: InterfaceFile(JSONField(other, file: "roles.json"))
            ).model()
        }
    }

    @Test("A package may stand in a graph as often as its functions and shapes say")
    func functions() throws {
        func names(_ fixture: String) throws -> [String] {
            try ModelFormats.open(Fixtures.path("coreml/\(fixture).mlpackage")).model().programs.map(\.name)
        }
        #expect(try names("functions") == ["four", "one"])
        #expect(try names("encoder") == ["main_2x7", "main_1x4"])
    }
}
