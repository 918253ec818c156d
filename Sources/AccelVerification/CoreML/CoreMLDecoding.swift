import Accel
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors

/// S3 and S4 of a Core ML package's functions that share states, on sequences of blocks of tokens, those of a golden or of samples.
struct CoreMLDecoding {
    let package: CoreMLPackage
    let sequences: [SampleDecoding.Sequence]
    /// The package's functions as programs, in their order.
    private let functions: [FrozenProgram]

    /// The blocks in which the functions process the tokens of a decoder's golden.
    /// - Throws: `RequestError` when no function takes the golden's blocks.
    init(_ package: CoreMLPackage, golden: Golden) throws {
        self.package = package
        functions = try package.model.interfaces.map { try package.program(function: $0.function) }
        sequences = try GoldenDecoding(Self.plan(package, functions), golden: golden).sequences.map {
            .init(blocks: $0.blocks, lengths: nil)
        }
    }

    /// The blocks in which the functions process the tokens of samples; nil if no function takes blocks of them, or if the package does not
    /// say so.
    /// - Throws: `RequestError` for more tokens than a cache has positions, and for tokens of another model.
    init?(_ package: CoreMLPackage, samples: SampleInputs) throws {
        let interfaces = package.model.interfaces
        guard interfaces.allSatisfy({ $0.shapeCount == 1 }), interfaces.contains(where: { !$0.states.isEmpty }) else {
            return nil
        }
        self.package = package
        functions = try interfaces.map { try package.program(function: $0.function) }
        guard let decoding = try SampleDecoding(Self.plan(package, functions), samples) else { return nil }
        sequences = decoding.sequences
    }

    /// A plan that says which function takes what.
    private static func plan(_ package: CoreMLPackage, _ functions: [FrozenProgram]) throws -> ModelPlan {
        let outlines = try functions.map { function in
            function.outline(part: try package.part(of: function.program.name) ?? function.program.name)
        }
        return ModelPlan(of: ModelGraph(functions: functions, tensors: []), functions: outlines)
    }

    /// The names of the functions of the blocks.
    var names: Set<String> { Set(blockFunctions.map { package.model.interfaces[$0].function }) }

    private var blockFunctions: Set<Int> { Set(sequences.flatMap(\.blocks).map(\.step.function)) }

    /// Compares the outputs of all blocks, and the states after those that have a prefix for them.
    /// - Parameters:
    ///   - golden: where the sequences are from; nil for samples.
    ///   - stored: the package's weights by the model's names.
    func findings(
        _ golden: Golden?, _ programs: [Program], stored: [String: StoredTensor], _ limits: CoreMLLimits,
        _ options: Parity.Options
    ) throws -> OutputFindings {
        let roles = programs.outputRoles
        let sides = try zip(package.model.interfaces, functions).map { interface, function in
            let model = try CoreMLRun(
                package: package, interface: interface, source: options.inputs, stored: stored, limits: limits
            ).reference(programs, [:])
            return (model: model, function: compared(interface, function, model, roles, stored, limits, options))
        }
        let comparison = SequenceComparison(
            options: options,
            unexpected: { title in
                golden == nil ? "there is no model to compare with" : "the golden has no out.\(title)"
            })
        let held = CoreMLWeightMatcher.identified(golden?.outputs.keys.sorted() ?? [])
        var findings = OutputFindings()
        for sequence in sequences {
            let runner = Runner(package: package)
            findings += try comparison.findings(sequence.blocks.indices) { number in
                let block = sequence.blocks[number]
                let side = sides[block.step.function]
                var call = FeedCall(block)
                call.positions = sequence.positions(of: block, in: functions[block.step.function])
                call.statePositions = { [positions = call.positions] _ in positions }
                call.expected = { _, title, role in
                    held[CoreMLWeightMatcher.identifier(title)].flatMap { golden?.output($0, as: role) }
                }
                if let model = side.model { call.rename(inputsOf: model) }
                return (call, side.function)
            } noises: {
                [RoundingNoise(arithmetic: .float16, seed: options.inputs.samplingSeed)]
            } run: { number, call in
                let block = sequence.blocks[number]
                let side = sides[block.step.function]
                return try runner.run(block, call, functions[block.step.function], side.function, side.model)
            }
        }
        for index in blockFunctions.sorted() where sides[index].model == nil && !programs.isEmpty {
            findings.skip(
                .outputs, package.model.interfaces[index].function, "no part of the model has its inputs",
                isRequired: true)
        }
        return findings
    }

    private func compared(
        _ interface: CoreMLModel.Interface, _ function: FrozenProgram, _ model: FrozenProgram?, _ roles: [String: Role],
        _ stored: [String: StoredTensor], _ limits: CoreMLLimits, _ options: Parity.Options
    ) -> ComparedFunction {
        let program = function.program
        let states = program.states.map(\.name)
        func identifier(_ name: String) -> String { CoreMLWeightMatcher.output(name, besides: states) }
        let recorded = Dictionary(program.interface.outputs.map { (identifier($0), $1) }) { first, _ in first }
        let parts = package.model.parts(of: interface.function)
        let own = Set(program.outputs.map(\.name)).subtracting(parts.values.joined()).union(parts.keys).map(identifier)
        let changed = (model?.program ?? program).states.filter { $0.next != $0.value }.map(\.name)
        return ComparedFunction(
            name: interface.function, outputs: model?.program.outputs.map(\.name) ?? own.sorted(),
            states: model == nil ? changed.map(identifier).sorted() : changed, role: { roles[$0] ?? recorded[$0] },
            original: options.stages.contains(.outputs) ? model.map { ModelSide($0) } : nil,
            stored: model.map { ModelSide($0, stored: stored) }, graphLimit: .halves,
            limit: { values, expected, _, positions in
                guard let values else { return limits.tolerance(.halves, loss: nil) }
                guard values.shape == expected.shape else { return .halves }
                return limits.tolerance(.halves, loss: positions.metrics(of: values, against: expected))
            })
    }

    /// The blocks of a sequence, run by the reference implementation of the package's operations.
    private final class Runner {
        private let package: CoreMLPackage
        private var states: [String: HostTensor] = [:]
        private var made: [String: HostTensor] = [:]

        init(package: CoreMLPackage) { self.package = package }

        func run(
            _ block: GoldenDecoding.Block, _ call: FeedCall, _ function: FrozenProgram, _ compared: ComparedFunction,
            _ model: FrozenProgram?
        ) throws -> SequenceComparison.Found {
            states.merge(call.states) { $1 }
            let results = try function.evaluate(
                block.step.inputs(carrying: made) { HostTensor($0) }, states: &states)
            let outputs = try package.joiningParts(
                of: Dictionary(results.map { ($0.name, $0.tensor) }) { first, _ in first }, in: compared.name)
            made.merge(outputs) { $1 }
            let parts = package.model.parts(of: compared.name).values.joined()
            let changed = Set(function.program.states.filter { $0.next != $0.value }.map(\.name))
            var surplus: [String] = []
            /// Values by the names of the comparison.
            func named(
                _ values: [String: HostTensor], as known: [String], _ title: (String) -> String
            ) -> [String: HostTensor] {
                let names = CoreMLWeightMatcher.identified(known)
                return values.sorted { $0.key < $1.key }.reduce(into: [:]) { named, value in
                    let identifier = CoreMLWeightMatcher.output(value.key, besides: function.program.states.map(\.name))
                    if let name = names[identifier] {
                        if named[name] == nil { named[name] = value.value }
                    } else if model != nil {
                        surplus.append(title(value.key))
                    }
                }
            }
            let own = named(outputs.filter { !parts.contains($0.key) }, as: compared.outputs, block.name)
            let left = block.states.map { prefix in
                named(states.filter { changed.contains($0.key) }, as: compared.states) { prefix + $0 }
            }
            return .init(results: (own, left ?? [:]), surplus: surplus)
        }
    }
}

extension FeedCall {
    /// Gives inputs the names that a function of the model has for them.
    fileprivate mutating func rename(inputsOf model: FrozenProgram) {
        let names = model.program.inputs.map { (CoreMLWeightMatcher.identifier($0.name), $0.name) }
        func renamed<Element>(_ all: [String: Element]) -> [String: Element] {
            let given = CoreMLWeightMatcher.identified(all)
            return names.reduce(into: [:]) { $0[$1.1] = given[$1.0] }
        }
        (inputs, carried) = (renamed(inputs), renamed(carried))
    }
}
