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
    init(
        of interface: CoreMLModel.Interface, model: FrozenProgram?, drawn: FunctionFeed?, given: [String: HostTensor]
    ) {
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

    /// The elements of a state that a run changes.
    func positions(of name: String, in model: FrozenProgram?) -> CountedPositions {
        let type = model?.program.states.first { $0.name == name }.flatMap { model?.shape(of: $0.value) }
        let start = ofModel[name] ?? ofPackage[name]
        return (start ?? type.map { HostTensor([Float](repeating: 0, count: $0.count), $0) }).map(
            CountedPositions.init(changedSince:)) ?? .all
    }
}
