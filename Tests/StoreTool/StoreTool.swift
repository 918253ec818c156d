import Accel
import AccelByteIO
import AccelTensors
import Foundation
import TestSupport

/// Keeps a model in a store, for scripts/reliability to disturb. Every version tells its number.
///
///     make FOLDER COUNT        writes packages of the numbers from 1: FOLDER/NUMBER.accelpkg; every second one is an archive
///     update ROOT PACKAGE      makes it the current version of "model"; prints its number
///     run ROOT                 opens the current version and runs it; prints its number
///     die ROOT                 the same, but the process is killed within the run
///     leftovers ROOT           prints the entries that belong to no version, and the versions on disk
///     swap ROOT FOLDER COUNT TASKS CHANGES
///                              tasks run the model while its version changes; prints "answers failed mixed changes alive"
@main
enum StoreTool {
    static func main() async throws {
        let words = CommandLine.arguments
        func number(_ index: Int) -> Int { words.indices.contains(index) ? Int(words[index]) ?? 0 : 0 }
        guard words.count > 2 else { exit(2) }
        switch words[1] {
        case "make":
            for count in 1...max(number(3), 1) {
                try NumberedModel(count).write(to: "\(words[2])/\(count).accelpkg", asArchive: count.isMultiple(of: 2))
            }
        case "update":
            _ = try await store(words[2]).update("model", from: LocalPackage(words[3])).value
        case "run":
            print(try await Self.number(of: AccelModel(.stored("model", in: store(words[2])), configuration: small)))
        case "die":
            var configuration = small
            configuration.registry = Backends([DyingBackend()])
            configuration.backends = .automatic
            _ = try await Self.number(
                of: AccelModel(.stored("model", in: store(words[2])), configuration: configuration))
        case "leftovers":
            let entries = try Files.list("\(words[2])/models/model")
            // A lock of a trial may stay until the next update.
            let own = ["record.json", "gate", "update.lock"]
            print(
                entries.count { !own.contains($0) && !$0.hasSuffix(".trial") && Digest(hexadecimal: $0) == nil },
                entries.count { Digest(hexadecimal: $0) != nil })
        case "swap":
            var swaps = Swaps(store: try store(words[2]), folder: words[3], count: number(4))
            try await swaps.run(tasks: number(5), changes: number(6))
            print(swaps.answers, swaps.failed, swaps.mixed, swaps.changes, swaps.alive)
        default: exit(2)
        }
    }

    static let small: Configuration = {
        var configuration = Configuration(threads: 1)
        configuration.backends = .only(.cpu)
        return configuration
    }()

    private static func store(_ root: String) throws -> ModelStore {
        var configuration = small
        configuration.concurrency = 2
        return try ModelStore(at: root, configuration: configuration)
    }

    private static func number(of model: AccelModel) async throws -> Int {
        let outputs = try await model.function("model")(["x": AccelTensor(NumberedModel.ones)])
        let (first, second) = (try outputs["first"].array(of: Float.self), try outputs["second"].array(of: Float.self))
        guard let number = NumberedModel.number(of: first, second) else {
            throw RequestError("the outputs are of no model")
        }
        return number
    }
}

/// A backend whose runs end the process, as a driver may.
private struct DyingBackend: Backend {
    let id = BackendID(rawValue: "dying")

    func assess(_ request: BackendRequest) async -> Assessment { .suitable(priority: .processor, notes: []) }

    func load(
        _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
    ) async throws(AccelError) -> any LoadedModel {
        Model(functions: try await CPUBackend().load(request, progress: progress).functions)
    }

    private struct Model: LoadedModel {
        let functions: [FunctionDescription]
        func makeSession() throws(AccelError) -> any ModelSession { Session() }
    }

    private final class Session: ModelSession {
        func run(
            _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?,
            until cancellation: Cancellation?
        ) throws(AccelError) -> [String: StoredTensor] {
            kill(getpid(), SIGKILL)
            throw AccelError(.internalFailure, "lives on")
        }
        func snapshot() throws(AccelError) -> [StoredTensor] { [] }
        func restore(_ snapshot: [StoredTensor]) throws(AccelError) {}
        func reset() {}
    }
}
