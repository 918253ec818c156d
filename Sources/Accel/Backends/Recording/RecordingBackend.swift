import AccelByteIO
import AccelTensors

/// Passes every call on to another backend and records it, so that an app can test or log what it asks of a backend. It has the
/// other backend's name, and replaces it in a registry:
///
///     var configuration = Configuration()
///     let recording = RecordingBackend(CPUBackend())
///     configuration.registry.register(recording)
///     let model = try await AccelModel(.path("minilm.accelpkg"), configuration: configuration)
///     print(recording.calls.map(\.description))
public struct RecordingBackend: Backend {
    /// One call of a backend, a model or a session.
    public struct Call: Equatable, Sendable, CustomStringConvertible {
        /// The kind of a call.
        public enum Kind: String, Sendable {
            /// A model is assessed.
            case assess
            /// A model is loaded.
            case load
            /// A session is made.
            case makeSession
            /// A function runs.
            case run
            /// States are copied.
            case snapshot
            /// States are set.
            case restore
            /// States are set to their initial values.
            case reset
        }
        /// The kind.
        public let kind: Kind
        /// The function that runs, or the path of the package; empty for others.
        public let subject: String
        /// The number of the session, from 0; nil for calls of no session.
        public let session: Int?
        /// The reason why the call failed, or why a model is unsuitable; nil for none.
        public let failure: String?
        /// The time that the call took.
        public let duration: Duration

        public var description: String {
            "\(session.map { "session \($0): " } ?? "")\(kind.rawValue)\(subject.isEmpty ? "" : " \(subject)")"
                + (failure.map { ": \($0)" } ?? "")
        }
    }

    private let base: any Backend
    private let log = CallLog()
    public var id: BackendID { base.id }
    /// The calls that have ended, in the order of their ends.
    public var calls: [Call] { log.calls.withLock { $0 } }

    /// Records the calls of a backend.
    public init(_ base: any Backend) { self.base = base }

    public func assess(_ request: BackendRequest) async -> Assessment {
        let start = ContinuousClock.now
        let assessment = await base.assess(request)
        var reason: String?
        if case .unsuitable(let text) = assessment { reason = text }
        log.add(.assess, request.package.path, failure: reason, since: start)
        return assessment
    }

    public func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        let start = ContinuousClock.now
        do throws(AccelError) {
            let model = try await base.load(request, progress: progress)
            log.add(.load, request.package.path, since: start)
            return RecordedModel(base: model, log: log)
        } catch {
            log.add(.load, request.package.path, failure: error.description, since: start)
            throw error
        }
    }
}

private final class CallLog: Sendable {
    let calls = Locked<[RecordingBackend.Call]>([])
    let sessions = Locked(0)

    func add(
        _ kind: RecordingBackend.Call.Kind, _ subject: String = "", session: Int? = nil, failure: String? = nil,
        since start: ContinuousClock.Instant
    ) {
        let call = RecordingBackend.Call(
            kind: kind, subject: subject, session: session, failure: failure, duration: ContinuousClock.now - start)
        calls.withLock { $0.append(call) }
    }

    func recording<Result>(
        _ kind: RecordingBackend.Call.Kind, _ subject: String = "", session: Int? = nil,
        _ body: () throws(AccelError) -> Result
    ) throws(AccelError) -> Result {
        let start = ContinuousClock.now
        do throws(AccelError) {
            let result = try body()
            add(kind, subject, session: session, since: start)
            return result
        } catch {
            add(kind, subject, session: session, failure: error.description, since: start)
            throw error
        }
    }
}

private struct RecordedModel: LoadedModel {
    let base: any LoadedModel
    let log: CallLog
    var functions: [FunctionDescription] { base.functions }

    func makeSession() throws(AccelError) -> any ModelSession {
        let number = log.sessions.withLock { count in
            defer { count += 1 }
            return count
        }
        let session = try log.recording(.makeSession, session: number) { () throws(AccelError) in
            try base.makeSession()
        }
        return RecordedSession(session, number: number, log: log)
    }
}

private final class RecordedSession: ModelSession {
    private let base: any ModelSession
    private let number: Int
    private let log: CallLog

    init(_ base: any ModelSession, number: Int, log: CallLog) {
        (self.base, self.number, self.log) = (base, number, log)
    }

    func run(
        _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?, until cancellation: Cancellation?
    ) throws(AccelError) -> [String: StoredTensor] {
        try log.recording(.run, function, session: number) { () throws(AccelError) in
            try base.run(function, inputs, outputs: outputs, until: cancellation)
        }
    }

    func snapshot() throws(AccelError) -> [StoredTensor] {
        try log.recording(.snapshot, session: number) { () throws(AccelError) in try base.snapshot() }
    }

    func restore(_ snapshot: [StoredTensor]) throws(AccelError) {
        try log.recording(.restore, session: number) { () throws(AccelError) in try base.restore(snapshot) }
    }

    func reset() {
        let start = ContinuousClock.now
        base.reset()
        log.add(.reset, session: number, since: start)
    }
}
