import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension BackendID {
    /// The reference implementation of the operators.
    public static let reference = BackendID(rawValue: "reference")
}

/// Runs models with the reference implementation of the operators in plain Swift, for comparison with other backends. It is
/// slow, so it runs on request only, and supports small models only.
public struct ReferenceBackend: Backend {
    public let id = BackendID.reference
    /// Limits: multiply-adds of one run of a function, and bytes of all weights as float32.
    public static let (mostMultiplyAdds, mostWeightBytes) = (1 << 30, 1 << 28)

    /// The backend has no settings.
    public init() {}

    public func assess(_ request: BackendRequest) async -> Assessment {
        if let reason = rejectionReason(for: request) { return .unsuitable(reason: reason) }
        return .suitable(priority: .onRequest, notes: ["the reference meaning: slow"])
    }

    public func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        if let reason = rejectionReason(for: request) {
            throw AccelError(.unsupported, reason, at: request.package.path, hint: "use the backend \(BackendID.cpu)")
        }
        progress(.preparing(0))
        let model = ReferenceModel(request.package)
        progress(.ready)
        return model
    }

    private func rejectionReason(for request: BackendRequest) -> String? {
        let graph = request.package.graph
        let weights = MachineMemory.sum(graph.tensors.map { TensorType(.float32, shape: $0.shape).hostBytes })
        if weights > Self.mostWeightBytes {
            return "its weights are \(weights) bytes as float32; at most \(Self.mostWeightBytes) are run"
        }
        for function in graph.functions {
            let work = MachineMemory.sum(
                function.program.nodes.map { node in node.operation.multiplyAdds(node.inputs.map(function.shape)) })
            if work > Self.mostMultiplyAdds {
                return "\(function.functionName) has \(work) multiply-adds; at most \(Self.mostMultiplyAdds) are run"
            }
            let values = MachineMemory.sum(
                function.program.nodes.flatMap(\.outputs).map { function.program.type(of: $0).hostBytes })
            if let limit = request.memoryLimit, values > limit {
                return "\(function.functionName) has \(values) bytes of values; the limit is \(limit)"
            }
        }
        return nil
    }
}

private struct ReferenceModel: LoadedModel {
    let programs: [FrozenProgram]
    let functions: [FunctionDescription]
    let weights: [String: CompressedTensor]

    init(_ package: AcceleratorPackage) {
        programs = package.graph.functions
        functions = programs.map(FunctionDescription.init)
        weights = Dictionary(package.graph.tensors.map { ($0.name, $0) }) { first, _ in first }
    }

    func makeSession() throws(AccelError) -> any ModelSession { ReferenceSession(self) }

    /// Returns a weight decoded to float32; tables of integers or booleans stay unchanged.
    func tensor(_ constant: Program.Constant) throws -> HostTensor {
        guard let weight = weights[constant.name], let bytes = weight.sections.first else {
            throw AccelError(.corrupt, "there is no such tensor", at: "tensor \"\(constant.name)\"")
        }
        if weight.elementType.isFloatingPoint { return HostTensor(weight.floats(), weight.shape) }
        return HostTensor(
            StoredTensor(name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: bytes))
    }
}

private final class ReferenceSession: ModelSession {
    private let model: ReferenceModel
    /// The states that are not at their initial values.
    private var states: [FrozenProgram.Port: HostTensor] = [:]

    init(_ model: ReferenceModel) { self.model = model }

    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?, until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        let index = try model.functions.index(named: function)
        try model.functions[index].check(inputs, outputs: outputs)
        let program = model.programs[index]
        var values: [String: HostTensor] = [:]
        for state in program.states { values[state.name] = states[state.port] }
        do {
            // What it runs is small, so that a run that has begun is soon over.
            try cancellation?.check()
            let made = try program.evaluate(
                inputs.mapValues { HostTensor($0) }, states: &values, constant: model.tensor)
            for state in program.states { states[state.port] = values[state.name] }
            return Dictionary(
                made.filter { outputs?.contains($0.name) ?? true }.map { ($0.name, $0.tensor.stored(name: $0.name)) }
            ) { first, _ in first }
        } catch {
            throw AccelError(error, at: function)
        }
    }

    func snapshot() throws(AccelError) -> [StoredTensor] {
        states.sorted { ($0.key.name, $0.key.typeText) < ($1.key.name, $1.key.typeText) }
            .map { $0.value.stored(name: $0.key.name) }
    }

    func restore(_ snapshot: [StoredTensor]) throws(AccelError) {
        let known = Set(model.programs.flatMap { $0.states.map(\.port) })
        var restored: [FrozenProgram.Port: HostTensor] = [:]
        for tensor in snapshot {
            let port = FrozenProgram.Port(name: tensor.name, elementType: tensor.elementType, shape: tensor.shape)
            guard known.contains(port) else {
                throw AccelError(
                    .notFound, "there is no state of type \(port.typeText)", at: "state \"\(tensor.name)\"")
            }
            restored[port] = HostTensor.content(tensor).converted(to: port.elementType)
        }
        states = restored
    }

    func reset() { states = [:] }
}
