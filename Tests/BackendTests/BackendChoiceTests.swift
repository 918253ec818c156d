import Accel
import AccelTensors
import BackendConformance
import TestSupport
import Testing

@Suite("The choice of a backend")
struct BackendChoiceTests {
    /// A backend that says what it is told to, and loads by the CPU or not at all.
    private struct Told: Backend {
        let id: BackendID
        let assessment: Assessment
        var fails = false

        init(_ id: String, _ assessment: Assessment, fails: Bool = false) {
            (self.id, self.assessment, self.fails) = (BackendID(rawValue: id), assessment, fails)
        }
        func assess(_ request: BackendRequest) async -> Assessment { assessment }
        func load(
            _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
        ) async throws(AccelError) -> any LoadedModel {
            if fails { throw AccelError(.backend, "the device is gone", at: "\(id)") }
            return try await CPUBackend().load(request, progress: progress)
        }
    }

    private static let registry: Backends = {
        var backends = Backends.standard
        backends.register(Told("fast", .suitable(priority: .accelerator, notes: ["4 units"])))
        backends.register(Told("absent", .unsuitable(reason: "there is no such device")))
        backends.register(Told("flaky", .suitable(priority: BackendPriority(rawValue: 300), notes: []), fails: true))
        backends.register(Told("oracle", .suitable(priority: .onRequest, notes: [])))
        return backends
    }()

    private func load(
        _ choice: BackendChoice, _ fallback: BackendFallback = .atOpening, in backends: Backends = registry
    ) async throws -> SessionInfo {
        let cases = try ConformanceCases()
        let request = try BackendRequest(opening: cases.encoder("bert_base", "float32").path)
        defer { withExtendedLifetime(cases) {} }
        return try await backends.load(request, by: choice, fallback: fallback).info
    }

    @Test("a package that is not there is not found, and no lack of memory")
    func missing() {
        let error = #expect(throws: AccelError.self) { try BackendRequest(opening: "/no/such.accelpkg") }
        #expect(error?.code == .notFound)
        #expect(error?.description == "/no/such.accelpkg: there is no package")
    }

    @Test(
        "automatic: the suitable backend of the highest priority; those that fail, do not suit, or are for request are told"
    )
    func automatic() async throws {
        let info = try await load(.automatic)
        #expect(info.backend == BackendID(rawValue: "fast") && info.didFallBack)
        let outcomes = info.attempts.map { "\($0)" }
        #expect(outcomes.contains("absent: unsuitable: there is no such device"))
        #expect(outcomes.contains("flaky: failed: flaky: the device is gone"))
        #expect(outcomes.contains("oracle: runs on request only"))
        #expect(outcomes.last == "fast: loaded: 4 units")
        #expect(info.attempts.allSatisfy { $0.duration > .zero })
        let alone = try await load(.automatic, in: .standard)
        #expect(alone.backend == .cpu && !alone.didFallBack)
        #expect(alone.attempts.contains { $0.backend == .reference && $0.outcome == .passedOver })
    }

    @Test("by name: that one or none; in an order: the first that is suitable, else as automatic")
    func named() async throws {
        #expect(try await load(.only(.cpu)).backend == .cpu)
        #expect(try await load(.only(.reference)).backend == .reference)
        #expect(try await load(.only(BackendID(rawValue: "oracle"))).backend.rawValue == "oracle")
        let absent = await #expect(throws: AccelError.self) { try await load(.only(BackendID(rawValue: "absent"))) }
        #expect(absent?.code == .unsupported && absent?.attempts.count == 1)
        let order = [BackendID(rawValue: "absent"), .cpu]
        let info = try await load(.preferring(order))
        #expect(info.backend == .cpu && info.didFallBack)
        let preferred = try await load(.preferring([.cpu]))
        #expect(preferred.backend == .cpu && !preferred.didFallBack)
        let unknown = await #expect(throws: AccelError.self) { try await load(.only(BackendID(rawValue: "cpuu"))) }
        #expect(unknown?.code == .notFound && unknown?.hint == "did you mean \"cpu\"?")
    }

    @Test("without fallback a failure is an error that has all attempts")
    func noFallback() async throws {
        let error = await #expect(throws: AccelError.self) { try await load(.automatic, .never) }
        #expect(error?.code == .backend)
        #expect(error?.attempts.contains { $0.outcome == .failed(reason: "flaky: the device is gone") } == true)
    }

    @Test("the limit of memory is an error with both numbers, before anything is taken")
    func memory() async throws {
        let cases = try ConformanceCases()
        var request = try BackendRequest(opening: cases.encoder("bert_base", "float32").path)
        withExtendedLifetime(cases) {}
        request.memoryLimit = 1000
        let error = await #expect(throws: AccelError.self) { _ = try await CPUBackend().load(request) { _ in } }
        #expect(error?.code == .memory && error?.problem.contains("the limit is 1000") == true)
    }
}
