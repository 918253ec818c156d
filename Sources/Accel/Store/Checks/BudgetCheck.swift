import AccelCPURuntime
import AccelPackages

/// Checks that a new version keeps to the limits of the store's profile: the bytes of the package, and the memory for its weights,
/// values and states.
public struct BudgetCheck: UpdateCheck {
    public let name = "budgets"

    /// The limits are those of the store.
    public init() {}

    public func check(_ candidate: UpdateCandidate) async throws {
        let footprint = try Footprint(of: candidate.package.graph, packageBytes: candidate.package.byteCount)
        guard let excess = candidate.profile.excesses(of: footprint).first else { return }
        throw AccelError(
            excess.resource == .package ? .storage : .memory, "the new version \(excess)",
            at: "model \"\(candidate.name)\"", hint: "the profile \(excess.profile) has the limit")
    }
}
