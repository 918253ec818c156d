import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// One function of the subject with its inputs, and the results that its stages share.
struct FunctionRun {
    let index: Int
    let function: FunctionPlan
    let feed: FunctionFeed
    /// The golden that the inputs are from, reduced to one sample.
    let golden: Golden?
    /// The model's function with the same sizes; nil without a model.
    let frozen: FrozenProgram?
    let runner: PackageRunner
    let stored: StoredWeights
    /// Names of the weights that differ from the checkpoint's after decoding.
    let lossy: Set<String>

    var inputs: [String: HostTensor] { feed.inputs }
    /// The model's interface, or the plan's without a model.
    var interface: Interface { frozen?.program.interface ?? function.interface }

    /// The compared results: the outputs, and the changed states that are not outputs. They are the model's if there is
    /// one, so that results missing from the package are found.
    var results: [FrozenProgram.Port] { frozen?.results ?? function.results }

    /// The outputs that the package has and the model does not.
    var surplus: [FrozenProgram.Port] {
        let names = Set(results.map(\.name))
        return function.results.filter { !names.contains($0.name) }
    }

    /// The suffix of output names: the number of the sample.
    var suffix: String { golden?.suffix ?? "" }

    /// Returns the name of an output or state in reports: with the function's, and the number of the sample.
    func name(ofResult name: String) -> String { "\(function.name) \(name)\(suffix)" }

    /// The weights that this function reads and whose encoding is lossy.
    var lossyWeights: [Int] {
        var indices = Set<Int>()
        for operand in function.calls.flatMap(\.inputs) + function.outputs.map(\.operand) {
            if case .weight(let index) = operand.storage, stored.tensors.indices.contains(index) {
                indices.insert(index)
            }
        }
        return indices.filter { lossy.contains(stored.tensors[$0].name) }.sorted()
    }

    /// Returns a weight or table of the model.
    static func originalOperand(of constant: Program.Constant) throws -> ReferenceOperand {
        ReferenceOperand(try constant.requireTensor())
    }

    /// Returns a weight or table of the model; a weight that has lost something is decoded from the package's bytes.
    func storedOperand(of constant: Program.Constant) throws -> ReferenceOperand {
        guard constant.isWeight, lossy.contains(constant.name), let index = stored.index(of: constant.name) else {
            return try Self.originalOperand(of: constant)
        }
        return try stored.operand(at: index)
    }

    /// Returns the value of a constant of the model, decoded from the package's weights.
    func storedValue(of constant: Program.Constant) throws -> HostTensor { try storedOperand(of: constant).tensor }

    /// Returns the results of the reference implementation by name.
    func results(
        of frozen: FrozenProgram, with constant: @escaping (Program.Constant) throws -> ReferenceOperand
    ) throws -> [String: HostTensor] {
        let reference = FollowingReference(of: frozen, feed, constant: constant)
        try reference.finish()
        return reference.results
    }
}

extension FunctionPlan {
    /// The results of a run: the outputs, and the changed states that are not outputs.
    var results: [FrozenProgram.Port] {
        let given = outputs.map {
            FrozenProgram.Port(name: $0.name, elementType: $0.operand.elementType, shape: $0.operand.shape)
        }
        let names = Set(given.map(\.name))
        return given + changedStates.map(\.port).filter { !names.contains($0.name) }
    }
}
