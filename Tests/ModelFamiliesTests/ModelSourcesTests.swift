import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

/// What a model is, to the last byte.
private struct Meaning: Equatable {
    let texts: [String]
    let tensors: [String]

    init(_ folder: String) throws {
        let checkpoint = try Checkpoint(model: folder)
        let model = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        texts = model.programs.map(\.description)
        tensors = try model.programs.flatMap(\.constants).map { constant in
            "\(constant.name) \(TreeDigest.digest(of: try constant.requireTensor().bytes))"
        }
    }
}

@Suite("A model is what its sources say, and nothing else")
struct ModelSourcesTests {
    private static let fixtures: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Fixtures.path(""))) ?? []
        return names.filter { name in
            ["config.json", "model.safetensors"].allSatisfy {
                FileManager.default.fileExists(atPath: Fixtures.path("\(name)/\($0)"))
            }
        }.sorted() + ["bert_sharded"]
    }()

    /// The sources once the model is built.
    private func sources(_ folder: String) throws -> [String] {
        let checkpoint = try Checkpoint(model: folder)
        _ = try Families.matching(checkpoint.configuration).model(for: checkpoint)
        return checkpoint.reader.sources.map(\.name)
    }

    private func copy(_ names: [String], of model: String, to folder: String) throws {
        for name in names {
            let target = URL(filePath: folder).appending(path: name)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: URL(filePath: model).appending(path: name), to: target)
        }
    }

    @Test("a folder with no more than the sources is the same model", arguments: fixtures)
    func sufficient(fixture: String) throws {
        let model = Fixtures.path(fixture)
        let (whole, names) = (try Meaning(model), try sources(model))
        try withTemporaryFolder { folder in
            try copy(names, of: model, to: folder)
            #expect(try Meaning(folder) == whole)
        }
    }

    @Test("without one of the sources it is another model, or none: the comparison can fail")
    func control() throws {
        let model = Fixtures.path("bert_sentence_cls")
        let (whole, names) = (try Meaning(model), try sources(model))
        #expect(names == ["1_Pooling/config.json", "config.json", "model.safetensors", "modules.json"])
        for left in names {
            try withTemporaryFolder { folder in
                try copy(names.filter { $0 != left }, of: model, to: folder)
                let rest = try? Meaning(folder)
                #expect(rest != whole, "\(left)")
            }
        }
    }

    @Test("the folder of a pooling may have any name", arguments: ["1_Pooling", "pool", "modules/pooling"])
    func pooling(path: String) throws {
        var changed = try ChangedCheckpoint("bert_sentence_cls")
        changed.files = [:]
        changed.files["modules.json"] =
            #"[{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "\#(path)"}, {"type": "a.Normalize", "path": "norm"}]"#
        changed.files["\(path)/config.json"] = #"{"pooling_mode_max_tokens": true}"#
        changed.files["norm/config.json"] = "{}"
        changed.files["other/config.json"] = "{}"
        try changed.withCheckpoint { checkpoint in
            _ = try Families.matching(checkpoint.configuration).model(for: checkpoint)
            let wanted = [
                "\(path)/config.json", "config.json", "model.safetensors", "modules.json", "norm/config.json",
            ]
            #expect(checkpoint.reader.sources.map(\.name) == wanted.sorted())
            #expect(checkpoint.assets.map(\.name) == wanted.sorted().filter { $0 != "model.safetensors" })
        }
    }

    @Test("a transformer in a folder of its own is rejected: it is not the one that is read")
    func transformerElsewhere() throws {
        var changed = try ChangedCheckpoint("bert_sentence_cls")
        changed.files = [:]
        changed.files["modules.json"] =
            #"[{"type": "a.Transformer", "path": "0_Transformer"}, {"type": "a.Pooling", "path": "p"}]"#
        changed.files["p/config.json"] = "{}"
        #expect(changed.rejection()?.contains("field [0].path: a transformer in a folder of its own") == true)
    }
}
