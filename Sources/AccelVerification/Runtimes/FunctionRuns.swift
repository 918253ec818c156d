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
                done = add(decoding.sequences, functions, nil)
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
                    var call = FeedCall(inputs: feed.inputs)
                    call.states = feed.states
                    (call.outputName, call.stateName) = ({ $0 + suffix }, { $0 + suffix })
                    var run = RuntimeRun(function: function.name, model: function.model, sequence: runs.count, call)
                    run.expected = sample?.outputs(as: function.model.program.interface.outputs) ?? [:]
                    runs.append(run)
                }
            }
        }
        let inputs = DrawnInputs(functions.map(\.model), seed: source.samplingSeed)
        for (index, function) in functions.enumerated() where !done.contains(index) {
            try function.model.requireMemoryForInputs()
            guard let feed = try inputs.feed(for: index) else { continue }
            var call = FeedCall(inputs: feed.inputs)
            for state in function.model.states { call.states[state.name] = feed.state(state.name) }
            call.stateName = { $0 }
            runs.append(RuntimeRun(function: function.name, model: function.model, sequence: runs.count, call))
            if source.seed == nil { drawn.append(function.model.functionName) }
        }
    }

    /// Adds the runs of sequences of blocks.
    /// - Returns: their functions.
    private mutating func add(
        _ sequences: [SampleDecoding.Sequence], _ functions: [(name: String, model: FrozenProgram)], _ golden: Golden?
    ) -> Set<Int> {
        for blocks in sequences.map(\.blocks) {
            let number = runs.count
            for block in blocks {
                let function = functions[block.step.function]
                var run = RuntimeRun(function: function.name, model: function.model, sequence: number, FeedCall(block))
                for name in run.model.program.outputs.map(\.name) {
                    run.expected[name] = golden?.output(run.call.outputName(name), as: run.role(name))
                }
                for name in run.states {
                    run.expected[name] = golden?.output(run.call.stateName?(name) ?? name, as: nil)
                }
                runs.append(run)
            }
        }
        return Set(sequences.flatMap(\.blocks).map(\.step.function))
    }

    private static func matcher(_ source: InputSource, _ plan: ModelPlan) throws -> InputMatcher? {
        guard case .file(let file) = source else { return nil }
        return try InputMatcher(file, for: plan.functions.map(\.interface))
    }
}
