import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors

/// S3 and S4 for one function of a Core ML package, on one set of inputs with one of the enumerated shapes.
struct CoreMLRun {
    let package: CoreMLPackage
    let interface: CoreMLModel.Interface
    /// The index of the inputs' shapes among the enumerated ones.
    var shape = 0
    let source: InputSource
    /// The package's weights by the model's names.
    let stored: [String: StoredTensor]
    let limits: CoreMLLimits
    /// The inputs and states of a run that no file has any for.
    var drawn: FunctionFeed?
    /// One of several samples of the source's file, by the model's names; nil for a source of one run.
    var sample: SampleInputs.Run?

    /// The runs over the samples of a file that has more of them than a function takes at once, or samples of other lengths; the run
    /// itself for other sources.
    /// - Parameter leavesOut: leaves out samples that are too long for the function, if there are others.
    func bySamples(leavingOut leavesOut: Bool = false) throws -> [CoreMLRun] {
        guard case .file(let file) = source else { return [self] }
        let matcher = try InputMatcher(file, for: package.functionInterfaces)
        guard !interface.takes(matcher.sizes, as: shape),
            let samples = try package.runs(of: interface, as: shape, matcher, leavingOut: leavesOut)
        else { return [self] }
        return samples.map { sample in
            var run = self
            run.sample = sample
            return run
        }
    }

    /// - Returns: nil when the inputs are not of the function's names and shapes.
    func result(_ programs: [Program], _ options: Parity.Options) throws -> OutputFindings? {
        var result = OutputFindings()
        let given = try tensors().merging(startPosition) { given, _ in given }
        let model = try reference(programs, given)
        try model?.requireMemoryForInputs()
        // On zeros, which are no encoder's, a decoder would show nothing: it runs on drawn inputs.
        if case .file = source, let model, model.program.encoderStates.contains(where: { given[$0.name] == nil }) {
            return nil
        }
        if let golden = source.golden, try encoderState(missingIn: golden) != nil { return nil }
        var golden = source.golden?.outputs(as: programs.outputRoles) ?? [:]
        if source.golden?.isDecoding == true {
            // Other outputs are those of blocks.
            let own = Set((interface.outputs + interface.states).map { CoreMLWeightMatcher.identifier($0.name) })
            golden = golden.filter { own.contains(CoreMLWeightMatcher.identifier($0.key)) }
        }
        if model == nil, !programs.isEmpty || golden.isEmpty {
            result.skip(
                .outputs, function + (source.golden?.suffix ?? ""),
                programs.isEmpty ? "there is no model to compare with" : "no part of the model has its inputs",
                isRequired: !programs.isEmpty)
            if golden.isEmpty { return result }
        }
        let inputs = model.map { modelInputs(of: $0, given) } ?? given
        guard let own = try packageInputs(CoreMLWeightMatcher.identified(inputs)) else { return nil }
        let start = CoreMLStates(of: interface, model: model, drawn: drawn, given: given)
        let function = function(model, golden, options)
        let held = CoreMLWeightMatcher.identified(golden)
        var call = FeedCall(inputs: inputs)
        call.states = start.ofModel
        call.positions = CountedPositions(inputs, of: model?.program.interface).counting(sample?.rows)
        call.isLimitedByName = true
        call.statePositions = { start.positions(of: $0, in: model) }
        let suffix = source.golden?.suffix ?? ""
        call.outputName = { $0 + suffix }
        // An output may have the same name.
        let outputs = Set(function.outputs.map(identifier))
        call.stateName = { [outputs] in
            (outputs.contains(CoreMLWeightMatcher.identifier($0)) ? $0 + " (state)" : $0) + suffix
        }
        call.expected = { name, _, _ in held[CoreMLWeightMatcher.identifier(name)] }
        let findings = try SequenceComparison(options: options).findings(0..<1) { _ in
            (call, function)
        } noises: {
            computing.arithmetic.map { arithmetic in
                RoundingNoise.runs(
                    arithmetic, over: (model?.outputs ?? []).map(\.shape), seed: options.inputs.samplingSeed)
            } ?? []
        } run: { _, _ in
            var states = start.ofPackage
            let values = try package.run(function: interface.function, inputs: own, states: &states)
            return found(values, states, function, model, suffix)
        }
        result.notCompared += findings.notCompared
        // In the order of the stages; a golden has its own.
        let titles = Dictionary(function.states.map { (call.stateName?($0) ?? $0, $0) }) { first, _ in first }
        func rank(_ row: OutputFinding) -> (Int, String) { (titles[row.name] == nil ? 0 : 1, row.name) }
        let rows = findings.outputs
        result.outputs += rows.filter { $0.stage == .graph }
        result.outputs += rows.filter { $0.reference == .golden }.sorted { rank($0) < rank($1) }
        result.outputs += rows.filter { row in
            // A golden's value of this name is that of an output.
            row.reference == .originalWeights && titles[row.name].flatMap { golden[$0] } == nil
        }
        return result
    }

    private func identifier(_ name: String) -> String { CoreMLWeightMatcher.identifier(name) }

    /// The function with its sides. Values that only the golden has are compared, too.
    private func function(
        _ model: FrozenProgram?, _ golden: [String: HostTensor], _ options: Parity.Options
    ) -> ComparedFunction {
        let program = model?.program
        let known = Set((program?.outputs.map(\.name) ?? []) + (program?.states.map(\.name) ?? []))
        let states = Set((program?.states.map(\.name) ?? interface.states.map(\.name)).map(identifier))
        let outputs = program?.outputs.map(\.name) ?? []
        let ofModel = Set(outputs.map(identifier))
        let more = golden.keys.sorted().filter { name in
            options.stages.contains(.outputs) && !ofModel.contains(identifier(name))
                && (!states.contains(identifier(name)) || own(name, model) != nil)
        }
        // The model gives the expected values that the golden does not have.
        let isAnswered = known.isSubset(of: golden.keys)
        return ComparedFunction(
            name: function, outputs: outputs + more,
            states: program?.states.map(\.name) ?? interface.states.map(\.name),
            readStates: Set((program?.states ?? []).filter { $0.next == $0.value }.map(\.name)),
            role: { program?.interface.outputs[$0] },
            original: options.stages.contains(.outputs) && !isAnswered ? model.map { ModelSide($0) } : nil,
            stored: model.map { ModelSide($0, stored: stored) }, graphLimit: computing,
            limit: { values, expected, _, positions in
                guard let values else { return limits.tolerance(computing, loss: nil) }
                guard values.shape == expected.shape else { return computing }
                return limits.tolerance(computing, loss: positions.metrics(of: values, against: expected))
            })
    }

    /// Returns the package's name for an output of the model or of a golden.
    private func own(_ name: String, _ model: FrozenProgram?) -> String? {
        let described = interface.outputs.map(\.name)
        let all = (described + package.model.parts(of: interface.function).keys).sorted()
        let states = interface.states.map(\.name)
        let own = all.first { CoreMLWeightMatcher.output($0, besides: states) == identifier(name) }
        if let own { return own }
        // Converters may rename outputs; then outputs are matched by index.
        guard let known = model?.program.outputs, known.count == described.count else { return nil }
        return known.firstIndex { $0.name == name }.map { described[$0] }
    }

    /// Returns the results of the package by the model's names.
    private func found(
        _ values: [String: HostTensor], _ states: [String: HostTensor], _ function: ComparedFunction,
        _ model: FrozenProgram?, _ suffix: String
    ) -> SequenceComparison.Found {
        let outputs = function.outputs.reduce(into: [:]) { $0[$1] = own($1, model).flatMap { values[$0] } }
        let held = CoreMLWeightMatcher.identified(interface.states.map(\.name))
        let left = function.states.reduce(into: [String: HostTensor]()) { left, name in
            guard let own = held[identifier(name)] else { return }
            let sizes = interface.states.first { $0.name == own }?.type.sizes ?? []
            left[name] = states[own] ?? HostTensor([Float](repeating: 0, count: Shape(sizes).count), Shape(sizes))
        }
        var surplus: [String] = []
        let ofModel = model?.program.outputs.map(\.name) ?? []
        if let model {
            var known = Set(ofModel.compactMap { own($0, model) })
            for (whole, parts) in package.model.parts(of: interface.function) where known.contains(whole) {
                known.formUnion(parts)
            }
            let names = Set(model.program.states.map { identifier($0.name) })
            surplus =
                interface.outputs.map(\.name).filter { !known.contains($0) }
                + interface.states.map(\.name).filter { !names.contains(identifier($0)) }
        }
        return .init(
            results: (outputs, left), surplus: surplus.map { $0 + suffix },
            missing: { name in
                // Values that only the golden has are no failures.
                ofModel.contains(name) || function.states.contains(name)
                    ? nil : ("the package gives no such output", false)
            })
    }

    /// Returns the source's inputs in the function's names and types; nil if one is missing or has another shape.
    func sourceInputs() throws -> [String: HostTensor]? { try packageInputs(CoreMLWeightMatcher.identified(tensors())) }

    /// The function's name, with the shape if it has several.
    var function: String { interface.title(ofShape: shape) }

    /// The tolerance for arithmetic in the package's own element type.
    private var computing: Tolerance {
        let function = package.model.program.functions.first { $0.name == interface.function }
        let isHalf = function?.operations.contains { operation in
            !operation.type.hasPrefix("const") && operation.outputs.contains { $0.content.tensor.dataType == .float16 }
        }
        return isHalf ?? false ? .halves : .rounding
    }

    /// Returns the tensors of the file by name; empty if inputs are drawn.
    private func tensors() throws -> [String: HostTensor] {
        if let sample { return sample.inputs }
        let stored: [String: StoredTensor]
        switch source {
        case .seeded: return [:]
        case .golden(let golden): stored = golden.inputs.merging(golden.outputs) { input, _ in input }
        case .file(let file): stored = try InputMatcher(file, for: package.functionInterfaces).tensors
        }
        let sizes = stored.values.map { TensorType($0.elementType, shape: $0.shape).hostBytes }
        try MachineMemory.require(MachineMemory.sum(sizes), for: "the inputs of \(function)")
        return (source.golden?.inputs ?? stored).mapValues { HostTensor($0) }
    }

    /// The position of a golden's first token where it gives none: its text begins here.
    private var startPosition: [String: HostTensor] {
        get throws {
            guard source.golden != nil, let roles = try package.interface(of: interface.function)?.inputs else {
                return [:]
            }
            let positions = roles.filter { $0.value.kind == .position }.keys
            return Dictionary(
                positions.compactMap { name in
                    let input = interface.inputs.first {
                        CoreMLWeightMatcher.identifier($0.name) == CoreMLWeightMatcher.identifier(name)
                    }
                    guard let sizes = input.flatMap({ interface.sizes(of: $0, as: shape) }) else { return nil }
                    return (name, HostTensor([Int64](repeating: 0, count: Shape(sizes).count), Shape(sizes)))
                }
            ) { first, _ in first }
        }
    }

    /// Returns a state that an encoder makes for a decoder, and that a golden does not give: the decoder would run on zeros.
    private func encoderState(missingIn golden: Golden) throws -> String? {
        guard let roles = try package.interface(of: interface.function),
            roles.inputs.contains(where: { $0.value.kind == .tokens })
        else { return nil }
        let given = Set(golden.inputs.keys.map(CoreMLWeightMatcher.identifier))
        return roles.states.filter { $0.value.kind == .crossAttention }.keys.sortedByNumbers()
            .first { !given.contains(CoreMLWeightMatcher.identifier($0)) }
    }

    /// Returns the first of the inputs that a golden lacks, or has in another shape.
    func unfitting(in golden: Golden) -> String? {
        let given = CoreMLWeightMatcher.identified(golden.inputs.mapValues(\.shape.dimensions))
        if let state = try? encoderState(missingIn: golden) {
            return "in.\(state) is missing, which an encoder makes"
        }
        return interface.inputs.lazy.compactMap { input in
            guard let found = given[CoreMLWeightMatcher.identifier(input.name)] else {
                return "in.\(input.name) is missing"
            }
            guard !interface.takes(found, by: input, as: shape) else { return nil }
            return "in.\(input.name) is \(Shape(found)), expected \(Shape(interface.sizes(of: input, as: shape) ?? []))"
        }.first
    }

    /// Returns the part of the model that takes the function's inputs, with the function's sizes.
    /// - Throws: `RequestError` (unavailable) if the sizes need more memory than there is.
    func reference(_ programs: [Program], _ given: [String: HostTensor]) throws -> FrozenProgram? {
        let sizes = Dictionary(
            interface.inputs.map { input in
                (CoreMLWeightMatcher.identifier(input.name), interface.sizes(of: input, as: shape) ?? [])
            }
        ) { first, _ in first }
        if let recorded = recorded(programs) { return recorded }
        for program in programs {
            let names = Set(program.inputs.map { CoreMLWeightMatcher.identifier($0.name) })
            guard names.isSuperset(of: sizes.keys), !names.isDisjoint(with: sizes.keys) else { continue }
            let shaped = try program.inputs.compactMap { input -> StoredTensor? in
                let known = sizes[CoreMLWeightMatcher.identifier(input.name)]
                guard let shape = given[input.name].map(\.shape.dimensions) ?? known,
                    shape.count == program.type(of: input.value).rank
                else { return nil }
                return try .outline(input.name, shape)
            }
            let states = try interface.states.compactMap { state in
                try program.states.first {
                    CoreMLWeightMatcher.identifier($0.name) == CoreMLWeightMatcher.identifier(state.name)
                }
                .map { own in
                    try StoredTensor.outline("out.kv_final.\(own.name)", state.type.sizes ?? [])
                }
            }
            guard states.count == program.states.count,
                let bindings = try? ShapeBindings(fitting: shaped + states, to: program, file: package.path),
                let frozen = try? program.freezing(bindings)
            else { continue }
            return frozen
        }
        return nil
    }

    /// Returns the function with the part and the shape that accelc recorded when it exported the model.
    private func recorded(_ programs: [Program]) -> FrozenProgram? {
        let texts = package.model.metadata.other.first { $0.name == "accelc.shapes" }?.content.split(separator: " ")
        guard let texts,
            var index = package.model.interfaces.firstIndex(where: { $0.function == interface.function })
        else { return nil }
        if package.model.interfaces.count == 1, texts.count == interface.shapeCount { index = shape }
        guard texts.count == max(package.model.interfaces.count, interface.shapeCount), texts.indices.contains(index)
        else { return nil }
        return programs.frozen(named: texts[index])
    }

    /// Returns the drawn or given inputs. Inputs that the package does not take get the frameworks' defaults: ones for
    /// a mask, else zeros.
    private func modelInputs(of model: FrozenProgram, _ given: [String: HostTensor]) -> [String: HostTensor] {
        var inputs = given
        if let drawn { inputs = drawn.inputs }
        let own = Set(interface.inputs.map { CoreMLWeightMatcher.identifier($0.name) })
        for input in model.program.inputs {
            let type = model.program.type(of: input.value)
            if given[input.name] == nil, !own.contains(CoreMLWeightMatcher.identifier(input.name)) {
                let isMask = model.program.interface.inputs[input.name]?.kind == .attentionMask
                let fill = [Float](repeating: isMask ? 1 : 0, count: type.shape?.count ?? 0)
                inputs[input.name] = HostTensor(fill, type.shape ?? []).converted(to: type.elementType)
            } else {
                inputs[input.name] = inputs[input.name]?.converted(to: type.elementType)
            }
        }
        return inputs
    }

    /// Returns the inputs in the function's names and types; nil if one is missing or has another shape.
    private func packageInputs(_ named: [String: HostTensor]) throws -> [String: HostTensor]? {
        var inputs: [String: HostTensor] = [:]
        for feature in interface.inputs {
            guard let tensor = named[CoreMLWeightMatcher.identifier(feature.name)] else { return nil }
            guard interface.takes(tensor.shape.dimensions, by: feature, as: shape) else { return nil }
            inputs[feature.name] = tensor.converted(to: feature.type.dataType.isFloatingPoint ? .float32 : .int64)
        }
        return inputs
    }
}

extension StoredTensor {
    /// Returns a tensor of which only the shape is used.
    fileprivate static func outline(_ name: String, _ sizes: [Int]) throws -> StoredTensor {
        guard let count = Shape(sizes).checkedCount else {
            throw RequestError("\(name) of \(sizes) has more elements than any memory holds", status: .unavailable)
        }
        return StoredTensor(name: name, elementType: .bool, shape: Shape(sizes), bytes: try ByteView.zeros(count))
    }
}

extension [Program] {
    /// The roles of the outputs of all parts, by name.
    var outputRoles: [String: Role] { reduce(into: [:]) { $0.merge($1.interface.outputs) { first, _ in first } } }
}

extension HostTensor {
    fileprivate func converted(to type: ElementType) -> HostTensor {
        switch type {
        case .int64: HostTensor(integers, shape)
        case .bool: HostTensor(flags, shape)
        default: HostTensor(floats, shape)
        }
    }
}
