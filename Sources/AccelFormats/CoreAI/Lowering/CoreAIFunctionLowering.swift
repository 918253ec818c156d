import AccelByteIO
import AccelPrograms
import AccelTensors

/// The resolved options of a Core AI export.
struct CoreAIOptions: Sendable {
    /// The type of activations: float32 or float16.
    var floatType = CoreAIElement.float32
    /// Whether attention and norms are declared as what Apple's fused kernels compute.
    var declaresComposites = true
    /// Whether ports have the types of the static engine of coreai-models.
    var isForStaticEngine = false
    /// Whether a weight with an unsupported scheme is written as plain numbers.
    var allowsFallback = false

    /// Returns the type of an input or output.
    func portElement(_ name: String, _ type: ElementType) -> CoreAIElement {
        switch type {
        case .bool: .bool
        case .int64: isForStaticEngine && name == "position_ids" ? .uint16 : .int32
        default: isForStaticEngine ? .float16 : .float32
        }
    }

    /// Returns the type of a state.
    func stateElement(_ type: ElementType) -> CoreAIElement {
        isForStaticEngine && type.isFloatingPoint ? .float16 : CoreAIElement(type)
    }
}

/// Lowers one frozen function to a graph.
struct CoreAIFunctionLowering {
    /// A value of a program while its function is lowered.
    private enum Source {
        case constant(Program.Constant)
        case value(CoreAIValue)
    }

    let options: CoreAIOptions
    /// The weights and private graphs of all functions.
    var parts: CoreAIParts
    var builder: CoreAIBuilder
    private var lowered: [String: CoreAIValue] = [:]
    private let positionNodes: Set<String>

    init(_ program: Program, _ parts: CoreAIParts, options: CoreAIOptions) {
        (self.parts, self.options) = (parts, options)
        builder = CoreAIBuilder(floatType: options.floatType)
        positionNodes = options.floatType == .float16 ? PositionArithmetic.nodes(of: program) : []
    }

    /// Returns the graph of a function, and the parts with those that it needs.
    /// - Throws: `RequestError` with the operator or tensor that the format does not support.
    static func graph(
        of function: FrozenProgram, named name: String, _ parts: CoreAIParts, options: CoreAIOptions
    ) throws -> (graph: CoreAIGraph, parts: CoreAIParts) {
        let program = function.program
        var lowering = CoreAIFunctionLowering(program, parts, options: options)
        var graph = CoreAIGraph(name: name, arguments: [], results: [], body: CoreAIBlock())
        var sources = lowering.constants(of: program)
        for input in program.inputs {
            let type = program.type(of: input.value)
            let element = options.portElement(input.name, type.elementType)
            let value = lowering.builder.argument(type.shape?.dimensions ?? [], element)
            graph.arguments.append(CoreAIGraph.Port(name: input.name, type: value.type))
            sources[input.value] = .value(value)
        }
        let stored = program.states.map {
            CoreAIType.tensor(
                program.type(of: $0.value).shape?.dimensions ?? [],
                options.stateElement(program.type(of: $0.value).elementType))
        }
        let handles = zip(program.states, stored).map { state, type in
            graph.arguments.append(CoreAIGraph.Port(name: state.name, type: .handle(type), isMutable: true))
            return lowering.builder.argument(.handle(type))
        }
        var tokens: [Int] = []
        for (index, state) in program.states.enumerated() {
            let token = lowering.builder.append(CoreAIOperation(name: "dataflow.create_token_v1", results: [.token]))
            let read = lowering.builder.append(
                CoreAIOperation(
                    name: "dataflow.read_handle_v1", operands: [handles[index], token],
                    results: [stored[index], .token]))
            tokens.append(read + 1)
            sources[state.value] = .value(
                CoreAIValue(
                    id: read, shape: program.type(of: state.value).shape?.dimensions ?? [],
                    element: options.stateElement(program.type(of: state.value).elementType)))
        }
        try lowering.lower(program, &sources, precisely: false)
        for (index, state) in program.states.enumerated() {
            let element = options.stateElement(program.type(of: state.value).elementType)
            let next = try lowering.operand(sources[state.next], as: element, state.name)
            tokens[index] = lowering.builder.append(
                CoreAIOperation(
                    name: "dataflow.write_handle_v1", operands: [handles[index], next.id, tokens[index]],
                    results: [.token]))
            graph.results.append(CoreAIGraph.Port(name: state.name, type: .token))
        }
        var results = tokens
        for output in program.outputs {
            let type = program.type(of: output.value).elementType
            let element = options.portElement(output.name, type)
            let value = try lowering.operand(sources[output.value], as: element, output.name)
            results.append(value.id)
            // A state has one name as an argument and as a result, and no output may have it too.
            let isTaken = program.states.contains { $0.name == output.name }
            let name = isTaken ? output.name + CoreMLModel.outputSuffix : output.name
            graph.results.append(CoreAIGraph.Port(name: name, type: value.type))
        }
        lowering.builder.append(CoreAIOperation(name: CoreAIOperation.output, operands: results))
        graph.body = lowering.builder.block
        return (graph, lowering.parts)
    }

    private func constants(of program: Program) -> [Value: Source] {
        Dictionary(program.constants.map { ($0.value, Source.constant($0)) }) { first, _ in first }
    }

    private static func inside(_ type: ElementType, _ float: CoreAIElement) -> CoreAIElement {
        type == .bool ? .bool : type.isFloatingPoint ? float : .int32
    }

    // MARK: - Nodes

    /// Lowers the nodes of `program` in order. Operators without a rule are decomposed.
    private mutating func lower(_ program: Program, _ sources: inout [Value: Source], precisely: Bool) throws {
        for node in program.nodes {
            let types = node.outputs.map { program.type(of: $0) }
            let results = try lower(node, types, node.inputs.map { sources[$0] }, program, precisely: precisely)
            for (value, result) in zip(node.outputs, results) { sources[value] = result }
        }
    }

    private mutating func lower(
        _ node: Program.Node, _ types: [TensorType], _ inputs: [Source?], _ program: Program, precisely: Bool
    ) throws -> [Source] {
        let (operation, name) = (node.operation, node.operation.name)
        let rule = CoreAIRules.byName[name]
        let isPrecise =
            precisely || positionNodes.contains(node.label) || rule?.isPrecise(operation) ?? false
            || rule == nil && CoreAIRules.preciseDecompositions.contains(name)
        let outer = builder.floatType
        builder.floatType = isPrecise ? .float32 : options.floatType
        defer { builder.floatType = outer }
        let floats = builder.floatType
        func call(_ lowering: inout CoreAIFunctionLowering) throws -> CoreAICall {
            let operands = try zip(node.inputs, inputs).map { value, source in
                let type = program.type(of: value).elementType
                return try lowering.operand(source, as: Self.inside(type, floats), node.label)
            }
            return CoreAICall(
                inputs: operands, shape: types[0].shape?.dimensions ?? [],
                element: Self.inside(types[0].elementType, floats))
        }
        if options.declaresComposites, types.count == 1, let kind = CoreAICompositeKind(operation, inputs.count) {
            let fused = try call(&self)
            if let value = try composite(kind, node, fused) {
                parts.counts.fused[name, default: 0] += 1
                return [.value(value)]
            }
        }
        if let rule, types.count == 1 {
            let native = try call(&self)
            if let value = try rule.emit(operation, native, &builder) {
                parts.counts.native[name, default: 0] += 1
                return [.value(value)]
            }
        }
        guard let decomposition = try node.decomposition(of: program) else {
            let reason = CoreAIRules.unsupported[name]
            throw RequestError(
                "\(name) \"\(node.label)\" cannot be expressed in Core AI\(reason.map { ": \($0)" } ?? "")",
                code: reason?.code)
        }
        var sources = constants(of: decomposition)
        for (input, source) in zip(decomposition.inputs, inputs) { sources[input.value] = source }
        parts.counts.decomposed[name, default: 0] += 1
        try lower(decomposition, &sources, precisely: isPrecise)
        return decomposition.outputs.compactMap { sources[$0.value] }
    }

    /// Calls the private graph of a composite, which other calls with the same shapes and numbers share.
    private mutating func composite(
        _ kind: CoreAICompositeKind, _ node: Program.Node, _ call: CoreAICall
    ) throws -> CoreAIValue? {
        guard let declaration = kind.declaration(of: call) else { return nil }
        let key = CoreAIParts.CompositeKey(
            declaration: declaration, types: call.inputs.map(\.type), attributes: node.operation.attributes,
            element: builder.floatType)
        let name: String
        if let known = parts.composites[key] {
            name = known
        } else {
            guard let body = try kind.body(node.operation, call) else { return nil }
            var inner = CoreAIFunctionLowering(body, parts, options: options)
            inner.builder.floatType = builder.floatType
            var sources = inner.constants(of: body)
            let arguments = call.inputs.map { inner.builder.argument($0.shape, $0.element) }
            for (input, value) in zip(body.inputs, arguments) { sources[input.value] = .value(value) }
            let isPrecise = builder.floatType == .float32
            try inner.lower(body, &sources, precisely: isPrecise)
            let result = try inner.operand(sources[body.outputs[0].value], as: builder.floatType, node.label)
            inner.builder.append(CoreAIOperation(name: CoreAIOperation.output, operands: [result.id]))
            let counts = parts.counts
            parts = inner.parts
            // The operators of a body were counted as the composite.
            parts.counts = counts
            name = parts.add(
                CoreAIGraph(
                    name: declaration.kind,
                    arguments: zip(declaration.inputs, arguments).map { CoreAIGraph.Port(name: $0, type: $1.type) },
                    results: [CoreAIGraph.Port(name: "output", type: result.type)], composite: declaration,
                    body: inner.builder.block), for: key)
        }
        let id = builder.append(
            CoreAIOperation(
                name: CoreAIOperation.invoke, operands: call.inputs.map(\.id),
                results: [.tensor(call.shape, call.element)],
                properties: [
                    .required(.array([])), .required(.parameter(.symbols([name]), .symbol)), .required(.array([])),
                ]))
        return CoreAIValue(id: id, shape: call.shape, element: call.element)
    }

    // MARK: - Operands

    /// Returns a value in a type.
    private mutating func operand(_ source: Source?, as element: CoreAIElement, _ label: String) throws -> CoreAIValue {
        switch source {
        case .value(let value):
            return builder.cast(value, to: element)
        case .constant(let constant):
            // Literals of decompositions have equal names, and may have other elements.
            let digest = try constant.isWeight ? "" : "\(SHA256.digest(of: constant.requireTensor().bytes))"
            let key = "\(constant.name) \(digest) \(constant.shape)"
            let value = try lowered[key] ?? parts.weights.lowered(constant, in: &builder)
            lowered[key] = value
            return builder.cast(value, to: element)
        case nil:
            throw RequestError("\(label): nothing makes an input", status: .internalFailure)
        }
    }
}

extension Program.Node {
    /// Returns the same computation from more basic operators, with the node's operands as inputs; nil for a primitive.
    fileprivate func decomposition(of program: Program) throws -> Program? {
        var parts = ProgramBuilder(name: label)
        let values = inputs.enumerated().map { parts.input("\($0)", program.type(of: $1)) }
        guard let made = try operation.decomposed(values, in: &parts) else { return nil }
        for (index, value) in made.enumerated() { parts.output("\(index)", value) }
        return try parts.finish()
    }
}
