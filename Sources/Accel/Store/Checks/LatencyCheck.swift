import AccelPrograms

/// Checks that the functions of a new version run within the times of the store's profile, on the backend that the app would get: the
/// fastest of five runs counts, so that other work of the device does not.
public struct LatencyCheck: UpdateCheck {
    public let name = "latency"
    private static let runs = 5

    /// The limits are those of the store.
    public init() {}

    public func check(_ candidate: UpdateCandidate) async throws {
        for function in candidate.package.graph.functions {
            let description = FunctionDescription(function)
            let limits = candidate.profile.latency
            guard let limit = limits[description.name] ?? limits[description.part] else { continue }
            let session = try await candidate.model().makeSession()
            let inputs = SeededInputs(seed: 1).tensors(for: function)
            let clock = ContinuousClock()
            var fastest: Duration?
            // The first run prepares the function.
            for run in 0...Self.runs {
                let duration = try await clock.measure {
                    _ = try await session.prediction(of: description.name, from: inputs)
                }
                if run > 0 { fastest = min(fastest ?? duration, duration) }
            }
            guard let fastest, fastest > limit else { continue }
            throw AccelError(
                .timedOut, expected: "at most \(limit) for a run", found: "\(fastest)", at: description.name,
                hint: "the profile \(candidate.profile.name) has the limit")
        }
    }
}
