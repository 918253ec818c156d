import Accel
import AccelByteIO
import AccelTensors
import BackendConformance
import Foundation
import TestSupport
import Testing

@Suite("Opening models in apps")
struct OpeningTests {
    /// Loads nothing before it is cancelled; `entered` is set once it has begun.
    private struct SlowBackend: Backend {
        let id = BackendID(rawValue: "slow")
        let hasEntered = Locked(false)
        func assess(_ request: BackendRequest) async -> Assessment { .suitable(priority: .accelerator, notes: []) }
        func load(
            _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
        ) async throws(AccelError) -> any LoadedModel {
            hasEntered.withLock { $0 = true }
            do {
                try await Task.sleep(for: .seconds(600))
                throw RequestError("nobody has cancelled it")
            } catch {
                throw AccelError(error, at: "slow")
            }
        }
    }

    /// Loads by the CPU once its gate is open, whoever cancels it.
    private struct StubbornBackend: Backend {
        let id = BackendID(rawValue: "stubborn")
        let isOpen = Locked(false)
        let hasEnded = Locked(false)
        func assess(_ request: BackendRequest) async -> Assessment { .suitable(priority: .accelerator, notes: []) }
        func load(
            _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
        ) async throws(AccelError) -> any LoadedModel {
            progress(.preparing(0.25))
            while !isOpen.withLock({ $0 }) { usleep(1000) }
            progress(.preparing(0.75))
            defer { hasEnded.withLock { $0 = true } }
            // The task is cancelled by now, and the CPU would not load in it.
            return try await Task { () async throws in try await CPUBackend().load(request, progress: progress) }.result
                .mapError { AccelError($0, at: "stubborn") }.get()
        }
    }

    private struct FailingBackend: Backend {
        let id = BackendID(rawValue: "failing")
        func assess(_ request: BackendRequest) async -> Assessment { .suitable(priority: .accelerator, notes: []) }
        func load(
            _ request: BackendRequest, progress: @escaping @Sendable (LoadingEvent) -> Void
        ) async throws(AccelError) -> any LoadedModel {
            progress(.preparing(0.5))
            throw AccelError(.backend, "its driver is missing")
        }
    }

    private func events(_ work: Work<AccelModel, LoadingEvent>) async -> [LoadingEvent] {
        var events: [LoadingEvent] = []
        for await event in work.events { events.append(event) }
        return events
    }

    @Test("an app sees the package checked, the backends tried, and the model ready")
    func progress() async throws {
        let cases = try ConformanceCases()
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([FailingBackend(), CPUBackend()])
        let opening = AccelModel.opening(
            .path(try cases.encoder("bert_base", "float32").path), configuration: configuration)
        let seen = await events(opening)
        let model = try await opening.value
        #expect(model.info.backend == .cpu && model.info.didFallBack)
        #expect(seen.first == .checking)
        #expect(seen.last == .ready)
        let kinds = seen.map(\.kind).reduce(into: [LoadingEvent.Kind]()) { if $0.last != $1 { $0.append($1) } }
        #expect(kinds == [.checking, .preparing, .fellBack, .preparing, .ready])
        let failed = seen.compactMap(\.attempt)
        #expect(failed == Array(model.info.attempts.prefix(1)) && failed.first?.backend.rawValue == "failing")
        let missing = AccelModel.opening(.path("/no/such.accelpkg"))
        let error = await #expect(throws: AccelError.self) { try await missing.value }
        #expect(error?.code == .notFound)
    }

    @Test("cancelling ends the opening, whatever it is at, and no other backend is tried", arguments: [true, false])
    func cancelling(byTask: Bool) async throws {
        let cases = try ConformanceCases()
        let path = try cases.encoder("bert_base", "float32").path
        let slow = SlowBackend()
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([slow, CPUBackend()])
        let opening = AccelModel.opening(.path(path), configuration: configuration)
        let waiting = Task { try await opening.value }
        while !slow.hasEntered.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        if byTask { waiting.cancel() } else { opening.cancel() }
        var error = await #expect(throws: AccelError.self) { try await waiting.value }
        #expect(error?.code == .cancelled, "\(String(describing: error))")
        #expect(error?.attempts.map(\.backend.rawValue) == ["slow"])
        // Before a backend is asked.
        let early = AccelModel.opening(.path(path), configuration: .reproducible)
        early.cancel()
        error = await #expect(throws: AccelError.self) { try await early.value }
        #expect(error?.code == .cancelled, "\(String(describing: error))")
        withExtendedLifetime(cases) {}
    }

    @Test("a backend that is not ready within the limit is passed over, also one that does not stop; its events end")
    func preparationLimit() async throws {
        let cases = try ConformanceCases()
        let path = try cases.encoder("bert_base", "float32").path
        let (slow, stubborn) = (SlowBackend(), StubbornBackend())
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([stubborn, slow, CPUBackend()])
        configuration.preparationLimit = .seconds(600)
        configuration.backends = .only(.cpu)
        #expect(try await AccelModel(.path(path), configuration: configuration).info.attempts.count == 1)
        // Long for what begins at once, and short for what never ends.
        configuration.preparationLimit = .milliseconds(20)
        for late in [slow.id, stubborn.id] {
            configuration.backends = .only(late)
            for fallback in [BackendFallback.never, .atOpening] {
                configuration.fallback = fallback
                let opening = AccelModel.opening(.path(path), configuration: configuration)
                let error = await #expect(throws: AccelError.self) { try await opening.value }
                #expect(error?.code == .timedOut, "\(String(describing: error))")
                #expect(error?.attempts.map(\.backend) == [late])
            }
        }
        let request = try BackendRequest(opening: path)
        let events = Locked([LoadingEvent]())
        let info = try await configuration.registry.load(
            request, by: .preferring([stubborn.id, .cpu]), fallback: .atOpening, within: .seconds(3)
        ) { event in events.withLock { $0.append(event) } }.info
        #expect(info.backend == .cpu && info.didFallBack)
        #expect("\(info.attempts[0])".contains("stubborn was not ready within 3.0 seconds"), "\(info.attempts)")
        let seen = events.withLock { $0 }
        #expect(seen.filter { $0.kind == .fellBack }.count == 1 && seen.last == .ready)
        // What is still at work has nobody to tell.
        stubborn.isOpen.withLock { $0 = true }
        while !stubborn.hasEnded.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        #expect(events.withLock { $0 } == seen)
        configuration.preparationLimit = .seconds(600)
        configuration.backends = .only(stubborn.id)
        #expect(try await AccelModel(.path(path), configuration: configuration).info.backend == stubborn.id)
        withExtendedLifetime(cases) {}
    }

    @Test("cancelling an opening with a limit ends it at once")
    func cancellingWithLimit() async throws {
        let cases = try ConformanceCases()
        let slow = SlowBackend()
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([slow, CPUBackend()])
        configuration.preparationLimit = .seconds(600)
        let path = try cases.encoder("bert_base", "float32").path
        let opening = AccelModel.opening(.path(path), configuration: configuration)
        while !slow.hasEntered.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        opening.cancel()
        let error = await #expect(throws: AccelError.self) { try await opening.value }
        #expect(error?.code == .cancelled && error?.attempts.map(\.backend) == [slow.id])
        withExtendedLifetime(cases) {}
    }

    @Test("the plan of a function has its calls, with kernels, work and the bytes of its memory")
    func plan() async throws {
        let cases = try ConformanceCases()
        let path = try cases.decoder("qwen3_small", "int8").path
        let model = try await AccelModel(.path(path), configuration: .reproducible)
        let (block, step) = (
            try model.function("decoder", shape: ["tokens": 4]).plan(),
            try model.function("decoder", shape: ["tokens": 1]).plan()
        )
        #expect(step.calls.allSatisfy { $0.backend == .cpu && !$0.kernel.isEmpty && !$0.reason.isEmpty })
        // Four tokens take four times the products.
        func products(_ plan: ComputePlan) -> [ComputePlan.Call] { plan.calls.filter { $0.operation == "linear" } }
        let (many, one) = (products(block), products(step))
        #expect(many.map(\.label) == one.map(\.label) && !one.isEmpty)
        #expect(many.map(\.multiplyAdds) == one.map { 4 * $0.multiplyAdds })
        for call in one {
            let (input, weight) = (call.inputs[0].shape, call.inputs[1].shape)
            #expect(call.multiplyAdds == input.count * weight.dimensions[0], "\(call.label)")
            // Weights as small as these are kept as they are computed with.
            #expect(
                call.byteCount == (call.inputs + call.outputs).reduce(0) { $0 + 4 * $1.shape.count }, "\(call.label)")
        }
        #expect(step.multiplyAdds > one.reduce(0) { $0 + $1.multiplyAdds } && step.valueBytes > 0)
        #expect(step.stateBytes > 0 && step.stateBytes == block.stateBytes && step.weightBytes > 0)
        // Codes of 8 bits with a scale a row.
        let large = try await AccelModel(.path(try cases.product("int8", width: 512)), configuration: .reproducible)
        let plan = try large.function("product").plan()
        let call = try #require(plan.calls.first)
        #expect(plan.calls.count == 1 && call.weightEncoding == "int8" && call.multiplyAdds == 512 * 512)
        #expect(plan.weightBytes == 512 * 512 + 4 * 512 && call.byteCount == plan.weightBytes + 2 * 4 * 512)
        // A backend that knows no kernels says so.
        var configuration = Configuration(threads: 1)
        configuration.registry = Backends([BlockingBackend()])
        let other = try await AccelModel(.path(path), configuration: configuration)
        let error = #expect(throws: AccelError.self) { try other.function("decoder", shape: ["tokens": 1]).plan() }
        #expect(error?.code == .unsupported)
        withExtendedLifetime(cases) {}
    }
}
