public import AccelByteIO

/// Which backends may run a model.
public enum BackendChoice: Equatable, Sendable {
    /// The suitable one of the highest priority. Those that are for request only are passed over.
    case automatic
    /// This one or none.
    case only(BackendID)
    /// The first of these that is suitable, else as `automatic`.
    case preferring([BackendID])
}

/// What may happen when a backend that was chosen does not load a model. A model that has been loaded never changes to
/// another backend.
public enum BackendFallback: Sendable {
    /// The next one is tried.
    case atOpening
    /// It is an error.
    case never
}

/// One backend that was looked at for a model, with what came of it.
public struct BackendAttempt: Equatable, Sendable, CustomStringConvertible {
    public enum Outcome: Equatable, Sendable {
        case loaded(notes: [String])
        case unsuitable(reason: String)
        /// It was suitable, and loading it failed.
        case failed(reason: String)
        /// It is for request only.
        case passedOver
    }
    public let backend: BackendID
    public let outcome: Outcome
    /// What assessing and loading took.
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

/// How a model came to its backend.
public struct SessionInfo: Sendable {
    /// Of the package.
    public let package: Digest
    public let requested: BackendChoice
    public let backend: BackendID
    /// In the order in which they were made; the last one has loaded the model.
    public let attempts: [BackendAttempt]
    /// A backend before this one was suitable, or asked for by name, and did not load the model.
    public let didFallBack: Bool
}

extension Backends {
    /// Loads a model by the best backend of a choice.
    /// - Parameters:
    ///   - fallback: whether others are tried when the best one does not load it.
    ///   - progress: as `Backend.load` has it; each attempt starts again.
    /// - Throws: `AccelError` with all attempts when none loads it.
    public func load(
        _ request: BackendRequest, by choice: BackendChoice = .automatic, fallback: BackendFallback = .atOpening,
        progress: @escaping @Sendable (LoadingEvent) -> Void = { _ in }
    ) async throws(AccelError) -> (model: any LoadedModel, info: SessionInfo) {
        let clock = ContinuousClock()
        var (attempts, isBehind) = ([BackendAttempt](), false)
        func error(_ code: AccelError.Code, _ problem: String) -> AccelError {
            AccelError(code, problem, at: request.package.path, attempts: attempts)
        }
        for candidate in try await candidates(for: request, choice, &attempts) {
            let start = clock.now
            do throws(AccelError) {
                let model = try await candidate.backend.load(request, progress: progress)
                attempts.append(
                    BackendAttempt(
                        backend: candidate.backend.id, outcome: .loaded(notes: candidate.notes),
                        duration: candidate.assessing + (clock.now - start)))
                let isNamed = if case .preferring(let ids) = choice { ids.first != candidate.backend.id } else { false }
                let info = SessionInfo(
                    package: request.package.digest, requested: choice, backend: candidate.backend.id,
                    attempts: attempts, didFallBack: isBehind || isNamed)
                return (model, info)
            } catch let failure {
                attempts.append(
                    BackendAttempt(
                        backend: candidate.backend.id, outcome: .failed(reason: failure.description),
                        duration: candidate.assessing + (clock.now - start)))
                guard fallback == .atOpening else { throw error(failure.code, "\(candidate.backend.id) failed") }
                isBehind = true
            }
        }
        throw error(.unsupported, "no backend runs this model")
    }

    private struct Candidate {
        let backend: any Backend
        let priority: BackendPriority
        let notes: [String]
        let assessing: Duration
    }

    /// The suitable backends of a choice, the best first; the others are among the attempts.
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
        // Those asked for by name keep their order, before all others.
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
