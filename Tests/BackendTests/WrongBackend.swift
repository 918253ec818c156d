import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors
import BackendConformance

/// The CPU's backend with one thing wrong.
struct WrongBackend: Backend {
    enum Fault: CaseIterable {
        case perturbsOutputs, leavesOutputsOut, forgetsStates, sharesStates, ignoresShapes, losesErrors, breaksOnErrors
        case resetsNothing, restoresNothing, isNeverReady, hidesFunctions, praisesItself, rejectsSilently
        case ignoresRequestedOutputs, ignoresCancellation, breaksOnCancellation

        /// What the suite is to find wrong.
        var subject: ConformanceReport.Subject {
            switch self {
            case .perturbsOutputs, .leavesOutputsOut, .ignoresRequestedOutputs: .outputs
            case .forgetsStates: .states
            case .sharesStates: .sessions
            case .ignoresShapes, .losesErrors, .breaksOnErrors: .errors
            case .ignoresCancellation, .breaksOnCancellation: .cancellation
            case .resetsNothing, .restoresNothing: .snapshots
            case .isNeverReady: .progress
            case .hidesFunctions: .functions
            case .praisesItself, .rejectsSilently: .assessment
            }
        }
    }
    let id = BackendID(rawValue: "wrong")
    let fault: Fault
    private let base = CPUBackend()

    init(_ fault: Fault) { self.fault = fault }

    func assess(_ request: BackendRequest) async -> Assessment {
        switch fault {
        case .praisesItself: .suitable(priority: .accelerator, notes: [])
        case .rejectsSilently: .unsuitable(reason: "")
        default: await base.assess(request)
        }
    }

    func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        let fault = fault
        let model = try await base.load(request) { if fault != .isNeverReady || $0 != .ready { progress($0) } }
        return WrongModel(fault: fault, base: model, shared: Shared(try model.makeSession()))
    }
}

private final class Shared: @unchecked Sendable {
    // The suite shall see what comes of it; only sessions in turns use it before it is found.
    let session: any ModelSession
    init(_ session: any ModelSession) { self.session = session }
}

private struct WrongModel: LoadedModel {
    let fault: WrongBackend.Fault
    let base: any LoadedModel
    let shared: Shared
    var functions: [FunctionDescription] {
        fault == .hidesFunctions ? Array(base.functions.dropLast()) : base.functions
    }
    func makeSession() throws(AccelError) -> any ModelSession {
        WrongSession(fault: fault, base: try base.makeSession(), shared: shared)
    }
}

private final class WrongSession: ModelSession {
    private let fault: WrongBackend.Fault
    private let base: any ModelSession
    private let shared: Shared
    private var last: [String: StoredTensor] = [:]
    private var isBroken = false

    init(fault: WrongBackend.Fault, base: any ModelSession, shared: Shared) {
        (self.fault, self.base, self.shared) = (fault, base, shared)
    }

    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?, until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        if isBroken { throw AccelError(.backend, "is broken") }
        if fault == .forgetsStates { base.reset() }
        if fault == .sharesStates {
            // What another session has left.
            try base.restore(try shared.session.snapshot())
        }
        var made: [String: StoredTensor]
        do throws(AccelError) {
            made = try base.run(
                function, inputs, outputs: fault == .ignoresRequestedOutputs ? nil : outputs,
                until: fault == .ignoresCancellation ? nil : cancellation)
        } catch let error {
            if fault == .ignoresShapes, error.problem.contains("found") { return last }
            if fault == .losesErrors { throw AccelError(.backend, "failed") }
            let endedEarly = [.cancelled, .timedOut].contains(error.code)
            isBroken = fault == (endedEarly ? .breaksOnCancellation : .breaksOnErrors)
            throw error
        }
        if fault == .sharesStates { try shared.session.restore(try base.snapshot()) }
        if fault == .perturbsOutputs {
            made = made.mapValues { tensor in
                guard tensor.elementType == .float32 else { return tensor }
                var floats = tensor.floats()
                if !floats.isEmpty { floats[0] += 0.001 }
                return StoredTensor(name: tensor.name, floats: floats, shape: tensor.shape)
            }
        }
        if fault == .leavesOutputsOut, let name = made.keys.min() { made[name] = nil }
        last = made
        return made
    }

    func snapshot() throws(AccelError) -> [StoredTensor] { try base.snapshot() }
    func restore(_ snapshot: [StoredTensor]) throws(AccelError) {
        if fault != .restoresNothing { try base.restore(snapshot) }
    }
    func reset() {
        if fault != .resetsNothing { base.reset() }
    }
}
