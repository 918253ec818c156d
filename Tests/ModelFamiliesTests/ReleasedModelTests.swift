import AccelByteIO
import AccelModelFamilies
import AccelTensors
import TestSupport
import Testing

/// Models of the Hub by their configurations and the names of their tensors.
@Suite("Models as they are released")
struct ReleasedModelTests {
    @Test("are accepted with all tensors accounted for, or rejected for the reason", arguments: ReleasedModel.all)
    func verdict(model: ReleasedModel) throws {
        try model.withCheckpoint { checkpoint in
            do {
                let family = try Families.matching(checkpoint.configuration)
                let built = try family.model(for: checkpoint, parts: family.parts)
                #expect(model.rejected == nil, "is accepted")
                #expect(built.used.isDisjoint(with: built.unused.map(\.name)))
                #expect(built.used.union(built.unused.map(\.name)) == Set(checkpoint.tensors.map(\.name)))
                #expect(built.unused.allSatisfy { !$0.reason.isEmpty })
            } catch let error as any ReportedError {
                let reason = try #require(model.rejected, "\(error)")
                #expect("\(error)".contains(reason), "\(error)")
            }
        }
    }

    @Test("are there in numbers, with models of every family that the Hub has")
    func coverage() throws {
        #expect(ReleasedModel.all.count >= 30)
        let types = try ReleasedModel.all.filter { $0.rejected == nil }.map {
            try "\(type(of: Families.matching(JSONField($0.configuration, file: "config.json"))))"
        }
        let others: Set = [
            "Kokoro", "KokoroBlocks", "Moonshine", "Parakeet", "ParakeetTransducer", "SileroVAD", "SNAC",
            "SiglipVision",
        ]
        #expect(Set(Families.all.map { "\($0)" }).subtracting(types) == others)
    }
}
