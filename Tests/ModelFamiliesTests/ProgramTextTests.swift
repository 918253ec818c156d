import AccelModelFamilies
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@Suite("Program texts")
struct ProgramTextTests {
    @Test(
        "the program of a tiny model is the golden text (UPDATE_GOLDENS=1 writes it anew)",
        arguments: ["bert_sentence_mean", "bert_mlm_untied"])
    func text(name: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(name))
        let program = try #require(
            try Families.matching(checkpoint.configuration).model(for: checkpoint).programs.first)
        let path = Fixtures.path("programs/\(name).txt")
        if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] == "1" {
            try FileManager.default.createDirectory(
                atPath: Fixtures.path("programs"), withIntermediateDirectories: true)
            try Data(program.description.utf8).write(to: URL(filePath: path))
        }
        #expect(program.description == (try String(contentsOfFile: path, encoding: .utf8)))
    }
}
