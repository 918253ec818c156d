public import AccelByteIO

/// Which backends may run a model.
public enum BackendChoice: Equatable, Sendable {
    /// The suitable backend of the highest priority. Backends with the priority `onRequest` are passed over.
    case automatic
    /// This backend, or an error.
    case only(BackendID)
    /// The first suitable one of these, else as `automatic`.
    case preferring([BackendID])
}

/// The reaction to a backend that fails to load a model. A loaded model never changes its backend.
public enum BackendFallback: Sendable {
    /// The next backend is tried.
    case atOpening
    /// The failure is an error.
    case never
}

/// One backend that was considered for a model, with the outcome.
public struct BackendAttempt: Equatable, Sendable, CustomStringConvertible {
    /// The outcome of assessing and loading.
    public enum Outcome: Equatable, Sendable {
        /// The backend loaded the model; the notes are those of its assessment.
        case loaded(notes: [String])
        /// The assessment was unsuitable.
        case unsuitable(reason: String)
        /// The assessment was suitable, but loading failed.
        case failed(reason: String)
        /// The backend runs on request only, and was not named.
        case passedOver
    }
    /// The backend's name.
    public let backend: BackendID
    /// Whether the backend loaded the model, and why not.
    public let outcome: Outcome
    /// The time for assessing and loading.
    public let duration: Duration

    public var description: String {
        let text =
            switch outcome {
            case .loaded(let notes): notes.isEmpty ? "loaded" : "loaded: \(notes.joined(separator: ", "))"
            case .unsuitable(let reason): "unsuitable: \(reason)"
            case .failed(let reason): "failed: \(reason)"
            case .passedOver: "runs on request only"
            }
        return "\(backend): \(text)"
    }
}

/// How the backend of a model was selected.
public struct SessionInfo: Sendable {
    /// The digest of the package.
    public let package: Digest
    /// The choice of the request.
    public let requested: BackendChoice
    /// The backend that loaded the model.
    public let backend: BackendID
    /// All attempts in order; the last one loaded the model.
    public let attempts: [BackendAttempt]
    /// Whether an earlier backend, suitable or requested by name, did not load the model.
    public var didFallBack: Bool {
        if case .preferring(let ids) = requested, ids.first != backend { return true }
        return attempts.contains { if case .failed = $0.outcome { true } else { false } }
    }
}

extension Backends {
    /// Loads a model with the best backend of a choice.
    /// - Parameters:
    ///   - request: the package and the limits of resources.
    ///   - choice: the backends to consider.
    ///   - fallback: whether the next backend is tried after one that fails.
    ///   - probed: a backend that does not give the numbers of the package's probe has failed.
    ///   - limit: the time that each backend has to load the model; one that needs longer has failed. nil for no limit.
    ///   - progress: as for `Backend.load`; each attempt starts at 0 again.
    /// - Throws: `AccelError` with all attempts if no backend loads the model, (timed out) if the limit kept one of them from it;
    ///   (cancelled) once the task is cancelled.
    public func load(
        _ request: BackendRequest, by choice: BackendChoice = .automatic, fallback: BackendFallback = .atOpening,
        probed: Bool = false, within limit: Duration? = nil,
        progress: @escaping @Sendable (LoadingEvent) -> Void = { _ in }
    ) async throws(AccelError) -> (model: any LoadedModel, info: SessionInfo) {
        let clock = ContinuousClock()
        var attempts: [BackendAttempt] = []
        func error(_ code: AccelError.Code, _ problem: String) -> AccelError {
            AccelError(code, problem, at: request.package.path, attempts: attempts)
        }
        let probe = probed ? try request.probe() : nil
        let candidates = try await candidates(for: request, choice, &attempts)
        var isLate = false
        for (index, candidate) in candidates.enumerated() {
            if Task.isCancelled { throw error(.cancelled, "was cancelled") }
            let start = clock.now
            do throws(AccelError) {
                let model = try await candidate.backend.load(request, within: limit, progress: progress)
                var notes = candidate.notes
                if let probe {
                    let (largest, limit) = try probe.check(model, of: candidate.backend.id)
                    notes.append("the probe differs by \(largest), at most \(limit) is allowed")
                }
                attempts.append(
                    BackendAttempt(
                        backend: candidate.backend.id, outcome: .loaded(notes: notes),
                        duration: candidate.assessing + (clock.now - start)))
                let info = SessionInfo(
                    package: request.package.digest, requested: choice, backend: candidate.backend.id,
                    attempts: attempts)
                return (model, info)
            } catch let failure {
                attempts.append(
                    BackendAttempt(
                        backend: candidate.backend.id, outcome: .failed(reason: failure.description),
                        duration: candidate.assessing + (clock.now - start)))
                guard failure.code != .cancelled else { throw error(.cancelled, "was cancelled") }
                guard fallback == .atOpening else { throw error(failure.code, "\(candidate.backend.id) failed") }
                isLate = isLate || failure.code == .timedOut
                if index + 1 < candidates.count { attempts.last.map { progress(.fellBack($0)) } }
            }
        }
        throw isLate
            ? error(.timedOut, "no backend was ready in time") : error(.unsupported, "no backend runs this model")
    }

    private struct Candidate {
        let backend: any Backend
        let priority: BackendPriority
        let notes: [String]
        let assessing: Duration
    }

    /// Returns the suitable backends of a choice, the best first, and adds the others to the attempts.
    private func candidates(
        for request: BackendRequest, _ choice: BackendChoice, _ attempts: inout [BackendAttempt]
    ) async throws(AccelError) -> [Candidate] {
        let clock = ContinuousClock()
        var named: [BackendID] = []
        var considered: [any Backend] = []
        switch choice {
        case .automatic: considered = all
        case .only(let id): named = [id]
        case .preferring(let ids): (named, considered) = (ids, all.filter { !ids.contains($0.id) })
        }
        var byName: [any Backend] = []
        for id in named { byName.append(try backend(named: id.rawValue)) }
        var candidates: [Candidate] = []
        for (index, backend) in (byName + considered).enumerated() {
            let start = clock.now
            let assessment = await backend.assess(request)
            let duration = clock.now - start
            func attempt(_ outcome: BackendAttempt.Outcome) -> BackendAttempt {
                BackendAttempt(backend: backend.id, outcome: outcome, duration: duration)
            }
            switch assessment {
            case .unsuitable(let reason): attempts.append(attempt(.unsuitable(reason: reason)))
            case .suitable(.onRequest, _) where index >= byName.count: attempts.append(attempt(.passedOver))
            case .suitable(let priority, let notes):
                candidates.append(
                    Candidate(backend: backend, priority: priority, notes: notes, assessing: duration))
            case .needsPreparation:
                candidates.append(Candidate(backend: backend, priority: .processor, notes: [], assessing: duration))
            }
        }
        // Backends requested by name come first, in the order of the request.
        func rank(_ candidate: Candidate) -> Int { named.firstIndex(of: candidate.backend.id) ?? named.count }
        return candidates.enumerated().sorted { left, right in
            let (first, second) = (rank(left.element), rank(right.element))
            if first != second { return first < second }
            if first == named.count, left.element.priority != right.element.priority {
                return left.element.priority > right.element.priority
            }
            return left.offset < right.offset
        }.map(\.element)
    }
}
