import ByteIO
import Exporters
import Programs
import Runtime
import Tensors

/// S3 and S4 of a Core ML package's functions that share states, on the tokens of a golden: all at once, and as a prefill
/// with single steps after it, by the reference meaning of the package's operations and by that of the model.
struct CoreMLDecoding {
    let package: CoreMLPackage
    let golden: Golden
    let programs: [Program]
    /// The package's weights by the model's names.
    let stored: [String: StoredTensor]
    let weakest: SchemeTolerance?

    func result(_ options: Parity.Options) throws -> OutputStage.Result {
        let names = package.model.interfaces.map(\.function)
        let functions = try names.map { try package.program(function: $0) }
        let sequences = try package.decoding(of: functions, golden: golden)
        let models = package.model.interfaces.map { interface in
            CoreMLRun(
                package: package, interface: interface, source: .golden(golden), stored: stored, weakest: weakest
            ).reference(programs, [:])
        }
        var result = OutputStage.Result()
        for sequence in sequences {
            try compare(sequence, functions, models, names, options, &result)
        }
        return result
    }

    private func compare(
        _ sequence: [GoldenDecoding.Block], _ functions: [FrozenProgram], _ models: [FrozenProgram?],
        _ names: [String], _ options: Parity.Options, _ result: inout OutputStage.Result
    ) throws {
        var states: [String: HostTensor] = [:]
        var modelStates: [String: HostTensor] = [:]
        var (made, modelMade): ([String: HostTensor], [String: HostTensor]) = ([:], [:])
        for block in sequence {
            let index = block.step.function
            func inputs(_ made: [String: HostTensor]) -> [String: HostTensor] {
                block.step.inputs(carrying: made) { HostTensor($0) }
            }
            let actual = byName(try functions[index].evaluate(inputs(made), states: &states))
            made.merge(actual) { $1 }
            var ofStored: [String: HostTensor] = [:]
            if let model = models[index] {
                let own = renamed(inputs(modelMade), as: model.program.inputs.map(\.name))
                ofStored = byName(
                    try model.evaluate(own, states: &modelStates) { constant in
                        try HostTensor(stored[constant.name] ?? constant.requireTensor())
                    })
                modelMade.merge(ofStored) { $1 }
            }
            add(actual, ofStored, names[index], { block.name($0) }, options, &result)
            if let prefix = block.states {
                let changed = functions[index].program.states.filter { $0.next != $0.value }.map(\.name)
                add(
                    states.filter { changed.contains($0.key) }, modelStates, names[index], { prefix + $0 }, options,
                    &result)
            }
        }
    }

    /// Compares values with the model's, and with the golden's of the name that they have there.
    private func add(
        _ actual: [String: HostTensor], _ ofStored: [String: HostTensor], _ function: String,
        _ name: (String) -> String, _ options: Parity.Options, _ result: inout OutputStage.Result
    ) {
        let model = Dictionary(ofStored.map { (CoreMLWeightMatcher.identifier($0.key), $0) }) { first, _ in first }
        let held = Dictionary(golden.outputs.map { (CoreMLWeightMatcher.identifier($0.key), $0) }) { first, _ in first }
        for (own, found) in actual.sorted(by: { $0.key < $1.key }) {
            let known = model[CoreMLWeightMatcher.output(own)]
            let label = name(known?.key ?? CoreMLWeightMatcher.output(own))
            if options.stages.contains(.graph), let expected = known?.value, expected.shape == found.shape {
                result.outputs.append(
                    OutputFinding(
                        .graph, function: function, name: label, against: .storedWeights, found, expected, .halves))
            }
            guard options.stages.contains(.outputs) else { continue }
            guard let expected = held[CoreMLWeightMatcher.identifier(label)].map({ HostTensor($0.value) }),
                expected.shape == found.shape
            else {
                result.notCompared.append(
                    NotCompared(stage: .outputs, name: "\(function) \(label)", reason: "the golden has no such output"))
                continue
            }
            let lossy = Tolerance(
                sqnr: weakest?.output ?? SchemeTolerance.rounding,
                origin: "the default for \(weakest?.scheme ?? "float32")")
            result.outputs.append(
                OutputFinding(
                    .outputs, function: function, name: label, against: .golden, found, expected,
                    options.budget?.tolerance(forOutput: label) ?? lossy))
        }
    }

    private func byName(_ outputs: [(name: String, tensor: HostTensor)]) -> [String: HostTensor] {
        Dictionary(outputs.map { ($0.name, $0.tensor) }) { first, _ in first }
    }

    private func renamed(_ inputs: [String: HostTensor], as names: [String]) -> [String: HostTensor] {
        let given = Dictionary(inputs.map { (CoreMLWeightMatcher.identifier($0.key), $0.value) }) { first, _ in first }
        return names.reduce(into: [:]) { $0[$1] = given[CoreMLWeightMatcher.identifier($1)] }
    }
}
