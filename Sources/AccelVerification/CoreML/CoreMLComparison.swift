import Accel
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// S3 and S4 of a Core ML package's functions: by the reference implementation of its operations, beside that of the model. The plan's
/// names lead to those of the package and of the model by their identifiers.
struct CoreMLComparison {
    let functions: [CoreMLFunction]
    let plan: ModelPlan
    let programs: [Program]
    /// The model's function for each of the package's; nil where it has none.
    let models: [FrozenProgram?]
    /// The package's weights by the model's names.
    let stored: [String: StoredTensor]
    let limits: CoreMLLimits
    let options: Parity.Options
    private let importer: CoreMLImporter

    /// - Parameter shared: the functions that run in sequences.
    init(
        _ functions: [CoreMLFunction], _ plan: ModelPlan, sharing shared: Set<Int>, _ programs: [Program],
        stored: [String: StoredTensor], _ limits: CoreMLLimits, _ options: Parity.Options
    ) throws {
        (self.functions, self.plan, self.programs) = (functions, plan, programs)
        (self.stored, self.limits, self.options) = (stored, limits, options)
        models = try functions.indices.map { index in
            let model = try functions[index].model(in: programs, taking: plan.graph[index])
            try model?.requireMemoryForInputs()
            return model
        }
        importer = CoreMLImporter(functions, plan, keeping: shared)
    }

    /// Compares the outputs of all blocks of a sequence, and the states after those that have a prefix for them.
    func findings(_ sequence: SampleDecoding.Sequence) throws -> OutputFindings {
        let golden = options.inputs.golden
        let held = CoreMLWeightMatcher.identified(golden?.outputs.keys.sorted() ?? [])
        let calls = sequence.blocks.map { block in
            let index = block.step.function
            var call = FeedCall(block)
            call.states = halves(call.states)
            call.positions = sequence.positions(
                of: block, length: plan.functions[index].input(.tokens)?.shape.dimensions.last)
            call.statePositions = { [positions = call.positions] _ in positions }
            call.expected = { _, title, role in
                held[CoreMLWeightMatcher.identifier(title)].flatMap { golden?.output($0, as: role) }
            }
            return (call, compared(index, states: { $0.next != $0.value }, arithmetic: .halves))
        }
        return try findings(sequence.blocks.map(\.step.function), calls) { title in
            golden == nil ? "there is no model to compare with" : "the golden has no out.\(title)"
        }
    }

    /// Compares one run of a function.
    /// - Returns: nil when the inputs are not of the function's names and shapes, or if it would run on zeros in place of an encoder's states.
    func findings(_ run: FeedPlan.Run) throws -> OutputFindings? {
        let (model, feed, suffix) = (models[run.function], try run.feed.completed(), run.golden?.suffix ?? "")
        var result = OutputFindings()
        let ofFile = run.golden == nil && run.feed.drawnState == nil
        if ofFile, let model, model.program.encoderStates.contains(where: { feed.states[$0.name] == nil }) {
            return nil
        }
        var golden = run.golden?.outputs(as: programs.outputRoles) ?? [:]
        if run.golden?.isDecoding == true {
            // Other outputs are those of blocks.
            let own = Set(plan.functions[run.function].ports.map { CoreMLWeightMatcher.identifier($0.name) })
            golden = golden.filter { own.contains(CoreMLWeightMatcher.identifier($0.key)) }
        }
        if model == nil, !programs.isEmpty || golden.isEmpty {
            result.skip(
                .outputs, functions[run.function].title + suffix,
                programs.isEmpty ? "there is no model to compare with" : "no part of the model has its inputs",
                isRequired: !programs.isEmpty)
            if golden.isEmpty { return result }
        }
        guard functions[run.function].inputs(feed.inputs) != nil else { return nil }
        let states = model?.program.states.map(\.name) ?? functions[run.function].interface.states.map(\.name)
        var call = FeedCall(inputs: feed.inputs)
        call.states = halves(
            try states.reduce(into: feed.states) { $0[$1] = try $0[$1] ?? feed.state($1) }.filter { name, tensor in
                let state = functions[run.function].state(name)
                return tensor.elementType.isFloatingPoint && tensor.shape.dimensions == state?.type.sizes
            })
        call.positions = CountedPositions(
            model.map { call.named(for: $0, besides: functions[run.function]).inputs } ?? feed.inputs,
            of: model?.program.interface
        ).counting(feed.rows)
        call.isLimitedByName = true
        let start = CoreMLWeightMatcher.identified(call.states)
        call.statePositions = { name in
            let type = model?.program.states.first { $0.name == name }.flatMap { model?.shape(of: $0.value) }
            return
                (start[CoreMLWeightMatcher.identifier(name)]
                ?? type.map { HostTensor([Float](repeating: 0, count: $0.count), $0) })
                .map(CountedPositions.init(changedSince:)) ?? .all
        }
        let function = compared(
            run.function, golden, states: { _ in true }, arithmetic: functions[run.function].arithmetic)
        call.outputName = { $0 + suffix }
        // An output may have the same name.
        let outputs = Set(function.outputs.map(CoreMLWeightMatcher.identifier))
        call.stateName = {
            (outputs.contains(CoreMLWeightMatcher.identifier($0)) ? $0 + " (state)" : $0) + suffix
        }
        let held = CoreMLWeightMatcher.identified(golden)
        call.expected = { name, _, _ in held[CoreMLWeightMatcher.identifier(name)] }
        result += try findings([run.function], [(call, function)])
        return result
    }

    /// Compares calls that share states.
    private func findings(
        _ indices: [Int], _ calls: [(call: FeedCall, function: ComparedFunction)],
        unexpected: ((String) -> String)? = nil
    ) throws -> OutputFindings {
        try SequenceComparison(options: options, unexpected: unexpected).compare(
            CoreMLExecutable(
                functions: functions, models: models, given: zip(indices, calls).map { ($0, $1.call, $1.function) },
                sequence: CoreMLSequence(importer)))
    }

    /// A function with its sides.
    /// - Parameters:
    ///   - golden: values that are compared even where the model does not have them.
    ///   - isCompared: returns whether a state is compared.
    ///   - arithmetic: the limit of the package's arithmetic.
    private func compared(
        _ index: Int, _ golden: [String: HostTensor] = [:], states isCompared: (Program.State) -> Bool,
        arithmetic: Tolerance
    ) -> ComparedFunction {
        let (function, outline) = (functions[index], plan.functions[index])
        let model = models[index]
        let states = model?.program.states.filter(isCompared) ?? []
        let outputs = model?.program.outputs.map(\.name) ?? (golden.isEmpty ? outline.outputs.map(\.name) : [])
        let known = Set(outputs + (model?.program.states.map(\.name) ?? []))
        let ofModel = Set(outputs.map(CoreMLWeightMatcher.identifier))
        let more = golden.keys.sorted().filter { name in
            options.stages.contains(.outputs) && !ofModel.contains(CoreMLWeightMatcher.identifier(name))
                && (function.state(name) == nil || function.output(name, model) != nil)
        }
        // The model gives the expected values that the golden does not have.
        let isAnswered = !golden.isEmpty && known.isSubset(of: golden.keys)
        let roles = programs.outputRoles
        return ComparedFunction(
            name: function.title, outputs: outputs + more,
            states: model == nil ? outline.ownStates : states.map(\.name),
            readStates: Set(states.filter { $0.next == $0.value }.map(\.name)),
            role: { roles[$0] ?? outline.interface.outputs[$0] },
            original: options.stages.contains(.outputs) && !isAnswered ? model.map { ModelSide($0) } : nil,
            stored: model.map { ModelSide($0, stored: stored) }, graphLimit: arithmetic,
            limit: { values, expected, _, positions in
                guard let values else { return limits.tolerance(arithmetic, loss: nil) }
                guard values.shape == expected.shape else { return arithmetic }
                return limits.tolerance(arithmetic, loss: positions.metrics(of: values, against: expected))
            })
    }

    /// Core ML holds states in float16, so both sides start as halves.
    private func halves(_ states: [String: HostTensor]) -> [String: HostTensor] {
        states.mapValues { tensor in
            guard tensor.elementType.isFloatingPoint else { return tensor }
            var floats = tensor.floats
            floats.roundToHalf()
            return HostTensor(floats, tensor.shape)
        }
    }
}

extension FunctionPlan {
    /// The names of the states but for those of an encoder that the function only reads.
    fileprivate var ownStates: [String] {
        let read = interface.role == .crossKeysAndValues ? [] : states(.crossAttention).map(\.name)
        return states.map(\.name).filter { !read.contains($0) }
    }
}

extension [Program] {
    /// The roles of the outputs of all parts, by name.
    var outputRoles: [String: Role] { reduce(into: [:]) { $0.merge($1.interface.outputs) { first, _ in first } } }
}
