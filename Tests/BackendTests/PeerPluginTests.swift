import Accel
import AccelByteIO
import BackendConformance
import Foundation
import Testing

/// The plug-in that `scripts/peers/plugins.py` builds, on the packages that it makes of the decoder fixtures: it names both by
/// environment variables. Without them there is nothing to test here.
@Suite("A plug-in over another engine", .enabled(if: PeerPlugin.path != nil && PeerPlugin.folder != nil))
struct PeerPluginTests {
    @Test("it conforms on what it can run; what it cannot is rejected with a reason")
    func cases() async throws {
        let (plugin, folder) = (try #require(PeerPlugin.path), try #require(PeerPlugin.folder))
        let backend = try PluginBackend(at: plugin, trust: .path)
        let file = "\(folder)/cases.json"
        for field in try JSONField(try JSON.read(file), file: file).array() {
            let (name, path) = (try field["name"].string(), "\(folder)/\(try field["package"].string())")
            switch try field["expects"].string() {
            case "conforms":
                let blocks = try field["blocks"].array().map { try $0.int() }
                let tokens = ConformanceCases.tokens(blocks.reduce(0, +))
                let runs = try ConformanceCases.runs(of: path, [tokens], inBlocksOf: blocks, name: name)
                let tolerance = try field["tolerance"].double()
                let subject = try ConformanceCase(name, package: path, [runs], tolerance: tolerance)
                let report = await BackendConformance([subject]).check(backend)
                for violation in report.violations { Issue.record("\(name): \(violation)") }
                print("conforms \(name) \(report.noise[name] ?? .nan) of \(tolerance)")
                for subject in ConformanceReport.Subject.allCases { #expect((report.checks[subject] ?? 0) > 0) }
            case "unsuitable":
                let assessment = await backend.assess(try BackendRequest(opening: path))
                guard case .unsuitable(let reason) = assessment else {
                    Issue.record("\(name): \(assessment)")
                    continue
                }
                #expect(reason.contains(try field["reason"].string()), "\(name): \(reason)")
                print("unsuitable \(name) \(reason)")
            case let other: Issue.record("\(name): expects \(other)")
            }
        }
    }
}

private enum PeerPlugin {
    static let path = ProcessInfo.processInfo.environment["ACCELC_PLUGIN"]
    static let folder = ProcessInfo.processInfo.environment["ACCELC_PLUGIN_CASES"]
}
