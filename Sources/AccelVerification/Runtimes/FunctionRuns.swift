import Accel
import AccelByteIO
import AccelCPURuntime
import AccelFormats
import AccelPrograms
import AccelTensors

/// The runs of runtimes that call an export's functions by name, with their fixed shapes.
struct FunctionRuns {
    private(set) var runs: [RuntimeRun] = []
    private(set) var notCompared: [NotCompared] = []
    /// The functions whose inputs were drawn, because the file has none for them.
    private(set) var drawn: [String] = []

    /// - Parameter functions: the names of the export's functions, and the model's function with the same shapes.
    /// - Throws: `RequestError` if the inputs of a file fit no function.
    init(_ functions: [(name: String, model: FrozenProgram)], on source: InputSource) throws {
        let plan = ModelPlan(
            of: ModelGraph(functions: functions.map(\.model), tensors: []),
            functions: functions.map { $0.model.outline(part: $0.model.program.name) })
        var done: Set<Int> = []
        if let golden = source.golden, golden.isDecoding, plan.functions.contains(where: { !$0.states.isEmpty }) {
            done = add(try GoldenDecoding(plan, golden: golden).sequences, functions, golden)
        } else {
            if let samples = try Self.matcher(source, plan)?.samples, let decoding = try SampleDecoding(plan, samples) {
                done = add(decoding.sequences.map(\.blocks), functions, nil)
            }
            let decoded = done
            for sample in source.golden?.samples.map(Optional.some) ?? [nil] {
                guard let matcher = try sample.map({ InputMatcher(golden: $0) }) ?? Self.matcher(source, plan) else {
                    continue
                }
                for (index, feed) in try matcher.functions(of: plan) where !decoded.contains(index) {
                    // On zeros, which are no encoder's, a decoder would show nothing: it runs on drawn inputs.
                    if sample == nil, !plan.functions[index].encoderStates(missingIn: feed).isEmpty { continue }
                    let (function, feed) = (functions[index], try feed.completed())
                    done.insert(index)
                    let suffix = sample?.suffix ?? ""
                    var run = RuntimeRun(
                        function: function.name, model: function.model, sequence: runs.count, inputs: feed.inputs,
                        states: feed.states, outputName: { $0 + suffix }, stateName: { $0 + suffix })
                    run.expected = sample?.outputs(as: function.model.program.interface.outputs) ?? [:]
                    runs.append(run)
                }
            }
        }
        let inputs = DrawnInputs(functions.map(\.model), seed: source.samplingSeed)
        for (index, function) in functions.enumerated() where !done.contains(index) {
            try function.model.requireMemoryForInputs()
            guard let feed = try inputs.feed(for: index) else { continue }
            let states = function.model.states.compactMap { state in feed.state(state.name).map { (state.name, $0) } }
            runs.append(
                RuntimeRun(
                    function: function.name, model: function.model, sequence: runs.count, inputs: feed.inputs,
                    states: Dictionary(states) { first, _ in first }, stateName: { $0 }))
            if source.seed == nil { drawn.append(function.model.functionName) }
        }
    }

    /// Adds the runs of sequences of blocks.
    /// - Returns: their functions.
    private mutating func add(
        _ sequences: [[GoldenDecoding.Block]], _ functions: [(name: String, model: FrozenProgram)], _ golden: Golden?
    ) -> Set<Int> {
        for sequence in sequences {
            let number = runs.count
            for block in sequence {
                runs.append(Self.run(block, functions[block.step.function], sequence: number, golden))
            }
        }
        return Set(sequences.joined().map(\.step.function))
    }

    private static func matcher(_ source: InputSource, _ plan: ModelPlan) throws -> InputMatcher? {
        guard case .file(let file) = source else { return nil }
        return try InputMatcher(file, for: plan.functions.map(\.interface))
    }

    private static func run(
        _ block: GoldenDecoding.Block, _ function: (name: String, model: FrozenProgram), sequence: Int,
        _ golden: Golden?
    ) -> RuntimeRun {
        let states = block.step.states.map { ($0.name, HostTensor.content($0)) }
        var run = RuntimeRun(
            function: function.name, model: function.model, sequence: sequence,
            inputs: block.step.inputs.mapValues { HostTensor($0) }, carried: block.step.carried,
            states: Dictionary(states) { first, _ in first }, outputName: block.name)
        if let prefix = block.states { run.stateName = { prefix + $0 } }
        for result in run.results {
            run.expected[result.name] = golden?.output(result.title, as: run.role(result.name))
        }
        return run
    }
}
