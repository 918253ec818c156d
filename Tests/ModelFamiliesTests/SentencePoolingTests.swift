import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelModelFamilies

@Suite("Sentence embeddings")
struct SentencePoolingTests {
    @Test(
        "each pooling mode is that of sentence-transformers, wherever the padding is",
        arguments: SentencePooling.Mode.allCases.map { [$0] } + [[.cls, .mean]])
    func modes(modes: [SentencePooling.Mode]) throws {
        let golden = try SafetensorsFile(Fixtures.path("pooling.safetensors"))
        let expected = try #require(golden[modes.map(\.rawValue).joined(separator: "+")])
        var layers = LayerBuilder(
            builder: ProgramBuilder(
                name: "pooling", dimensions: [.init("batch", usual: [1]), .init("sequence", usual: [1])]),
            names: TensorNames(try Checkpoint(model: Fixtures.path("bert_base"))))
        let hidden = layers.builder.input("hidden", TensorType(.float32, ["batch", "sequence", 8]))
        let mask = layers.builder.input("mask", TensorType(.int64, ["batch", "sequence"]))
        let pooling = SentencePooling(modes: modes)
        layers.builder.output("out", try pooling.apply(to: hidden, mask: mask, positions: 10, in: &layers))
        let program = try layers.builder.finish().freezing(ShapeBindings(["batch": 5, "sequence": 6]))
        let inputs = ["hidden", "mask"].compactMap { name in golden[name].map { (name, HostTensor($0)) } }
        let found = try #require(try program.evaluate(Dictionary(uniqueKeysWithValues: inputs)).first)
        for (one, other) in zip(found.tensor.floats, expected.floats()) { #expect(abs(one - other) < 1e-6) }
    }

    @Test("a row that is masked everywhere is what transformers makes of it")
    func maskedRows() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("bert_base"))
        let program = try #require(
            try Families.matching(checkpoint.configuration).model(for: checkpoint).programs.first)
        let golden = try SafetensorsFile(Fixtures.path("masked_rows.safetensors"))
        let inputs = program.inputs.compactMap { input in
            golden["in.\(input.name)"].map { (input.name, HostTensor($0)) }
        }
        let frozen = try program.freezing(ShapeBindings(["batch": 2, "sequence": 4]))
        for (name, tensor) in try frozen.evaluate(Dictionary(uniqueKeysWithValues: inputs)) {
            guard let reference = golden["ref64.\(name)"] else { continue }
            for (one, other) in zip(tensor.floats, reference.doubles()) { #expect(abs(Double(one) - other) < 5e-6) }
        }
    }

    @Test("flags of older files and names of newer ones mean the same")
    func spellings() throws {
        func pooling(_ text: String) throws -> [SentencePooling.Mode]? {
            try withTemporaryFolder { folder in
                let base = URL(filePath: folder)
                for name in ["config.json", "model.safetensors"] {
                    try FileManager.default.copyItem(
                        at: URL(filePath: Fixtures.path("bert_sentence_mean/\(name)")), to: base.appending(path: name))
                }
                try Data(#"[{"type": "a.Transformer", "path": ""}, {"type": "b.Pooling", "path": "p"}]"#.utf8)
                    .write(to: base.appending(path: "modules.json"))
                try FileManager.default.createDirectory(
                    at: base.appending(path: "p"), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: base.appending(path: "p/config.json"))
                return try SentencePooling(of: Checkpoint(model: folder))?.modes
            }
        }
        #expect(try pooling("{}") == [.mean])
        #expect(try pooling(#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#) == [.cls])
        #expect(
            try pooling(#"{"pooling_mode_lasttoken": true, "pooling_mode_max_tokens": true}"#) == [.max, .lastToken])
        #expect(try pooling(#"{"pooling_mode": "weightedmean"}"#) == [.weightedMean])
        #expect(try pooling(#"{"pooling_mode": ["mean", "cls"]}"#) == [.mean, .cls])
    }
}
