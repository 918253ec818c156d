import Accel
import AccelByteIO
import AccelTensors
import BackendConformance
import Foundation
import TestSupport
import Testing

@Suite("Plug-ins in C")
struct PluginTests {
    @Test("a plug-in passes the conformance suite on what it can run, and says why it cannot run the rest")
    func conformance() async throws {
        let plugin = try SumPlugin()
        let backend = try plugin.backend()
        let report = await BackendConformance([try plugin.conformanceCase()]).check(backend)
        for violation in report.violations { Issue.record("\(violation)") }
        for subject in ConformanceReport.Subject.allCases where subject != .integrity {
            #expect((report.checks[subject] ?? 0) > 0, "\(subject)")
        }
        #expect(report.noise == ["sum": 0])
        let cases = try ConformanceCases()
        let other = await BackendConformance([try cases.encoder("bert_base", "float32")]).check(backend)
        #expect(other.violations.isEmpty, "\(other.violations)")
        let assessment = await backend.assess(
            try BackendRequest(opening: cases.encoder("bert_base", "float32").path))
        withExtendedLifetime(cases) {}
        guard case .unsuitable(let reason) = assessment else { return #expect(Bool(false), "\(assessment)") }
        #expect(reason.contains("plug-in sum") && reason.contains("only a function called sum runs here"))
    }

    @Test("a registered plug-in is chosen by its priority, and its notes and time are among the attempts")
    func chosen() async throws {
        let plugin = try SumPlugin()
        let subject = try plugin.conformanceCase()
        var configuration = Configuration()
        configuration.registry.register(try plugin.backend())
        let model = try await AccelModel(.path(subject.path), configuration: configuration)
        #expect(model.info.backend == BackendID(rawValue: "sum"))
        #expect(model.info.attempts.last?.outcome == .loaded(notes: ["sum 1"]))
        let y = try await model.makeSession().prediction(of: "sum", from: ["x": try AccelTensor([1, 2, 3] as [Float])])
        #expect(try y["y"].array(of: Float.self) == [1, 2, 3])
    }

    /// Flags of the compiler, the code, and words of the error.
    static let rejected: [(flags: [String], words: [String])] = [
        (["-DFAULT=ABI"], ["version 2 of the interface", "expected version 1", "accel_plugin.h"]),
        (["-DFAULT=SIZE"], ["its table has 16 bytes", "expected at least"]),
        (["-DFAULT=NULL_TABLE"], ["does not know version 1"]),
        (["-DFAULT=NO_RUN"], ["its table has no run"]),
        (["-DFAULT=NO_NAME"], ["its table has no name"]),
        (["-DFAULT=BAD_NAME"], ["its name is \"Sum/..\"", "lower-case letters"]),
        (["-DNO_ENTRY"], ["does not export accel_plugin_entry"]),
        (["-DUNDEFINED_SYMBOL"], ["is not a shared library that loads here", "there_is_no_such_function"]),
    ]

    @Test("a library that is no plug-in of this version is rejected where it is loaded", arguments: rejected.indices)
    func rejectedLibrary(index: Int) throws {
        let (flags, words) = Self.rejected[index]
        let plugin = try SumPlugin(flags)
        let error = #expect(throws: AccelError.self) { try plugin.backend() }
        #expect(error?.code == .unsupported && error?.location == plugin.path)
        for word in words { #expect(error?.description.contains(word) == true, "\(error?.description ?? "")") }
    }

    @Test("a file that is missing, and one that is no library")
    func noLibrary() throws {
        try withTemporaryFolder { folder in
            let missing = #expect(throws: AccelError.self) { try PluginBackend(at: "\(folder)/x.so", trust: .path) }
            #expect(missing?.code == .notFound)
            try Data("text".utf8).write(to: URL(filePath: "\(folder)/text.so"))
            let text = #expect(throws: AccelError.self) { try PluginBackend(at: "\(folder)/text.so", trust: .path) }
            #expect(text?.code == .unsupported)
            #expect(text?.problem.hasPrefix("is not a shared library that loads here") == true)
        }
    }

    /// A fault, whether the model opens, the code and words of the error.
    static let failing: [(fault: String, opens: Bool, code: AccelError.Code, words: String)] = [
        ("CAN_RUN_FAILS", false, .unsupported, "can_run failed without a message, status 9"),
        ("OPEN_FAILS", false, .notFound, "there is no such device; plug it in"),
        ("OPEN_NOTHING", false, .backend, "open succeeded without a model"),
        ("MESSAGE_WITHOUT_END", false, .backend, "xxxx"),
        ("SESSION_NOTHING", true, .backend, "make_session succeeded without a session"),
        ("RUN_FAILS", true, .backend, "sum: the device is gone; open the model again"),
        ("RUN_UNKNOWN", true, .backend, "run failed without a message, status 77"),
        ("WRITES_LESS", true, .backend, "output \"y\": expected 12 bytes of F32[3], the plug-in wrote 8"),
        ("WRITES_BEYOND", true, .backend, "the plug-in wrote beyond the 12 bytes of F32[3]"),
        ("SAVE_FAILS", true, .backend, "a snapshot: the device keeps its state"),
    ]

    @Test("what fails inside of a plug-in is an error with the plug-in's name and reason", arguments: failing.indices)
    func failure(index: Int) async throws {
        let (fault, opens, code, words) = Self.failing[index]
        let plugin = try SumPlugin(["-DFAULT=\(fault)"])
        let request = try BackendRequest(opening: plugin.conformanceCase().path)
        let backend = try plugin.backend()
        var hasOpened = false
        var found: AccelError?
        do throws(AccelError) {
            let model = try await backend.load(request) { _ in }
            hasOpened = true
            let session = try model.makeSession()
            _ = try session.run("sum", ["x": StoredTensor(name: "x", floats: [1, 2, 3], shape: [3])], outputs: nil)
            _ = try session.snapshot()
        } catch { found = error }
        #expect(hasOpened == opens)
        #expect(found?.code == code)
        let text = found?.description ?? ""
        #expect(text.contains(words) && text.contains("plug-in sum"), "\(text)")
    }

    @Test("a snapshot of another backend or model is rejected, and changes nothing")
    func snapshots() async throws {
        let plugin = try SumPlugin()
        let request = try BackendRequest(opening: plugin.conformanceCase().path)
        let session = try await plugin.backend().load(request) { _ in }.makeSession()
        let x = ["x": StoredTensor(name: "x", floats: [1, 2, 3], shape: [3])]
        _ = try session.run("sum", x, outputs: nil)
        let foreign = StoredTensor(name: "sum", floats: [9, 9, 9], shape: [3])
        let error = #expect(throws: AccelError.self) { try session.restore([foreign]) }
        #expect(error?.code == .notFound)
        let short = StoredTensor(
            name: "plug-in state", elementType: .uint8, shape: [4], bytes: ByteView([UInt8](repeating: 0, count: 4)))
        let other = #expect(throws: AccelError.self) { try session.restore([short]) }
        #expect(other?.description.contains("is a snapshot of another model") == true)
        #expect(try session.run("sum", x, outputs: nil)["y"]?.floats() == [2, 4, 6])
    }

    @Test("a verifier decides before anything of a plug-in runs")
    func trust() throws {
        struct Verdict: SignatureVerifier {
            let accepts: Bool
            func verify(_ package: AcceleratorPackage) throws {}
            func verify(plugin: ByteView, at path: String) throws {
                if !accepts || plugin.isEmpty { throw RequestError("is nobody's") }
            }
        }
        struct PackagesOnly: SignatureVerifier {
            func verify(_ package: AcceleratorPackage) throws {}
        }
        let plugin = try SumPlugin()
        _ = try PluginBackend(at: plugin.path, trust: .signed(Verdict(accepts: true)))
        for verifier in [Verdict(accepts: false), PackagesOnly()] as [any SignatureVerifier] {
            let error = #expect(throws: AccelError.self) {
                try PluginBackend(at: plugin.path, trust: .signed(verifier))
            }
            #expect(error?.code == .untrusted && error?.hint?.contains("accelc-plugin@v1") == true)
        }
    }
}
