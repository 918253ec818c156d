import Accel
import AccelByteIO
import AccelTensors
import Foundation

/// The CPU's backend, whose runs wait at a gate before they begin.
struct BlockingBackend: Backend {
    let id = BackendID(rawValue: "blocking")
    let gate = Gate()

    func assess(_ request: BackendRequest) async -> Assessment { await CPUBackend().assess(request) }

    func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        Model(base: try await CPUBackend().load(request, progress: progress), gate: gate)
    }

    /// Closed until `open` is called.
    final class Gate: Sendable {
        private let state = Locked((isOpen: false, hasEntered: false))

        func open() { state.withLock { $0.isOpen = true } }

        /// Waits until a run has come.
        func entered() async {
            while !state.withLock({ $0.hasEntered }) { try? await Task.sleep(for: .milliseconds(1)) }
        }

        fileprivate func pass() {
            state.withLock { $0.hasEntered = true }
            while !state.withLock({ $0.isOpen }) { usleep(1000) }
        }
    }

    private struct Model: LoadedModel {
        let base: any LoadedModel
        let gate: Gate
        var functions: [FunctionDescription] { base.functions }
        func makeSession() throws(AccelError) -> any ModelSession { Session(base: try base.makeSession(), gate: gate) }
    }

    private final class Session: ModelSession {
        private let base: any ModelSession
        private let gate: Gate
        init(base: any ModelSession, gate: Gate) { (self.base, self.gate) = (base, gate) }
        func run(
            _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?,
            until cancellation: Cancellation?
        ) throws(AccelError) -> [String: StoredTensor] {
            gate.pass()
            return try base.run(function, inputs, outputs: outputs, until: cancellation)
        }
        func snapshot() throws(AccelError) -> [StoredTensor] { try base.snapshot() }
        func restore(_ snapshot: [StoredTensor]) throws(AccelError) { try base.restore(snapshot) }
        func reset() { base.reset() }
    }
}
