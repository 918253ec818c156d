import Accel
import AccelCPURuntime
import AccelPrograms
import AccelTensors

/// A package on the blocks of a sequence.
struct PackageExecutable: Executable {
    let sequence: SampleDecoding.Sequence
    /// Where the sequence is from; nil for samples.
    let golden: Golden?
    /// All functions, with the shapes of their results that noise is measured in.
    let functions: [(compared: ComparedFunction, shapes: [Shape])]
    let program: ModelPlan
    let own: SessionSequence
    /// With all activations in float32; nil if none are rounded.
    let graph: SessionSequence?

    var calls: Range<Int> { sequence.blocks.indices }

    func noises(seed: UInt64) -> [RoundingNoise] {
        RoundingNoise.runs(.float32, over: sequence.blocks.flatMap { functions[$0.step.function].shapes }, seed: seed)
    }

    func call(_ number: Int) -> (FeedCall, ComparedFunction) {
        let block = sequence.blocks[number]
        var call = FeedCall(block)
        call.positions = sequence.positions(
            of: block, length: program.functions[block.step.function].input(.tokens)?.shape.dimensions.last)
        call.expected = { [golden] _, title, role in golden?.output(title, as: role) }
        return (call, functions[block.step.function].compared)
    }

    func run(_ number: Int) throws -> ExecutedCall {
        let block = sequence.blocks[number]
        return .init(results: try own.run(block), graph: try graph?.run(block))
    }
}

/// The blocks of a sequence, run by a package.
final class SessionSequence {
    private let session: Session
    private var made: [String: StoredTensor] = [:]

    init(_ program: ModelPlan, threads: Int) throws { session = try Session(program, threads: threads) }

    func run(_ block: GoldenDecoding.Block) throws -> CallResults {
        let outputs = try session.run(block.step, carrying: made)
        for tensor in outputs { made[tensor.name] = tensor }
        let states =
            block.states == nil
            ? [] : session.program.functions[block.step.function].states.compactMap(session.states.value)
        return (
            Dictionary(outputs.map { ($0.name, HostTensor($0)) }) { first, _ in first },
            Dictionary(states.map { ($0.name, HostTensor.values($0)) }) { first, _ in first }
        )
    }
}
