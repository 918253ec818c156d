import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@Suite("Live models and tentative versions")
struct LiveModelTests {
    @Test("a handle has each version that becomes current, and the old one is freed after its last prediction")
    func swapping() async throws {
        let bench = try StoreBench()
        let store = try bench.store()
        try await store.update(from: try bench.package(NumberedModel(1)))
        let live = try await store.live("m")
        let function = try live.function("model")
        var changes = live.changes.makeAsyncIterator()
        #expect(try await StoreBench.number(function) == 1)
        #expect(try await !store.model("m").isTentative)
        let old = WeakModel(live.model)
        var before: AccelModel? = live.model
        let stored = try await store.update(from: try bench.package(NumberedModel(2)))
        #expect(await changes.next()?.info.package == stored.version)
        #expect(live.model.info.package == stored.version)
        #expect(try await StoreBench.number(function) == 2)
        // A session or a function of the old version goes on.
        #expect(try await StoreBench.number(try #require(before)) == 1)
        before = nil
        for _ in 0..<2000 where old.value != nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(old.value == nil)
        _ = try await store.rollBack("m")
        #expect(await changes.next() != nil)
        #expect(try await StoreBench.number(function) == 1)
    }

    /// Fails, or blocks, when the weights say so: versions of this number fail.
    private struct FailingBackend: Backend {
        let id = BackendID(rawValue: "failing")
        /// The number whose runs fail.
        var failing: Int?
        /// The number that cannot be loaded.
        var unloadable: Int?
        var code = AccelError.Code.backend

        func assess(_ request: BackendRequest) async -> Assessment { await CPUBackend().assess(request) }

        func load(
            _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
        ) async throws(AccelError) -> any LoadedModel {
            let number = Int(request.package.graph.tensors.first { $0.name == "first.weight" }?.plain.first ?? 0)
            if number == unloadable { throw AccelError(.backend, "cannot load \(number)") }
            return Model(
                model: try await CPUBackend().load(request, progress: progress), fails: number == failing ? code : nil)
        }

        private struct Model: LoadedModel {
            let model: any LoadedModel
            let fails: AccelError.Code?
            var functions: [FunctionDescription] { model.functions }
            func makeSession() throws(AccelError) -> any ModelSession {
                Session(session: try model.makeSession(), fails: fails)
            }
        }

        private final class Session: ModelSession {
            let session: any ModelSession
            let fails: AccelError.Code?
            init(session: any ModelSession, fails: AccelError.Code?) { (self.session, self.fails) = (session, fails) }
            func run(
                _ function: String, _ inputs: [String: StoredTensor], outputs: Set<String>?,
                until cancellation: Cancellation?
            ) throws(AccelError) -> [String: StoredTensor] {
                if let fails { throw AccelError(fails, "fails as asked") }
                return try session.run(function, inputs, outputs: outputs, until: cancellation)
            }
            func snapshot() throws(AccelError) -> [StoredTensor] { try session.snapshot() }
            func restore(_ snapshot: [StoredTensor]) throws(AccelError) { try session.restore(snapshot) }
            func reset() { session.reset() }
        }
    }

    private func configuration(_ backend: FailingBackend) -> Configuration {
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([backend])
        return configuration
    }

    /// A store with the proven version 1 and the version 2, which a device cannot run that has the same store.
    private func benchWithTwo() async throws -> StoreBench {
        let bench = try StoreBench()
        let store = try bench.store()
        try await store.update(from: try bench.package(NumberedModel(1)))
        #expect(try await StoreBench.number(in: store) == 1)
        try await store.update(from: try bench.package(NumberedModel(2)))
        return bench
    }

    @Test("a version whose first run fails is left at the next opening; one that is asked wrongly is not")
    func failingRun() async throws {
        let bench = try await benchWithTwo()
        var failing = FailingBackend(failing: 2)
        for code in [AccelError.Code.invalid, .cancelled, .timedOut, .backend] {
            failing.code = code
            let store = try bench.store(configuration(failing))
            var model: AccelModel? = try await AccelModel(
                .stored("m", in: store), configuration: configuration(failing))
            #expect(model?.info.package == (try AcceleratorPackage(at: "\(bench.folder)/2.accelpkg").digest))
            let function = try #require(try model?.function("model"))
            let error = await #expect(throws: AccelError.self) {
                try await function(["x": AccelTensor(NumberedModel.ones)])
            }
            #expect(error?.code == code)
            model = nil
            #expect(try await store.model("m").isTentative)
        }
        #expect(try await StoreBench.number(in: bench.store()) == 1)
    }

    @Test("a version that cannot be opened is left at once")
    func failingOpening() async throws {
        let bench = try await benchWithTwo()
        let failing = configuration(FailingBackend(unloadable: 2))
        let store = try bench.store(failing)
        let model = try await AccelModel(.stored("m", in: store), configuration: failing)
        #expect(try await StoreBench.number(model) == 1)
        #expect(try await store.model("m").earlier.isEmpty)
    }

    @Test("a live handle goes back when the first run fails, and its calls go on")
    func failingLive() async throws {
        let bench = try await benchWithTwo()
        let store = try bench.store(configuration(FailingBackend(failing: 2)))
        let live = try await store.live("m")
        let function = try live.function("model")
        var changes = live.changes.makeAsyncIterator()
        await #expect(throws: AccelError.self) { try await StoreBench.number(function) }
        #expect(await changes.next() != nil)
        #expect(try await StoreBench.number(function) == 1)
        #expect(try await !store.model("m").isTentative)
        // The check of the same update finds it beforehand.
        let error = await #expect(throws: AccelError.self) {
            try await store.update(from: "\(bench.folder)/2.accelpkg")
        }
        #expect(error?.problem == "fails as asked")
        #expect(try await StoreBench.number(function) == 1)
    }

    @Test("a version that nobody ran is tried by the next process, too")
    func untried() async throws {
        let bench = try await benchWithTwo()
        for _ in 0..<3 { _ = try await AccelModel(.stored("m", in: bench.store())) }
        #expect(try await bench.store().model("m").isTentative)
        #expect(try await StoreBench.number(in: bench.store()) == 2)
        #expect(try await !bench.store().model("m").isTentative)
    }

    @Test("two that open a version at once both have it, and one success is enough")
    func together() async throws {
        let bench = try await benchWithTwo()
        let (one, two) = (try bench.store(), try bench.store())
        let first = try await AccelModel(.stored("m", in: one))
        let second = try await AccelModel(.stored("m", in: two))
        #expect(first.info.package == second.info.package)
        #expect(try await StoreBench.number(second) == 2)
        #expect(try await !one.model("m").isTentative)
        #expect(try await StoreBench.number(first) == 2)
    }
}

extension CompressedTensor {
    /// The numbers of a weight that is stored as float32.
    fileprivate var plain: [Float] {
        sections[0].withBytes { bytes in bytes.count >= 4 ? [bytes.loadUnaligned(as: Float.self)] : [] }
    }
}
