import Accel
import AccelByteIO
import AccelFrontEnds
import AccelImages
import Foundation
import TestSupport
import Testing

/// Pictures beside texts, by the small models of Tests/Fixtures with a tokenizer of words.
@Suite("Runs on images and texts")
struct MatchRunTests {
    private static let texts = ["red", "green blue", "a red fox", "blue blue blue"]
    private static let picture = Fixtures.path("images/photo.png")
    /// The tokens of the words; the last one ends texts.
    private static let words = ["a": 3, "red": 4, "green": 5, "blue": 6, "fox": 7]

    private static func tokenizer(end: Int) -> String {
        let words = Self.words.map { "\"\($0)\": \($1)" }.joined(separator: ", ")
        let end = #""</s>": {"id": "</s>", "ids": [\#(end)], "tokens": ["</s>"]}"#
        let template = #"[{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]"#
        return """
            {"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
             "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, \(words)}, "unk_token": "[UNK]"}, "decoder": null,
             "post_processor": {"type": "TemplateProcessing", "single": \(template), "pair": \(template),
                                "special_tokens": {\(end)}}}
            """
    }

    private static let packages = SharedFolder { folder in
        for (name, end, processor) in [
            ("clip_end", 41, "CLIPImageProcessor"), ("siglip_both", 2, "SiglipImageProcessor"),
        ] {
            try FileManager.default.copyItem(atPath: Fixtures.path(name), toPath: "\(folder)/\(name)")
            let size = #""size": {"height": 12, "width": 12}, "do_center_crop": false"#
            for (file, text) in [
                ("tokenizer.json", tokenizer(end: end)),
                ("preprocessor_config.json", #"{"image_processor_type": "\#(processor)", \#(size)}"#),
            ] { try text.write(toFile: "\(folder)/\(name)/\(file)", atomically: true, encoding: .utf8) }
            try CommandRunner.succeed(
                [
                    "convert", name, "--part", "model", "--shape",
                    "images=1,texts=1,sequence=\(name == "clip_end" ? 9 : 7)", "--shape",
                    "images=1,texts=3,sequence=\(name == "clip_end" ? 9 : 7)",
                    "--compress", "float32", "-o", "\(name).accelpkg", "--no-cache",
                ], in: folder)
        }
    }

    /// The logits of all texts, by a run of the function for each.
    private func logits(_ model: AccelModel, end: Int) async throws -> [Float] {
        func port(_ name: String, of function: FunctionDescription) -> FunctionDescription.Port? {
            function.inputs.first { $0.name == name }
        }
        let function = try #require(model.functions.first { port("input_ids", of: $0)?.shape.dimensions[0] == 1 })
        let (pixels, tokens) = (
            try #require(port("pixel_values", of: function)), try #require(port("input_ids", of: function))
        )
        let processor = try #require(try PictureValues(model, Self.picture))
        let length = tokens.shape.dimensions[1]
        var found: [Float] = []
        for text in Self.texts {
            let ids = text.split(separator: " ").map { Int64(Self.words[String($0)] ?? 0) } + [Int64(end)]
            let rest = length - ids.count
            var inputs = [
                pixels.name: processor.tensor,
                tokens.name: try AccelTensor(ids + [Int64](repeating: 0, count: rest), 1, length),
            ]
            if let mask = port("attention_mask", of: function) {
                let ones = [Int64](repeating: 1, count: ids.count) + [Int64](repeating: 0, count: rest)
                inputs[mask.name] = try AccelTensor(ones, 1, length)
            }
            let outputs = try await model.function(function.name)(inputs)
            found.append(try outputs["logits_per_image"].array(of: Float.self)[0])
        }
        return found
    }

    /// The pixels of a picture.
    private struct PictureValues {
        let tensor: AccelTensor

        init?(_ model: AccelModel, _ path: String) throws {
            let picture = try Picture(contentsOf: path)
            guard let processor = try ImageProcessor(files: model.package.assetFiles) else { return nil }
            tensor = try AccelTensor(processor.values(of: try processor.fitted(picture)), 1, 3, 12, 12)
        }
    }

    @Test("texts have the probabilities of their logits, together by CLIP and each by itself by SigLIP")
    func probabilities() async throws {
        for (name, end) in [("clip_end", 41), ("siglip_both", 2)] {
            let model = try await AccelModel(
                .path("\(try Self.packages.path)/\(name).accelpkg"), configuration: .reproducible)
            let logits = try await logits(model, end: end).map(Double.init)
            let sum = logits.reduce(0) { $0 + exp($1) }
            let expected = logits.map { name == "clip_end" ? exp($0) / sum : 1 / (1 + exp(-$0)) }
            let picture = try Picture(contentsOf: Self.picture)
            let found = try await model.match([picture, picture], with: Self.texts)
            #expect(found.count == 2 && found[0] == found[1])
            for label in found[0] {
                let index = try #require(Self.texts.firstIndex(of: label.label))
                #expect(abs(Double(label.score) - expected[index]) < 1e-4, "\(name) \(label)")
            }
            #expect(zip(found[0], found[0].dropFirst()).allSatisfy { $0.score >= $1.score })
            #expect(Set(found[0].map(\.label)) == Set(Self.texts))
            let long = [String](repeating: "red", count: 40).joined(separator: " ")
            let error = await #expect(throws: AccelError.self) { try await model.match([picture], with: [long]) }
            #expect(error?.code == .invalid)
            _ = try await model.match([picture], with: [long], truncates: true)
        }
    }

    @Test("the tool prints how well each line of a file fits an image")
    func tool() throws {
        let folder = try Self.packages.path
        try withTemporaryFolder { place in
            try Self.texts.joined(separator: "\n").write(
                toFile: "\(place)/texts.txt", atomically: true, encoding: .utf8)
            let words = ["--image", Self.picture, "--text", "\(place)/texts.txt", "--json"]
            func labels(_ model: String, _ more: [String] = []) throws -> [(label: String, score: Double)] {
                let result = try CommandRunner.run(["run", "\(folder)/\(model)"] + words + more, in: place)
                #expect(result.status == 0, "\(result.errors)")
                let bytes = ByteView(Array(result.output.utf8))
                let document = JSONField(try JSON.parse(bytes, file: "output"), file: "output")
                return try document["images"].array()[0]["labels"].array().map {
                    (try $0["label"].string(), try $0["score"].double())
                }
            }
            let found = try labels("clip_end.accelpkg")
            #expect(found.count == 4 && abs(found.reduce(0) { $0 + $1.score } - 1) < 1e-5)
            // A model is converted with the part that compares both.
            let converted = try labels("clip_end", ["--compress", "float32", "--cache", "\(place)/cache"])
            #expect(converted.map(\.label) == found.map(\.label))
            #expect(zip(converted, found).allSatisfy { abs($0.score - $1.score) < 1e-5 })
        }
    }
}
