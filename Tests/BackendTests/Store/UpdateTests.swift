import Accel
import AccelByteIO
import Foundation
import TestSupport
import Testing

@Suite("Updates of stored models")
struct UpdateTests {
    /// A store with version 1 in it, after a run.
    private func benchWithOne(
        profile: DeviceProfile = DeviceProfile("roomy"), limit: Int? = nil, trust: Trust = .intact
    ) async throws -> (StoreBench, ModelStore) {
        let bench = try StoreBench()
        let store = try bench.store(trust: trust, profile: profile, limit: limit)
        try await store.update(from: try bench.package(NumberedModel(1)))
        _ = try await StoreBench.number(in: store)
        return (bench, store)
    }

    /// Expects that an update fails, and changes nothing.
    private func expectRejection(
        _ code: AccelError.Code, _ bench: StoreBench, _ store: ModelStore, containing text: String = "",
        _ update: () -> Work<StoredModel, UpdateEvent>
    ) async throws {
        let (before, model) = (try bench.entries(), try? await store.model("m"))
        let error = await #expect(throws: AccelError.self) { try await update().value }
        #expect(error?.code == code, "\(String(describing: error))")
        #expect(text.isEmpty || error?.description.contains(text) == true, "\(String(describing: error))")
        let entries = try bench.entries()
        #expect(entries == before, "\(Set(entries).symmetricDifference(before))")
        let after = try? await store.model("m")
        #expect(after == model)
    }

    @Test("damaged, incomplete and hostile packages are rejected, and the version before stays")
    func hostile() async throws {
        let (bench, store) = try await benchWithOne()
        let good = try bench.package(NumberedModel(2))
        let archive = try bench.package(NumberedModel(2), "archive", asArchive: true)
        func attempt(_ name: String, of source: String = good, _ attack: (String) throws -> Void) async throws {
            let path = "\(bench.folder)/\(name).accelpkg"
            try FileManager.default.copyItem(atPath: source, toPath: path)
            try attack(path)
            try await expectRejection(.corrupt, bench, store) { store.update("m", from: LocalPackage(path)) }
        }
        func write(_ text: String, _ path: String) throws {
            try? FileManager.default.removeItem(atPath: path)
            try Data(text.utf8).write(to: URL(filePath: path))
        }
        func change(_ path: String, at share: Double) throws {
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes[Int(Double(bytes.count - 1) * share)] ^= 0x55
            try? FileManager.default.removeItem(atPath: path)
            try bytes.write(to: URL(filePath: path))
        }
        try await attempt("extra") { try write("x", "\($0)/extra.txt") }
        try await attempt("html", of: archive) { try write("<html>404</html>", $0) }
        try await attempt("empty", of: archive) { try write("", $0) }
        for share in [0.0, 0.3, 0.6, 1] {
            for file in ["manifest.json", "graph.bin", "weights.bin", "weights-0000.bin", "source-map.json"] {
                try await attempt("\(file)-\(share)") { try change("\($0)/\(file)", at: share) }
            }
        }
        try await attempt("bits", of: archive) { try change($0, at: 0.5) }
        try await attempt("short", of: archive) { path in
            let bytes = try Data(contentsOf: URL(filePath: path))
            try FileManager.default.removeItem(atPath: path)
            try bytes.prefix(bytes.count / 2).write(to: URL(filePath: path))
        }
        // What leads out of the package is not followed.
        try await attempt("link") { path in
            try FileManager.default.removeItem(atPath: "\(path)/source-map.json")
            try FileManager.default.createSymbolicLink(
                atPath: "\(path)/source-map.json", withDestinationPath: "\(good)/source-map.json")
        }
        try await attempt("folder") { path in
            try FileManager.default.removeItem(atPath: "\(path)/graph.bin")
            try Files.makeFolder("\(path)/graph.bin")
        }
        try await expectRejection(.notFound, bench, store, containing: "none") {
            store.update("m", from: LocalPackage("\(bench.folder)/none"))
        }
        try await store.update(from: good)
        #expect(try await StoreBench.number(in: store) == 2)
    }

    @Test("a version without a function that the app uses, or with other ports, is rejected")
    func interface() async throws {
        let (bench, store) = try await benchWithOne()
        var other = NumberedModel(2)
        other.part = "other"
        let renamed = try bench.package(other, "renamed")
        try await expectRejection(.incompatible, bench, store, containing: "model[batch=1]") {
            store.update("m", from: LocalPackage(renamed))
        }
        other.part = "model"
        other.input = "y"
        let ports = try bench.package(other, "ports")
        try await expectRejection(.incompatible, bench, store, containing: "input \"y\"") {
            store.update("m", from: LocalPackage(ports))
        }
        try await expectRejection(.notFound, bench, store, containing: "embed") {
            store.update("m", from: LocalPackage(ports), functions: ["embed"])
        }
        // Whoever uses no function takes anything, unless a live handle has been asked for one.
        let live = try await store.live("m")
        let function = try live.function("model")
        try await expectRejection(.incompatible, bench, store) {
            store.update("m", from: LocalPackage(ports), functions: [])
        }
        other.input = "x"
        other.hasThird = true
        let more = try bench.package(other, "more")
        try await store.update(from: more)
        #expect(try await StoreBench.number(function) == 2)
        // Now the third output is part of what is served.
        let fewer = try bench.package(NumberedModel(1))
        try await expectRejection(.incompatible, bench, store, containing: "output \"third\"") {
            store.update("m", from: LocalPackage(fewer))
        }
        try await store.update(from: fewer, functions: [])
        #expect(try await StoreBench.number(function) == 1)
    }

    @Test("the profile and the limit of the store bound its versions")
    func budgets() async throws {
        let sample = try await benchWithOne()
        let size = try await sample.1.size()
        #expect(size > 30_000)
        let (bench, store) = try await benchWithOne(profile: DeviceProfile("small", packageBytes: size + 1000))
        var large = NumberedModel(2)
        large.assetBytes = 100_000
        let path = try bench.package(large)
        try await expectRejection(
            .storage, bench, store, containing: "the profile small allows \(Wording.grouped(size + 1000))"
        ) {
            store.update("m", from: LocalPackage(path))
        }
        let footprint = try AcceleratorPackage(at: path)
        let memory = try Footprint(of: footprint.graph, packageBytes: 0).memoryBytes
        let (second, tight) = try await benchWithOne(profile: DeviceProfile("tight", memoryBytes: memory))
        try await tight.update(from: try second.package(NumberedModel(3)))
        let (third, tighter) = (try StoreBench(), DeviceProfile("tighter", memoryBytes: memory - 1))
        let small = try third.store(profile: tighter)
        try await expectRejection(.memory, third, small, containing: "\(Wording.grouped(memory)) bytes of memory") {
            small.update("m", from: LocalPackage(path))
        }
        let (fourth, limited) = try await benchWithOne(limit: size * 2 + 10_000)
        try await expectRejection(.storage, fourth, limited, containing: "limit is \(size * 2 + 10_000)") {
            limited.update("m", from: LocalPackage(path))
        }
        // One version before is kept, earlier ones make room.
        for number in 2...4 {
            try await limited.update(from: try fourth.package(NumberedModel(number)))
            _ = try await StoreBench.number(in: limited)
        }
        try await expectRejection(.storage, fourth, limited) {
            limited.update("other", from: LocalPackage("\(fourth.folder)/2.accelpkg"))
        }
    }

    @Test("a profile's times bound the runs of a new version, and its backends are the only ones")
    func latencyAndBackends() async throws {
        let bench = try StoreBench()
        let path = try bench.package(NumberedModel(1))
        let slow = try bench.store(profile: DeviceProfile("slow", latency: ["model": .seconds(60), "other": .zero]))
        try await slow.update(from: path)
        let second = try StoreBench()
        let fast = try second.store(profile: DeviceProfile("fast", latency: ["model": .nanoseconds(1)]))
        try await expectRejection(.timedOut, second, fast, containing: "the profile fast has the limit") {
            fast.update("m", from: LocalPackage(path))
        }
        let third = try StoreBench()
        let plain = try third.store(profile: DeviceProfile("plain", backends: ["reference"]), .automatic)
        try await plain.update(from: path)
        let model = try await AccelModel(.stored("m", in: plain))
        #expect(model.info.backend == .reference && model.info.attempts.count == 1)
        let fourth = try StoreBench()
        let none = try fourth.store(profile: DeviceProfile("none", backends: ["npu"]), .automatic)
        try await expectRejection(.unsupported, fourth, none) { none.update("m", from: LocalPackage(path)) }
    }

    @Test("numbers that are not finite, and whatever a check of the app's rejects, are rejected")
    func checks() async throws {
        struct Rejection: UpdateCheck {
            let name = "rejection"
            func check(_ candidate: UpdateCandidate) async throws {
                _ = try await candidate.model()
                throw RequestError("does not please")
            }
        }
        let (bench, store) = try await benchWithOne()
        var broken = NumberedModel(2)
        broken.isBroken = true
        let path = try bench.package(broken)
        try await expectRejection(.numerics, bench, store, containing: "output \"first\"") {
            store.update("m", from: LocalPackage(path))
        }
        let other = try bench.package(NumberedModel(3))
        try await expectRejection(.invalid, bench, store, containing: "does not please") {
            store.update("m", from: LocalPackage(other), checks: UpdateChecks.all + [Rejection()])
        }
    }

    @Test("bytes are compared with their digests before a signature is asked for")
    func order() async throws {
        struct Nobody: SignatureVerifier {
            func verify(_ package: AcceleratorPackage) throws { throw RequestError("is not signed") }
        }
        let bench = try StoreBench()
        let store = try bench.store(trust: .signed(Nobody()))
        let path = try bench.package(NumberedModel(1))
        try await expectRejection(.untrusted, bench, store) { store.update("m", from: LocalPackage(path)) }
        let weights = "\(path)/weights-0000.bin"
        var bytes = try Data(contentsOf: URL(filePath: weights))
        bytes[bytes.count / 2] ^= 1
        try FileManager.default.removeItem(atPath: weights)
        try bytes.write(to: URL(filePath: weights))
        try await expectRejection(.corrupt, bench, store) { store.update("m", from: LocalPackage(path)) }
    }

    @Test("a signature is asked for beside the package, and kept with it")
    func signatures() async throws {
        /// Accepts what a file beside the package says.
        struct Verifier: SignatureVerifier {
            func verify(_ package: AcceleratorPackage) throws {
                guard let text = try? String(contentsOfFile: package.path + ".sig", encoding: .utf8) else {
                    throw RequestError("is not signed")
                }
                guard text == package.digest.description else { throw RequestError("is signed as \(text)") }
            }
        }
        let bench = try StoreBench()
        let store = try bench.store(trust: .signed(Verifier()))
        for (number, isArchive) in [(1, false), (2, true)] {
            let path = try bench.package(NumberedModel(number), asArchive: isArchive)
            try await expectRejection(.untrusted, bench, store) { store.update("m", from: LocalPackage(path)) }
            try Data("another".utf8).write(to: URL(filePath: path + ".sig"))
            try await expectRejection(.untrusted, bench, store) { store.update("m", from: LocalPackage(path)) }
            let digest = try AcceleratorPackage(at: path).digest
            try Data(digest.description.utf8).write(to: URL(filePath: path + ".sig"))
            let stored = try await store.update(from: path)
            #expect(try await StoreBench.number(in: store) == number)
            _ = Files.setMode(0o600, of: stored.path + ".sig")
            try Data("another".utf8).write(to: URL(filePath: stored.path + ".sig"))
            let error = await #expect(throws: AccelError.self) { try await AccelModel(.stored("m", in: store)) }
            #expect(error?.code == .untrusted)
        }
    }
}
