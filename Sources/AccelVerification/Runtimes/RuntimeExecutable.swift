import AccelPrograms
import AccelTensors

/// An export in the runtime of another project, which has run all calls before.
struct RuntimeExecutable: Executable {
    let calls: Range<Int>
    let runs: [RuntimeRun]
    /// The function of each run.
    let functions: [ComparedFunction]
    let answer: RuntimeRequest.Answer
    /// The runtime in sentences.
    let title: String
    /// The arithmetic whose noise is measured; nil for none.
    let arithmetic: RoundingNoise.Arithmetic?

    func noises(seed: UInt64) -> [RoundingNoise] { arithmetic.map { [.init(arithmetic: $0, seed: seed)] } ?? [] }

    func call(_ number: Int) throws -> (FeedCall, ComparedFunction) {
        let run = runs[number]
        try run.model.requireMemoryForInputs()
        var call = run.call
        call.expected = { name, _, _ in run.expected[name] }
        return (call, functions[number])
    }

    func run(_ number: Int) -> ExecutedCall {
        let (outputs, states) = (functions[number].outputs, functions[number].states)
        return .init(
            results: (values(outputs, of: number, isState: false), values(states, of: number, isState: true)),
            missing: { name in
                let isState = !outputs.contains(name)
                let reason = answer.missing[RuntimeRequest.Answer.name(number, name, isState: isState)]
                return (reason ?? "\(title) gave no such output", reason == nil)
            })
    }

    private func values(_ names: [String], of number: Int, isState: Bool) -> [String: HostTensor] {
        names.reduce(into: [:]) { values, name in
            let answered = RuntimeRequest.Answer.name(number, name, isState: isState)
            values[name] = answer.outputs[answered].map { HostTensor($0) }
        }
    }
}
