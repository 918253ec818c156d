import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The initial states of one run, on both sides: those of drawn inputs, or from a file, or else zeros. Core ML holds states in float16,
/// so both sides start as halves.
struct CoreMLStates {
    /// By the package's names.
    private(set) var ofPackage: [String: HostTensor] = [:]
    /// By the model's names.
    private(set) var ofModel: [String: HostTensor] = [:]
    /// The names of the package's states.
    let names: [String]
    /// The names of the model's states that it only reads.
    private let read: Set<String>

    init(
        of interface: CoreMLModel.Interface, model: FrozenProgram?, drawn: FunctionFeed?, given: [String: HostTensor]
    ) {
        names = interface.states.map(\.name)
        read = Set((model?.program.states ?? []).filter { $0.next == $0.value }.map(\.name))
        var start: [String: HostTensor] = given
        for state in model?.program.states ?? [] where drawn != nil { start[state.name] = drawn?.state(state.name) }
        let named = CoreMLWeightMatcher.identified(start)
        for state in interface.states {
            guard let tensor = named[CoreMLWeightMatcher.identifier(state.name)], tensor.elementType.isFloatingPoint,
                tensor.shape.dimensions == state.type.sizes
            else { continue }
            var floats = tensor.floats
            floats.roundToHalf()
            ofPackage[state.name] = HostTensor(floats, tensor.shape)
        }
        for state in model?.program.states ?? [] {
            ofModel[state.name] =
                ofPackage.first {
                    CoreMLWeightMatcher.identifier($0.key) == CoreMLWeightMatcher.identifier(state.name)
                }?.value
        }
    }

    /// Compares the states that a run leaves: only the elements that either side has changed, so that unchanged initial
    /// values do not hide errors.
    /// - Parameter states: the model's names of the states to compare.
    func compare(
        _ found: [String: HostTensor], with expected: [String: HostTensor], of states: [String],
        _ body: (_ name: String, _ found: HostTensor, _ wanted: HostTensor) -> Void,
        skip: (_ name: String, _ reason: String) -> Void
    ) {
        let own = CoreMLWeightMatcher.identified(names)
        for state in states {
            guard let name = own[CoreMLWeightMatcher.identifier(state)], let wanted = expected[state] else {
                skip(state, "the package has no such state")
                continue
            }
            let begin = ofPackage[name] ?? HostTensor([Float](repeating: 0, count: wanted.shape.count), wanted.shape)
            let found = found[name] ?? begin
            guard found.shape == wanted.shape else {
                skip(state, "the package has it as \(found.shape), expected \(wanted.shape)")
                continue
            }
            // A state that is only read is no result.
            guard let (found, wanted) = changes(found, wanted, since: begin) else {
                if !read.contains(state) { body(state, found, wanted) }
                continue
            }
            body(state, found, wanted)
        }
    }

    /// Returns the elements of a state of the model that either of two runs has changed; nil if there are none.
    func changes(_ found: HostTensor, _ wanted: HostTensor, of state: String) -> (HostTensor, HostTensor)? {
        changes(
            found, wanted,
            since: ofModel[state] ?? HostTensor([Float](repeating: 0, count: wanted.shape.count), wanted.shape))
    }

    private func changes(
        _ found: HostTensor, _ wanted: HostTensor, since begin: HostTensor
    ) -> (HostTensor, HostTensor)? {
        let (before, ours, theirs) = (begin.floats, found.floats, wanted.floats)
        let changed = before.indices.filter { ours[$0] != before[$0] || theirs[$0] != before[$0] }
        guard !changed.isEmpty else { return nil }
        let shape = Shape([changed.count])
        return (HostTensor(changed.map { ours[$0] }, shape), HostTensor(changed.map { theirs[$0] }, shape))
    }
}
