import Accel
import AccelByteIO
import Foundation
import TestSupport

/// A store in a temporary folder, and packages to put there.
struct StoreBench {
    private let temporary: TemporaryFolder
    var folder: String { temporary.path }
    var root: String { "\(folder)/store" }

    init() throws {
        temporary = try TemporaryFolder(beside: "\(FileManager.default.temporaryDirectory.path)/stores")
    }

    func store(
        trust: Trust = .intact, profile: DeviceProfile = DeviceProfile("roomy"), limit: Int? = nil,
        _ configuration: Configuration = .reproducible
    ) throws -> ModelStore {
        try ModelStore(at: root, trust: trust, profile: profile, limit: limit, configuration: configuration)
    }

    /// Writes a package, and returns its path.
    func package(_ model: NumberedModel, _ name: String? = nil, asArchive: Bool = false) throws -> String {
        let path = "\(folder)/\(name ?? "\(model.number)").accelpkg"
        try model.write(to: path, asArchive: asArchive)
        return path
    }

    /// Everything below the store's folder, without leases, which processes of others may have.
    func entries() throws -> Set<String> {
        Set(
            try FileManager.default.subpathsOfDirectory(atPath: root).filter {
                !$0.hasPrefix("leases/") && !$0.hasSuffix("/gate")
            })
    }

    static func number(_ function: LiveFunction) async throws -> Int? {
        try number(await function(["x": AccelTensor(NumberedModel.ones)]))
    }

    static func number(_ model: AccelModel) async throws -> Int? {
        try number(await model.function("model")(["x": AccelTensor(NumberedModel.ones)]))
    }

    private static func number(_ outputs: Outputs) throws -> Int? {
        NumberedModel.number(
            of: try outputs["first"].array(of: Float.self), try outputs["second"].array(of: Float.self))
    }
}

extension ModelStore {
    /// Updates the model "m" from a package on this machine.
    @discardableResult
    nonisolated func update(from path: String, functions: [String]? = nil) async throws -> StoredModel {
        try await update("m", from: LocalPackage(path), functions: functions).value
    }
}

extension StoreBench {
    /// Opens the current version of "m", runs it, and waits until it is freed.
    static func number(in store: ModelStore) async throws -> Int? {
        let (number, model) = try await run(store)
        // The thread of the run frees it a moment later.
        for _ in 0..<2000 where model.value != nil { try await Task.sleep(for: .milliseconds(1)) }
        return model.value == nil ? number : nil
    }

    private static func run(_ store: ModelStore) async throws -> (Int?, WeakModel) {
        let model = try await AccelModel(.stored("m", in: store))
        return (try await number(model), WeakModel(model))
    }
}

/// Tells whether a model has been freed.
final class WeakModel: Sendable {
    weak let value: AccelModel?
    init(_ model: AccelModel) { value = model }
}
