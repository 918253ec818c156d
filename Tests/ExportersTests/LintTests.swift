import AccelByteIO
import TestSupport
import Testing

@testable import AccelFormats

/// A function in short: ports, and operations whose results are the last names.
private struct Sketch: Sendable {
    var inputs: [MILNamed<MILType>] = []
    var operations: [MILOperation] = []
    var outputs: [String] = []
    var ports: [CoreMLModel.Feature] = []

    init(_ inputs: [(String, MILTensorType)] = [], states: [(String, MILTensorType)] = []) {
        self.inputs =
            inputs.map { MILNamed($0.0, .tensor($0.1)) } + states.map { MILNamed($0.0, .state($0.1)) }
    }

    func adding(
        _ type: String, _ name: String, _ result: MILTensorType, _ arguments: [(String, MILBinding)] = []
    ) -> Sketch {
        var sketch = self
        sketch.operations.append(
            MILOperation(
                type, inputs: arguments.map { MILNamed($0.0, [$0.1]) }, outputs: [MILNamed(name, .tensor(result))]))
        sketch.outputs = [name]
        return sketch
    }

    func adding(constant name: String, _ value: MILValue, _ type: String = "const") -> Sketch {
        var sketch = self
        sketch.operations.append(
            MILOperation(type, outputs: [MILNamed(name, .tensor(value.type))], attributes: [MILNamed("val", value)]))
        return sketch
    }

    func adding(port: CoreMLModel.Feature) -> Sketch {
        var sketch = self
        sketch.ports.append(port)
        return sketch
    }

    func returning(_ names: String...) -> Sketch {
        var sketch = self
        sketch.outputs = names
        return sketch
    }

    func lint() throws -> [LintFinding] {
        let function = MILFunction(
            name: "main", inputs: inputs, opset: "CoreML8", operations: operations, outputs: outputs)
        let interface = CoreMLModel.Interface(function: "main", inputs: ports, outputs: [])
        let model = CoreMLModel(
            specificationVersion: 9, metadata: .init(), interfaces: [interface],
            program: MILProgram(functions: [function]))
        return try CoreMLPackage(path: "sketch.mlpackage", model: model, blobs: nil).lint()
    }
}

private func half(_ sizes: Int...) -> MILTensorType { MILTensorType(.float16, sizes) }
private func single(_ sizes: Int...) -> MILTensorType { MILTensorType(.float32, sizes) }
private let x = MILBinding.name("x")
private func integers(_ numbers: Int...) -> MILBinding { .value(MILValue(numbers)) }
private func number(_ value: Float) -> MILBinding { .value(MILValue(MILTensorType(.float32, []), .floats([value]))) }

@Suite("Linter of Core ML packages")
struct LintTests {
    /// A function with a finding of the rule, and a similar one without.
    private static let samples: [(rule: String, bad: Sketch, good: Sketch)] = [
        ("S32", Sketch(states: [("k", half(1, 270, 64))]), Sketch(states: [("k", half(1, 256, 64))])),
        (
            "SPAL",
            Sketch(states: [("k", half(1, 256, 64))]).adding("constexpr_lut_to_dense", "w", half(64, 64)),
            Sketch().adding("constexpr_lut_to_dense", "w", half(64, 64))
        ),
        (
            "AX16", Sketch([("x", half(1, 64))]).adding("linear", "y", half(1, 51_865), [("x", x)]),
            Sketch([("x", half(1, 64))]).adding("linear", "y", half(1, 16_384), [("x", x)])
        ),
        ("RK5", Sketch([("x", half(1, 1, 1, 1, 1, 32))]), Sketch([("x", half(1, 1, 1, 1, 32))])),
        (
            "LAST", Sketch([("x", half(1, 65_536))]).adding("reshape", "y", half(65_536, 1), [("x", x)]),
            Sketch([("x", half(1, 65_536))]).adding("reshape", "y", half(1024, 64), [("x", x)])
        ),
        (
            "FLEX", Sketch().adding(port: .init("x", half(1, 8), enumeratedShapes: [[1, 8], [1, 16]])),
            Sketch().adding(port: .init("x", half(1, 8), enumeratedShapes: [[1, 8]]))
        ),
        (
            "F32",
            Sketch([("x", half(1, 64))]).adding("relu", "y", half(1, 64), [("x", x)])
                .adding("softmax", "z", single(1, 64), [("x", .name("y"))]),
            Sketch([("x", single(1, 64))]).adding("cast", "h", half(1, 64), [("x", x)])
                .adding("relu", "y", half(1, 64), [("x", .name("h"))])
        ),
        (
            "INF",
            Sketch([("x", half(1, 64))]).adding(constant: "mask", MILValue(single(2), .floats([0, -1e9])))
                .adding("relu", "y", half(1, 64), [("x", x)]),
            Sketch([("x", single(1, 64))]).adding(constant: "mask", MILValue(single(2), .floats([0, -1e9])))
                .adding("relu", "y", single(1, 64), [("x", x)])
        ),
        (
            "NORM",
            Sketch([("x", half(1, 64))]).adding("mul", "s", half(1, 64), [("x", x), ("y", x)])
                .adding("reduce_mean", "m", half(1, 1), [("x", .name("s"))]),
            Sketch([("x", half(1, 64)), ("z", half(1, 64))])
                .adding("mul", "s", half(1, 64), [("x", x), ("y", .name("z"))])
                .adding("reduce_mean", "m", half(1, 1), [("x", .name("s"))])
        ),
        (
            "EPS",
            Sketch([("x", half(1, 64))]).adding(
                "layer_norm", "y", half(1, 64), [("x", x), ("epsilon", number(1e-12))]),
            Sketch([("x", half(1, 64))]).adding("layer_norm", "y", half(1, 64), [("x", x), ("epsilon", number(1e-5))])
        ),
        (
            "EXP", Sketch([("x", half(1, 64))]).adding("exp", "y", half(1, 64), [("x", x)]),
            Sketch([("x", half(1, 64))]).adding("reduce_max", "m", half(1, 1), [("x", x)])
                .adding("sub", "d", half(1, 64), [("x", x), ("y", .name("m"))])
                .adding("exp", "y", half(1, 64), [("x", .name("d"))])
        ),
        (
            "PHASE",
            Sketch([("x", half(1, 512))]).adding("cumsum", "y", half(1, 512), [("x", x), ("axis", integers(1))]),
            Sketch([("x", half(1, 128))]).adding("cumsum", "y", half(1, 128), [("x", x), ("axis", integers(-1))])
        ),
        (
            "CUT", Sketch([("x", half(1, 64))]).adding("topk", "y", half(1, 32), [("x", x)]),
            Sketch([("x", half(1, 64))]).adding("relu", "y", half(1, 64), [("x", x)])
        ),
        (
            "RNN", Sketch([("x", half(1, 64))]).adding("lstm", "y", half(1, 64), [("x", x)]),
            Sketch([("x", half(1, 64))]).adding("linear", "y", half(1, 64), [("x", x)])
        ),
        (
            "SMAX",
            Sketch([("x", half(1, 8192))]).adding("softmax", "y", half(1, 8192), [("x", x), ("axis", integers(-1))]),
            Sketch([("x", half(1, 4096))]).adding("softmax", "y", half(1, 4096), [("x", x), ("axis", integers(-1))])
        ),
        (
            "BIG", Sketch().adding("const", "w", half(16_384, 20_000)),
            Sketch().adding("const", "w", half(16_384, 16_384))
        ),
        (
            "I8A", Sketch().adding("constexpr_affine_dequantize", "w", half(16_384, 20_000)),
            Sketch().adding("constexpr_affine_dequantize", "w", half(16_384, 16_384))
        ),
        (
            "IOID", Sketch([("x", half(1, 64))]).returning("x"),
            Sketch([("x", half(1, 64))]).adding("identity", "y", half(1, 64), [("x", x)])
        ),
        (
            "CONV",
            Sketch([("x", half(1, 8, 64))]).adding("conv", "y", half(1, 8, 12), [("x", x), ("strides", integers(5))]),
            Sketch([("x", half(1, 8, 64))]).adding("conv", "y", half(1, 8, 32), [("x", x), ("strides", integers(2))])
        ),
    ]

    @Test("Each rule has a finding in one function and none in another one")
    func rules() throws {
        #expect(Self.samples.map(\.rule).sorted() == CoreMLLint.rules.map(\.name).sorted())
        for (rule, bad, good) in Self.samples {
            let finding = try bad.lint().first { $0.rule == rule }
            #expect(finding?.function == "main" && finding?.count ?? 0 > 0, "\(rule)")
            #expect(try !good.lint().contains { $0.rule == rule }, "\(rule)")
        }
    }

    @Test("Convolutions: palettes take strides of two, and windows thirteen columns")
    func convolutions() throws {
        func found(_ stride: Int, _ kernel: Int, _ weight: String) throws -> Bool {
            try Sketch([("x", half(1, 8, 64))]).adding(weight, "w", half(8, 8, kernel))
                .adding("conv", "y", half(1, 8, 16), [("x", x), ("weight", .name("w")), ("strides", integers(stride))])
                .lint().contains { $0.rule == "CONV" }
        }
        #expect(try !found(4, 13, "constexpr_affine_dequantize"))
        #expect(try found(4, 13, "constexpr_lut_to_dense"))
        #expect(try !found(2, 13, "constexpr_lut_to_dense"))
        #expect(try found(2, 14, "constexpr_affine_dequantize"))
    }

    @Test("The most severe findings come first, and a summary counts rules")
    func order() throws {
        let findings = try Sketch([("x", half(1, 32_768))]).adding("topk", "y", half(1, 32), [("x", x)])
            .adding(constant: "mask", MILValue(single(1), .floats([.infinity]))).lint()
        #expect(findings.map(\.rule) == ["INF", "AX16", "CUT"])
        #expect(findings.summary == "1 error (INF), 1 warning (AX16), 1 note (CUT)")
        #expect([LintFinding]().summary == nil)
    }

    @Test("Sizes and axes that no program has are read without overflow")
    func hostile() throws {
        for axis in [Float.infinity, -.infinity, .nan, 1e30, -9] {
            let sketch = Sketch([("x", half(.max / 4, 2))]).adding("const", "v", half(.max, 2))
                .adding("const", "w", half(.max / 4, 2)).adding("constexpr_affine_dequantize", "q", half(.max, 2))
                .adding("softmax", "y", half(.max / 4, 2), [("x", x), ("axis", number(axis))])
                .adding("cumsum", "z", half(.max / 4, 2), [("x", x), ("axis", number(axis))])
                .adding(
                    "conv", "c", half(1, 8, 12), [("x", x), ("strides", number(axis)), ("kernel_sizes", number(axis))])
            #expect(try sketch.lint().contains { $0.rule == "AX16" }, "\(axis)")
        }
    }

    @Test("Packages of the fixtures are read")
    func fixtures() throws {
        for name in ["encoder", "functions", "operators_iOS16", "operators_iOS18"] {
            let package = try CoreMLPackage(at: Fixtures.path("coreml/\(name).mlpackage"))
            #expect(try package.lint().allSatisfy { $0.count > 0 && !$0.location.isEmpty }, "\(name)")
        }
    }
}
