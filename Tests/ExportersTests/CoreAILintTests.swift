import AccelByteIO
import TestSupport
import Testing

@testable import AccelFormats

/// The body of a function in short: arguments, and operations by their names without the dialect.
private struct GraphSketch: Sendable {
    private var body: CoreAIBlock
    /// A composite that the function may call.
    private var kind: String?

    init(_ arguments: CoreAIType...) { body = CoreAIBlock(arguments: arguments) }

    /// The number of the next value.
    private var next: Int { body.valueCount }

    func constant(_ result: CoreAIType) -> GraphSketch {
        adding(CoreAIOperation(name: CoreAIOperation.constant, results: [result], properties: [.required(.unit)]))
    }

    func adding(_ name: String, _ operands: [Int], _ results: CoreAIType...) -> GraphSketch {
        adding(CoreAIOperation(name: "primitive.\(name)_v1", operands: operands, results: results))
    }

    func calling(_ kind: String, _ operands: [Int], _ result: CoreAIType) -> GraphSketch {
        var sketch = adding(
            CoreAIOperation(
                name: CoreAIOperation.invoke, operands: operands, results: [result],
                properties: [
                    .required(.array([])), .required(.parameter(.symbols(["callee"]), .symbol)), .required(.array([])),
                ]))
        sketch.kind = kind
        return sketch
    }

    private func adding(_ operation: CoreAIOperation) -> GraphSketch {
        var sketch = self
        sketch.body.operations.append(operation)
        return sketch
    }

    func lint() throws -> [LintFinding] {
        func ports(_ types: [CoreAIType]) -> [CoreAIGraph.Port] {
            types.enumerated().map { CoreAIGraph.Port(name: "p\($0)", type: $1) }
        }
        var graphs = [
            CoreAIGraph(name: "main", arguments: ports(body.arguments), results: [], composite: nil, body: body)
        ]
        if let kind {
            graphs.append(
                CoreAIGraph(
                    name: "callee", arguments: [], results: [],
                    composite: CoreAIComposite(kind: kind, inputs: [], attributes: []), body: CoreAIBlock()))
        }
        let module = CoreAIModule(root: CoreAIOperation(asset: graphs), resources: [])
        let bytes = CoreAIEncoder(module).encoded().parts.reduce(into: [UInt8]()) { all, part in
            part.withBytes { all.append(contentsOf: $0) }
        }
        // As it is read from a file.
        return try CoreAIPackage(module: ByteView(bytes), metadata: nil, hash: nil, path: "sketch.aimodel").lint()
    }
}

private func half(_ sizes: Int...) -> CoreAIType { .tensor(sizes, .float16) }
private func single(_ sizes: Int...) -> CoreAIType { .tensor(sizes, .float32) }
private func integers(_ element: CoreAIElement, _ sizes: Int...) -> CoreAIType { .tensor(sizes, element) }

@Suite("The linter for Core AI models")
struct CoreAILintTests {
    private static let position = GraphSketch(half(1, 8, 4), integers(.int32, 3), half(1, 1, 4)).constant(
        integers(.int32, 3))
    private static let state: CoreAIType = .handle(half(1, 8, 4))
    private static let choice = GraphSketch(half(4, 8), single(4, 8)).constant(integers(.int32))

    /// A function that each rule finds, and one that it does not.
    private static let samples: [(rule: String, bad: GraphSketch, good: GraphSketch)] = [
        (
            "RK5", GraphSketch(half(4)).adding("reshape", [0], half(1, 1, 1, 1, 1, 4)),
            GraphSketch(half(4)).adding("reshape", [0], half(1, 1, 1, 1, 4))
        ),
        (
            "AX16", GraphSketch(half(1)).adding("broadcast_in_dims", [0], half(16_385)),
            GraphSketch(half(1)).adding("broadcast_in_dims", [0], half(16_384))
        ),
        (
            "F32",
            GraphSketch(half(4)).adding("exp", [0], half(4)).adding("cast", [1], single(4)).adding(
                "exp", [2], single(4)),
            GraphSketch(half(4)).adding("exp", [0], half(4)).adding("cast", [1], single(4))
        ),
        (
            "CAI2", GraphSketch(half(4)).adding("slice", [0], half(0)),
            GraphSketch(half(4)).adding("slice", [0], half(1))
        ),
        (
            "CAI3",
            GraphSketch(state, .token, half(1, 8, 4)).adding("write_handle", [0, 2, 1], .token)
                .adding("write_handle", [0, 2, 3], .token),
            GraphSketch(state, .token, half(1, 8, 4), state).adding("write_handle", [0, 2, 1], .token)
                .adding("write_handle", [3, 2, 4], .token)
        ),
        (
            "CAI1",
            choice.adding("argmax", [0, 2], integers(.uint32, 4, 1)).adding("cast", [3], integers(.int32, 4, 1))
                .adding("gather_nd", [0, 4], half(4, 8)),
            choice.adding("argmax", [1, 2], integers(.uint32, 4, 1)).adding("cast", [3], integers(.int32, 4, 1))
                .adding("gather_nd", [0, 4], half(4, 8))
        ),
        (
            "CAI2G", GraphSketch(half(4)).adding("floor", [0], half(4)),
            GraphSketch(half(4)).adding("round", [0], half(4))
        ),
        (
            "CAI2C",
            GraphSketch(half(4)).adding("cast", [0], integers(.int32, 4)).adding("cast", [1], half(4)),
            GraphSketch(integers(.int32, 4)).adding("cast", [0], half(4)).adding("cast", [1], single(4))
        ),
        (
            "CAI2M",
            GraphSketch(integers(.int64, 4)).adding("greater", [0, 0], integers(.bool, 4)).adding("cast", [1], half(4)),
            GraphSketch(integers(.int32, 4)).adding("greater", [0, 0], integers(.bool, 4)).adding("cast", [1], half(4))
        ),
        (
            "CAI3W", position.adding("slice_update", [0, 1, 3, 3, 2], half(1, 8, 4)),
            position.adding("slice_update", [0, 3, 3, 3, 2], half(1, 8, 4))
        ),
        (
            "CAI4", GraphSketch(.handle(half(1, .min, 4)), .token),
            GraphSketch(.handle(half(1, 8, 4)), .token, half(.min, 4))
        ),
        (
            "CAI4H",
            GraphSketch(half(2, 8), half(2, 8), half(2, 4)).calling(
                "scaled_dot_product_attention", [0, 1, 2], half(2, 4)),
            GraphSketch(half(2, 8), half(2, 8), half(2, 4)).calling("layer_norm", [0, 1, 2], half(2, 4))
        ),
        (
            "CAI5",
            GraphSketch().constant(integers(.int4, 4, 32)).constant(half(4, 1))
                .adding("blockwise_shift_scale", [0, 1], half(4, 32)),
            GraphSketch().constant(integers(.uint4, 4, 32)).constant(half(1, 1, 16, 1))
                .adding("lut_to_dense", [0, 1], half(4, 32))
        ),
        (
            "CAI5G",
            GraphSketch().constant(integers(.int8, 4, 64)).constant(half(4, 1))
                .adding("blockwise_shift_scale", [0, 1], half(4, 64)),
            GraphSketch().constant(integers(.int8, 4, 64)).constant(half(4, 2))
                .adding("blockwise_shift_scale", [0, 1], half(4, 64))
        ),
    ]

    @Test("Each rule has a finding in one function and none in another one")
    func rules() throws {
        #expect(Self.samples.map(\.rule).sorted() == CoreAILint.rules.map(\.name).sorted())
        for (rule, bad, good) in Self.samples {
            let finding = try bad.lint().first { $0.rule == rule }
            #expect(finding != nil, "\(rule)")
            #expect(
                finding?.function == "main" && finding?.count ?? 0 > 0 && finding?.location.isEmpty == false, "\(rule)")
            #expect(try !good.lint().contains { $0.rule == rule }, "\(rule)")
        }
    }

    @Test("A chosen index has the name of its operation, and operands that no value has are read without a trap")
    func hostile() throws {
        let first = try #require(try Self.samples.first { $0.rule == "CAI1" }?.bad.lint().first { $0.rule == "CAI1" })
        #expect(first.location == "argmax, operation 1" && first.reason.contains("gather_nd, operation 3"))
        var block = CoreAIBlock(arguments: [half(4)])
        for kind in ["slice_update", "gather_nd", "cast", "blockwise_shift_scale", "write_handle", "floor"] {
            for operands in [[], [7], [.max, -1], [0, 9, 2], [block.valueCount]] {
                block.operations.append(
                    CoreAIOperation(name: "primitive.\(kind)_v1", operands: operands, results: [half(4)]))
            }
        }
        block.operations.append(CoreAIOperation(name: CoreAIOperation.invoke, operands: [5], results: [half(4)]))
        let graph = CoreAIOperation(name: CoreAIOperation.graph, regions: [block])
        let found = try [LintFinding](CoreAILint.rules, in: [("x", LintedGraph(graph, calling: [:]))])
        #expect(found.contains { $0.rule == "CAI2G" && $0.count == 5 })
    }

    @Test("A model of Apple's converter is read")
    func fixture() throws {
        let findings = try CoreAIPackage(at: Fixtures.path("coreai/llama_int4.aimodel")).lint()
        #expect(findings.contains { $0.rule == "CAI5" && $0.count > 1 })
        #expect(findings.allSatisfy { $0.count > 0 && !$0.location.isEmpty })
    }
}
