public import AccelCPURuntime
public import AccelPackages

/// A check that a new version of a model has to pass before it becomes the current one. A check is a file in this folder and a line
/// in `UpdateChecks`; an app may add its own to an update.
public protocol UpdateCheck: Sendable {
    /// The name, for events and errors, e.g. `budgets`.
    var name: String { get }
    /// Checks a version. Its bytes fit its digests, and its signature was accepted.
    /// - Throws: any error if the version must not become the current one.
    func check(_ candidate: UpdateCandidate) async throws
}

/// The checks of updates.
public enum UpdateChecks {
    /// The checks in the order in which they run, the cheapest first. A new check is a line here.
    public static let all: [any UpdateCheck] = [
        InterfaceCheck(),
        BudgetCheck(),
        SeededRunCheck(),
        LatencyCheck(),
    ]
}

/// A new version of a stored model that is not the current one yet.
public struct UpdateCandidate: Sendable {
    /// The name of the model.
    public let name: String
    /// The package of the new version.
    public let package: AcceleratorPackage
    /// The package of the current version; nil if there is none.
    public let current: AcceleratorPackage?
    /// The functions that the new version has to serve.
    public let functions: [FunctionDescription]
    /// The limits of the store.
    public let profile: DeviceProfile
    private let opening: OpeningOnce

    init(
        name: String, package: AcceleratorPackage, current: AcceleratorPackage?, functions: [FunctionDescription],
        profile: DeviceProfile, open: @escaping @Sendable () async throws(AccelError) -> AccelModel
    ) {
        (self.name, self.package, self.current) = (name, package, current)
        (self.functions, self.profile) = (functions, profile)
        opening = OpeningOnce(open)
    }

    /// The new version, opened as the app would open it. All checks get the same model, and then the app does.
    /// - Throws: `AccelError` of opening it.
    public func model() async throws(AccelError) -> AccelModel { try await opening.model() }

    private actor OpeningOnce {
        private let open: @Sendable () async throws(AccelError) -> AccelModel
        private var result: Result<AccelModel, AccelError>?

        init(_ open: @escaping @Sendable () async throws(AccelError) -> AccelModel) { self.open = open }

        // Checks run one after the other.
        func model() async throws(AccelError) -> AccelModel {
            if let result { return try result.get() }
            do throws(AccelError) {
                let model = try await open()
                result = .success(model)
                return model
            } catch {
                result = .failure(error)
                throw error
            }
        }
    }
}
