import ByteIO
import Programs
import Tensors

/// Turns one frozen function into MIL.
struct FunctionLowering {
    /// Where a value of the program comes from.
    private enum Source {
        case constant(Program.Constant)
        case operand(MILOperand)
    }
    private struct Converted: Hashable {
        let name: String
        let type: MILDataType
    }

    private let function: FrozenProgram
    private let options: CoreMLOptions
    private var weights: WeightLowering
    private var builder: MILBuilder
    /// What has been converted to another type, or decompressed.
    private var converted: [Converted: MILOperand] = [:]
    private(set) var counts = LoweringCounts()

    init(_ function: FrozenProgram, weights: WeightLowering, options: CoreMLOptions) {
        self.function = function
        self.options = options
        self.weights = weights
        builder = MILBuilder(floatType: options.floatType)
    }

    /// - Throws: `RequestError` naming the operator or tensor that the target cannot express.
    consuming func lowered(named name: String) throws -> (
        function: MILFunction, interface: CoreMLModel.Interface, weights: WeightLowering, counts: LoweringCounts
    ) {
        let program = function.program
        var sources: [Value: Source] = [:]
        for constant in program.constants { sources[constant.value] = .constant(constant) }
        var inputs: [MILNamed<MILType>] = []
        var interface = CoreMLModel.Interface(function: name, inputs: [], outputs: [])
        let outputNames = program.outputs.map { builder.unique($0.name) }
        for input in program.inputs {
            let type = MILTensorType(outside(program.type(of: input.value).elementType), extents(input.value, program))
            let operand = MILOperand(name: builder.unique(input.name), type: type, isConstant: false)
            inputs.append(MILNamed(operand.name, .tensor(type)))
            interface.inputs.append(CoreMLModel.Feature(operand.name, type))
            sources[input.value] = .operand(operand)
        }
        var states: [Value: MILOperand] = [:]
        for state in program.states {
            guard options.target >= .iOS18 else {
                throw RequestError(
                    "\(function.functionName) keeps the state \"\(state.name)\", which Core ML can from iOS 18 on: use --target iOS18"
                )
            }
            guard state.initial == 0 else {
                throw RequestError(
                    "\(function.functionName): the state \"\(state.name)\" starts as \(state.initial), but Core ML's states start as zeros",
                    status: .unavailable)
            }
            let type = MILTensorType(.float16, extents(state.value, program))
            let operand = MILOperand(name: builder.unique(state.name), type: type, isConstant: false)
            inputs.append(MILNamed(operand.name, .state(type)))
            interface.states.append(CoreMLModel.Feature(operand.name, type))
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
            let type = outside(program.type(of: output.value).elementType)
            builder.label = name
            let inner = try operand(output.value, sources, as: nil)
            let result =
                inner.type.dataType == type
                ? builder.apply("identity", ["x": .operand(inner)], inner.type, named: name)
                : builder.cast(inner, to: type, named: name)
            interface.outputs.append(CoreMLModel.Feature(name, result.type))
        }
        let lowered = MILFunction(
            name: name, inputs: inputs, opset: options.target.opset, operations: builder.operations,
            outputs: outputNames)
        return (lowered, interface, weights, counts)
    }

    private func extents(_ value: Value, _ program: Program) -> [Int] {
        program.type(of: value).shape?.dimensions ?? []
    }

    /// What applications pass in and out: numbers as float32, everything else as int32.
    private func outside(_ type: ElementType) -> MILDataType { type == .float32 ? .float32 : .int32 }

    private func inside(_ type: ElementType, _ float: MILDataType) -> MILDataType {
        switch type {
        case .float32: float
        case .bool: .bool
        default: .int32
        }
    }

    /// Lowers the nodes of `program` in order; those that the table has nothing for by their decomposition.
    private mutating func lower(
        _ program: Program, _ sources: inout [Value: Source], precisely: Bool,
        after: (Value, [Value: Source], inout FunctionLowering) throws -> Void = { _, _, _ in }
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
        _ node: Program.Node, _ types: [TensorType], _ inputs: [Source?], _ program: Program, precisely: Bool
    ) throws -> [Source] {
        let subject = "\(node.operation.name) \"\(node.label)\""
        let native = Lowerings.byName[node.operation.name].flatMap { $0.since <= options.target ? $0 : nil }
        let isPrecise =
            precisely || native?.isPrecise(node.operation) ?? false
            || native == nil && Lowerings.preciseDecompositions.contains(node.operation.name)
        let outer = builder.floatType
        builder.floatType = isPrecise && !options.keepsHalves ? .float32 : options.floatType
        defer { builder.floatType = outer }
        builder.label = node.label
        if let native {
            let operands = try zip(node.inputs, inputs).map { value, source in
                try operand(source, as: inside(program.type(of: value).elementType, builder.floatType), node.label)
            }
            if native.fits(node.operation, operands), types.count == 1 {
                builder.label = node.label
                builder.resultExtents = types[0].shape?.dimensions ?? []
                builder.resultType = inside(types[0].elementType, builder.floatType)
                counts.native[node.operation.name, default: 0] += 1
                if builder.floatType != options.floatType { counts.precise[node.operation.name, default: 0] += 1 }
                return [.operand(try native.emit(options.adapted(node.operation), operands, &builder))]
            }
        }
        var parts = ProgramBuilder(name: node.label)
        let values = node.inputs.enumerated().map { parts.input("\($0)", program.type(of: $1)) }
        guard let made = try node.operation.decomposed(values, in: &parts) else {
            throw RequestError(
                "\(subject) cannot be said in Core ML for \(options.target.rawValue)"
                    + (Lowerings.byName[node.operation.name].map { ": it can from \($0.since.rawValue) on" } ?? ""))
        }
        for (index, value) in made.enumerated() { parts.output("\(index)", value) }
        let decomposition = try parts.finish()
        var sources: [Value: Source] = [:]
        for (input, source) in zip(decomposition.inputs, inputs) { sources[input.value] = source }
        for constant in decomposition.constants { sources[constant.value] = .constant(constant) }
        counts.decomposed[node.operation.name, default: 0] += 1
        try lower(decomposition, &sources, precisely: isPrecise)
        return decomposition.outputs.compactMap { sources[$0.value] }
    }

    private mutating func operand(_ value: Value, _ sources: [Value: Source], as type: MILDataType?) throws
        -> MILOperand
    {
        try operand(sources[value], as: type, "value")
    }

    /// The operand of a type: converted, or made of a constant. No type: that of floating point, or its own.
    private mutating func operand(_ source: Source?, as type: MILDataType?, _ label: String) throws -> MILOperand {
        switch source {
        case .operand(let operand):
            guard let type, type != operand.type.dataType else { return operand }
            let key = Converted(name: operand.name, type: type)
            if let known = converted[key] { return known }
            builder.label = "\(operand.name)_as_\(type.word)"
            let result = builder.cast(operand, to: type)
            converted[key] = result
            return result
        case .constant(let constant):
            let element = constant.tensor.elementType
            let type = type ?? inside(element.isFloatingPoint ? .float32 : element, options.floatType)
            let content = constant.isWeight ? "" : SHA256.digest(of: constant.tensor.bytes).description
            let key = Converted(name: "constant \(constant.tensor.name) \(content)", type: type)
            if let known = converted[key] { return known }
            let result = try weights.lowered(constant, as: type, in: &builder)
            converted[key] = result
            return result
        case nil:
            throw RequestError("\(label): nothing makes an input", status: .internalFailure)
        }
    }
}

/// How many operators became what.
public struct LoweringCounts: Equatable, Sendable {
    /// By the operator's name: said by Core ML's own operations.
    public internal(set) var native: [String: Int] = [:]
    /// Said by other operators.
    public internal(set) var decomposed: [String: Int] = [:]
    /// Of these, computed in float32 in a float16 model.
    public internal(set) var precise: [String: Int] = [:]

    mutating func merge(_ other: LoweringCounts) {
        native.merge(other.native, uniquingKeysWith: +)
        decomposed.merge(other.decomposed, uniquingKeysWith: +)
        precise.merge(other.precise, uniquingKeysWith: +)
    }
}
