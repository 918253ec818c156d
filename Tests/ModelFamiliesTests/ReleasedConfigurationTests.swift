import AccelByteIO
import AccelModelFamilies
import AccelTensors
import Foundation
import TestSupport
import Testing

/// Configurations with the fields that released checkpoints have, in the dialects of many versions of transformers and of
/// tools beside it (`Tests/Fixtures/configurations.json`): none is rejected for a field that changes nothing.
@Suite("Configurations as models are released")
struct ReleasedConfigurationTests {
    static let released: [(key: String, field: JSONField)] = {
        let path = Fixtures.path("configurations.json")
        return (try? JSONField(JSON.read(path), file: path).members()) ?? []
    }()

    @Test("are all read", arguments: released.map(\.key))
    func areRead(name: String) throws {
        let field = try #require(Self.released.first { $0.key == name }).field
        let configuration = JSONField(field.value, file: "config.json")
        let checkpoint = Checkpoint(folder: "released", configuration: configuration, files: [])
        let family = try Families.matching(configuration)
        let model = try family.model(for: checkpoint, parts: family.parts, standsInForMissing: true)
        #expect(!model.programs.isEmpty && !model.missing.isEmpty)
    }

    @Test("cover every family whose models are released with a config.json")
    func coverage() throws {
        let read = try Set(Self.released.map { "\(type(of: try Families.matching($0.field)))" })
        let missing = Families.all.map { "\($0)" }.filter { !read.contains($0) }
        // The first two as parts of others; the third for tests; the last has no configuration of its own.
        #expect(missing == ["KokoroBlocks", "SiglipVision", "SileroVAD"])
    }
}
