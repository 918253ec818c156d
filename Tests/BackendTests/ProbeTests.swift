import Accel
import AccelByteIO
import AccelConversion
import AccelPrograms
import BackendConformance
import Foundation
import TestSupport
import Testing

@Suite("The probe of a package")
struct ProbeTests {
    private static func open(
        _ path: String, _ backends: BackendChoice, _ fallback: BackendFallback = .atOpening, plugin: SumPlugin? = nil
    ) async throws -> AccelModel {
        var configuration = Configuration()
        if let plugin { configuration.registry.register(try plugin.backend()) }
        (configuration.backends, configuration.fallback, configuration.probe) = (backends, fallback, true)
        return try await AccelModel(.path(path), configuration: configuration)
    }

    @Test("a backend with the probe's numbers opens, and its attempt has the difference and the limit")
    func passes() async throws {
        let plugin = try SumPlugin()
        let path = try plugin.conformanceCase(probe: SumPlugin.probe()).path
        for id in [BackendID.cpu, .reference, BackendID(rawValue: "sum")] {
            let model = try await Self.open(path, .only(id), plugin: plugin)
            // The probe has a limit for the CPU, and one for all others.
            let limit = id == .cpu ? 3e-6 : 0.015625
            guard case .loaded(let notes) = model.info.attempts.last?.outcome else { return #expect(Bool(false)) }
            #expect(notes.last == "the probe differs by 0.0, at most \(limit) is allowed")
        }
    }

    @Test(
        "a backend with other numbers is passed over, with the element, both numbers and the limit; or it is an error")
    func differs() async throws {
        let plugin = try SumPlugin(["-DFAULT=WRONG_NUMBERS"])
        let path = try plugin.conformanceCase(probe: SumPlugin.probe()).path
        let model = try await Self.open(path, .automatic, plugin: plugin)
        #expect(model.info.backend == .cpu && model.info.didFallBack)
        let attempt = try #require(model.info.attempts.first { $0.backend.rawValue == "sum" })
        #expect(attempt.duration > .zero)
        #expect(
            "\(attempt)".contains(
                "sum, output \"y\": element 0 is 1.5, the package's probe has 1.0: differs by 0.16666666666666666"))
        let error = await #expect(throws: AccelError.self) {
            _ = try await Self.open(path, .automatic, .never, plugin: plugin)
        }
        #expect(error?.code == .numerics && error?.attempts.isEmpty == false)
    }

    @Test("a package without a probe is an error for those who ask for it, and opens for others")
    func absent() async throws {
        let plugin = try SumPlugin()
        let path = try plugin.conformanceCase().path
        let error = await #expect(throws: AccelError.self) { _ = try await Self.open(path, .automatic) }
        #expect(error?.code == .invalid && error?.hint?.contains("probe = false") == true)
        _ = try await AccelModel(.path(path))
    }

    @Test("a probe is read as it was written; one that is not valid is rejected at its field")
    func document() throws {
        let probe = SumPlugin.probe()
        #expect(try PackageProbe(probe.asset.content, file: "p") == probe)
        let text = probe.asset.content.withBytes { String(decoding: $0, as: UTF8.self) }
        for (old, new, words) in [
            ("\"stride\":1", "\"stride\":0", "stride: expected at least 1"),
            ("\"*\":0.015625,", "", "tolerances: has no entry \"*\""),
            ("\"values\":[1", "\"values\":[],\"more\":[1", "expected 1 to 65536 numbers, found 0"),
            ("0.015625", "-1", "expected a number from 0"),
        ] {
            let changed = text.replacing(" ", with: "").replacing(old, with: new)
            #expect(changed != text.replacing(" ", with: ""), "\(old)")
            let error = #expect(throws: FormatError.self) {
                try PackageProbe(ByteView(Array(changed.utf8)), file: "p")
            }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
    }
}

@Suite("Probes that conversions make")
struct ConvertedProbeTests {
    @Test(
        "the CPU and the reference meaning have their numbers, over families, decoders and rounded weights",
        arguments: [
            ("bert_base", "float32", ["batch=2,sequence=9"]), ("bert_base", "int8", ["batch=2,sequence=9"]),
            ("qwen3_small", "int4:block=32", ["batch=1,tokens=4,cache=8", "batch=1,tokens=1,cache=8"]),
            ("vit_tall", "float16", ["batch=1"]),
        ])
    func converted(fixture: String, scheme: String, shapes: [String]) async throws {
        let folder = try TemporaryFolder(beside: "\(FileManager.default.temporaryDirectory.path)/probe")
        defer { withExtendedLifetime(folder) {} }
        let path = "\(folder.path)/x.accelpkg"
        var conversion = try Conversion(of: Fixtures.path(fixture), compressedBy: scheme)
        conversion.shapes = try shapes.map { try ShapeBindings(parsing: $0) }
        conversion.hasProbe = true
        let package = try conversion.convert(to: .folder(path)).package
        let probe = try #require(try package.probe)
        #expect(probe.runs.map(\.function) == package.graph.functions.map(\.functionName))
        #expect(probe.runs.allSatisfy { run in run.outputs.contains { $0.values.contains { $0 != 0 } } })
        #expect(probe.asset.content.count < 1 << 18)
        for backend in [BackendID.cpu, .reference] {
            var configuration = Configuration()
            (configuration.backends, configuration.fallback, configuration.probe) = (.only(backend), .never, true)
            let model = try await AccelModel(.path(path), configuration: configuration)
            #expect(model.info.backend == backend)
        }
        #expect(try package.files(differingFrom: package.contents) == [])
    }
}
