import AccelByteIO
import AccelPrograms
import AccelTensors

/// Lowers one frozen function to MIL.
struct FunctionLowering {
    struct Converted: Hashable {
        let name: String
        let type: MILDataType
        var layout: ChannelsLayout?
    }

    private let function: FrozenProgram
    let options: CoreMLOptions
    var weights: WeightLowering
    var builder: MILBuilder
    /// Operands that were converted to another type or layout, or decompressed.
    var converted: [Converted: MILOperand] = [:]
    private var counts = LoweringCounts()
    /// The labels of the nodes that compute with positions.
    private let positionNodes: Set<String>

    init(_ function: FrozenProgram, weights: WeightLowering, options: CoreMLOptions) {
        self.function = function
        self.options = options
        self.weights = weights
        builder = MILBuilder(floatType: options.floatType)
        positionNodes = options.floatType == .float16 ? PositionArithmetic.nodes(of: function.program) : []
    }

    /// - Throws: `RequestError` with the operator or tensor that the target does not support.
    consuming func lowered(named name: String) throws -> (
        function: MILFunction, interface: CoreMLModel.Interface, weights: WeightLowering, counts: LoweringCounts
    ) {
        let program = function.program
        var sources: [Value: LoweredValue] = [:]
        for constant in program.constants { sources[constant.value] = .constant(constant) }
        var inputs: [MILNamed<MILType>] = []
        var interface = CoreMLModel.Interface(function: name, inputs: [], outputs: [])
        // Functions share states by name, so a state needs the same name in each function.
        let stateNames = program.states.map { builder.unique($0.name) }
        // The description of a port, which Xcode shows.
        func feature(_ name: String, _ type: MILTensorType, _ role: Role?) -> CoreMLModel.Feature {
            CoreMLModel.Feature(name, type, description: role.map { "\($0)" } ?? "")
        }
        let outputNames = program.outputs.map { output in
            let isTaken = stateNames.contains(MILBuilder.identifier(output.name))
            return builder.unique(isTaken ? output.name + CoreMLModel.outputSuffix : output.name)
        }
        for input in program.inputs {
            let type = MILTensorType(
                outside(program.type(of: input.value).elementType, options.inputType), sizes(input.value, program))
            let operand = MILOperand(name: builder.unique(input.name), type: type, isConstant: false)
            inputs.append(MILNamed(operand.name, .tensor(type)))
            interface.inputs.append(feature(operand.name, type, program.interface.inputs[input.name]))
            sources[input.value] = .operand(operand)
        }
        var states: [Value: MILOperand] = [:]
        for (state, stateName) in zip(program.states, stateNames) {
            guard state.initial == 0 else {
                throw RequestError(
                    "\(function.functionName): the state \"\(state.name)\" starts as \(state.initial), but Core ML's states start as zeros",
                    status: .unavailable)
            }
            let type = MILTensorType(.float16, sizes(state.value, program))
            let operand = MILOperand(name: stateName, type: type, isConstant: false)
            inputs.append(MILNamed(operand.name, .state(type)))
            interface.states.append(feature(operand.name, type, program.interface.states[state.name]))
            states[state.next] = operand
            builder.label = "\(operand.name)_read"
            sources[state.value] = .operand(builder.apply("read_state", ["input": .operand(operand)], type))
        }
        try lower(program, &sources, precisely: false) { value, sources, lowering in
            guard let state = states[value] else { return }
            let next = try lowering.operand(value, sources, as: .float16)
            lowering.builder.perform("write_state", ["input": .operand(state), "data": .operand(next)])
        }
        for (output, name) in zip(program.outputs, outputNames) {
            let type = outside(program.type(of: output.value).elementType, options.outputType)
            let role = program.interface.outputs[output.name]
            guard case .pieces(let pieces)? = sources[output.value] else {
                let inner = try operand(output.value, sources, as: nil)
                interface.outputs.append(feature(name, result(inner, type, named: name), role))
                continue
            }
            let names = pieces.indices.map { builder.unique("\(name)_\($0)") }
            for (piece, part) in zip(pieces, names) {
                builder.label = part
                interface.outputs.append(feature(part, result(builder.plain(piece), type, named: part), role))
            }
            counts.joined[name] = names
        }
        let operations = builder.operations.withoutUnreadConstants
        let made = Set(operations.flatMap(\.outputs).map(\.name))
        weights.held = weights.held.filter { made.contains($0.key) }
        let lowered = MILFunction(
            name: name, inputs: inputs, opset: options.target.opset, operations: operations,
            outputs: interface.outputs.map(\.name))
        return (lowered, interface, weights, counts)
    }

    /// Appends the operation that gives an output its name.
    private mutating func result(_ inner: MILOperand, _ type: MILDataType, named name: String) -> MILTensorType {
        builder.label = name
        let operand =
            inner.type.dataType == type
            ? builder.apply("identity", ["x": .operand(inner)], inner.type, named: name)
            : builder.cast(inner, to: type, named: name)
        return operand.type
    }

    private func sizes(_ value: Value, _ program: Program) -> [Int] {
        program.type(of: value).shape?.dimensions ?? []
    }

    /// The type of an input or output for applications: that of the options for numbers, int32 for all others.
    private func outside(_ type: ElementType, _ float: MILDataType) -> MILDataType {
        type == .float32 ? float : .int32
    }

    private func inside(_ type: ElementType, _ float: MILDataType) -> MILDataType {
        switch type {
        case .float32: float
        case .bool: .bool
        default: .int32
        }
    }

    /// Lowers the nodes of `program` in order. Operators without a lowering rule are decomposed.
    private mutating func lower(
        _ program: Program, _ sources: inout [Value: LoweredValue], precisely: Bool,
        after: (Value, [Value: LoweredValue], inout FunctionLowering) throws -> Void = { _, _, _ in }
    ) throws {
        for node in program.nodes {
            let types = node.outputs.map { program.type(of: $0) }
            let results = try lower(node, types, node.inputs.map { sources[$0] }, program, precisely: precisely)
            for (value, result) in zip(node.outputs, results) {
                sources[value] = result
                try after(value, sources, &self)
            }
        }
    }

    private mutating func lower(
        _ node: Program.Node, _ types: [TensorType], _ inputs: [LoweredValue?], _ program: Program, precisely: Bool
    ) throws -> [LoweredValue] {
        let subject = "\(node.operation.name) \"\(node.label)\""
        let native = Lowerings.byName[node.operation.name].flatMap { $0.since <= options.target ? $0 : nil }
        let wantsPrecision =
            native?.isPrecise(node.operation) ?? false
            || native == nil && Lowerings.preciseDecompositions.contains(node.operation.name)
        let isPrecise = precisely || positionNodes.contains(node.label) || wantsPrecision && !options.keepsHalves
        let outer = builder.floatType
        builder.floatType = isPrecise ? .float32 : options.floatType
        defer { builder.floatType = outer }
        builder.label = node.label
        // Rows of codes have no such layout; as parts of the operator they are rejected.
        let hasCodes = node.inputs.contains { program.type(of: $0).elementType == .int8 }
        if options.layout == .ane, !isPrecise, !hasCodes, types.count == 1,
            let rule = ChannelsRule.byName[node.operation.name]
        {
            let call = ChannelsCall(
                operation: options.adapted(node.operation), inputs: inputs.compactMap(\.self),
                sizes: node.inputs.map { sizes($0, program) }, result: types[0].shape?.dimensions ?? [],
                resultType: inside(types[0].elementType, builder.floatType))
            if let result = try rule.apply(call, &self) {
                counts.native[node.operation.name, default: 0] += 1
                return [result]
            }
            builder.label = node.label
        }
        if let native {
            let operands = try zip(node.inputs, inputs).map { value, source in
                try operand(source, as: inside(program.type(of: value).elementType, builder.floatType), node.label)
            }
            if native.fits(node.operation, operands), types.count == 1 {
                builder.label = node.label
                builder.resultSizes = types[0].shape?.dimensions ?? []
                builder.resultType = inside(types[0].elementType, builder.floatType)
                counts.native[node.operation.name, default: 0] += 1
                if builder.floatType != options.floatType { counts.precise[node.operation.name, default: 0] += 1 }
                return [.operand(try native.emit(options.adapted(node.operation), operands, &builder))]
            }
        }
        var parts = ProgramBuilder(name: node.label)
        let values = node.inputs.enumerated().map { parts.input("\($0)", program.type(of: $1)) }
        guard let made = try node.operation.decomposed(values, in: &parts) else {
            throw unsupported(node.operation, subject)
        }
        for (index, value) in made.enumerated() { parts.output("\(index)", value) }
        let decomposition = try parts.finish()
        var sources: [Value: LoweredValue] = [:]
        for (input, source) in zip(decomposition.inputs, inputs) { sources[input.value] = source }
        for constant in decomposition.constants { sources[constant.value] = .constant(constant) }
        counts.decomposed[node.operation.name, default: 0] += 1
        try lower(decomposition, &sources, precisely: isPrecise)
        return decomposition.outputs.compactMap { sources[$0.value] }
    }

    /// The error for an operator that the target does not have.
    private func unsupported(_ operation: any Operator, _ subject: String) -> RequestError {
        let reason = Lowerings.unsupported[operation.name]
        let since = Lowerings.byName[operation.name]?.since
        return RequestError(
            "\(subject) is not supported in Core ML for \(options.target.rawValue)\(reason.map { ": \($0)" } ?? "")",
            code: since == nil ? reason?.code : .unsupportedByFormat,
            candidates: since.map { [CoreMLExporter.target.candidate($0.rawValue)] } ?? [])
    }

    private mutating func operand(_ value: Value, _ sources: [Value: LoweredValue], as type: MILDataType?) throws
        -> MILOperand
    {
        try operand(sources[value], as: type, "value")
    }

    /// Returns the operand of a value with the axes of the program, converted to a type. Without a type, floating-point values
    /// have the model's type, and others keep theirs.
    mutating func operand(_ source: LoweredValue?, as type: MILDataType?, _ label: String) throws -> MILOperand {
        switch source {
        case .channels(let value):
            let key = Converted(name: "\(value.operand.name) \(value.sizes)", type: value.operand.type.dataType)
            builder.label = "\(value.operand.name)_plain"
            let plain = converted[key] ?? builder.plain(value)
            converted[key] = plain
            return try operand(.operand(plain), as: type, label)
        case .pieces(let pieces):
            let parts = try pieces.map { try operand(.channels($0), as: type, label) }
            builder.label = "\(label)_joined"
            return builder.joined(parts, axis: parts[0].sizes.count - 1)
        case .operand(let operand):
            guard let type, type != operand.type.dataType else { return operand }
            let key = Converted(name: operand.name, type: type)
            if let known = converted[key] { return known }
            builder.label = "\(operand.name)_as_\(type.word)"
            let result = builder.cast(operand, to: type)
            converted[key] = result
            return result
        case .constant(let constant):
            let element = constant.elementType
            let type = type ?? inside(element.isFloatingPoint ? .float32 : element, options.floatType)
            let content = try constant.isWeight ? "" : SHA256.digest(of: constant.requireTensor().bytes).description
            let key = Converted(name: "constant \(constant.name) \(content)", type: type)
            if let known = converted[key] { return known }
            let result = try weights.lowered(constant, as: type, in: &builder)
            converted[key] = result
            return result
        case nil:
            throw RequestError("\(label): nothing makes an input", status: .internalFailure)
        }
    }
}

extension [MILOperation] {
    /// The operations without constants that none reads, such as those for an operator that was decomposed in the end.
    fileprivate var withoutUnreadConstants: [MILOperation] {
        var read: Set<String> = []
        var kept: [MILOperation] = []
        for operation in reversed() {
            guard !operation.isConstant || operation.outputs.contains(where: { read.contains($0.name) }) else {
                continue
            }
            read.formUnion(operation.readNames)
            kept.append(operation)
        }
        return kept.reversed()
    }
}

/// Statistics of a lowered function: operators and outputs.
public struct LoweringCounts: Equatable, Sendable {
    /// Numbers of operators that Core ML's own operations compute, by name.
    public internal(set) var native: [String: Int] = [:]
    /// Numbers of operators that were decomposed into others, by name.
    public internal(set) var decomposed: [String: Int] = [:]
    /// Numbers of operators that are computed in float32 in a float16 model, by name.
    public internal(set) var precise: [String: Int] = [:]
    /// The names of the parts of outputs that are split along their last axis, by the output's name.
    public internal(set) var joined: [String: [String]] = [:]

    mutating func merge(_ other: LoweringCounts) {
        native.merge(other.native, uniquingKeysWith: +)
        decomposed.merge(other.decomposed, uniquingKeysWith: +)
        precise.merge(other.precise, uniquingKeysWith: +)
        joined.merge(other.joined) { first, _ in first }
    }
}
