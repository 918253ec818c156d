import Accel
import AccelByteIO
import AccelImages
import Foundation
import TestSupport
import Testing

/// Runs of small models, and the outputs of transformers for the same files (scripts/fixtures_images.py).
@Suite("Runs on images")
struct ImageRunTests {
    private static let pictures = ["photo.png", "photo.jpg"].map { Fixtures.path("images/\($0)") }
    private static let goldens = Fixtures.path("images/goldens.json")
    private static func rows() throws -> [JSONField] {
        try JSONField(try JSON.read(goldens), file: goldens)["runs"].array()
    }

    private static let packages = SharedFolder { folder in
        func convert(_ name: String, of model: String, settings: String?, _ words: [String] = []) throws {
            try FileManager.default.copyItem(atPath: Fixtures.path(model), toPath: "\(folder)/\(name)")
            try settings?.write(
                toFile: "\(folder)/\(name)/preprocessor_config.json", atomically: true, encoding: .utf8)
            try CommandRunner.succeed(
                ["convert", name, "--compress", "float32", "-o", "\(name).accelpkg", "--no-cache"] + words, in: folder)
        }
        var settings: [String: String] = [:]
        for row in try rows() { settings[try row["model"].string()] = row["settings"].value?.text() }
        for (model, settings) in settings { try convert(model, of: model, settings: settings) }
        let vit = settings["vit_leftover"]
        try convert("batches", of: "vit_leftover", settings: vit, ["--shape", "batch=2", "--shape", "batch=3"])
        try convert("bare", of: "vit_leftover", settings: nil)
        try convert("gray", of: "vit_tall", settings: vit)
        try convert(
            "small", of: "vit_leftover", settings: #"{"image_processor_type": "ViTImageProcessor", "size": 18}"#)
        try convert(
            "edges", of: "vit_leftover",
            settings:
                #"{"image_processor_type": "ViTImageProcessor", "size": {"shortest_edge": 20, "longest_edge": 24}}"#)
        try convert("other", of: "vit_leftover", settings: #"{"image_processor_type": "DetrImageProcessor"}"#)
        try convert("bert", of: "bert_base", settings: nil)
        try "no picture".write(toFile: "\(folder)/text.png", atomically: true, encoding: .utf8)
        try "GIF89a".write(toFile: "\(folder)/moving.gif", atomically: true, encoding: .utf8)
    }

    private func run(_ words: [String], package: String) throws -> (status: Int32, output: String, errors: String) {
        let packages = try Self.packages.path
        return try withTemporaryFolder { folder in
            let words = words.map { ["text.png", "moving.gif"].contains($0) ? "\(packages)/\($0)" : $0 }
            let result = try CommandRunner.run(["run", "\(packages)/\(package)"] + words, in: folder)
            return (result.status, result.output, result.errors)
        }
    }

    private static let images = pictures.flatMap { ["--image", $0] }

    @Test("vectors and probabilities are those of transformers")
    func transformers() throws {
        let rows = try Self.rows()
        for model in Set(try rows.map { try $0["model"].string() }) {
            let result = try run(Self.images + ["--json"], package: "\(model).accelpkg")
            #expect(result.status == 0, "\(model): \(result.errors)")
            let bytes = ByteView(Array(result.output.utf8))
            let images = try JSONField(try JSON.parse(bytes, file: model), file: model)["images"].array()
            let expected = try rows.filter { try $0["model"].string() == model }
            #expect(images.count == expected.count)
            for (image, row) in zip(images, expected) {
                #expect(try image["image"].string().hasSuffix("/\(row["picture"].string())"))
                let numbers = try row["result"].array().map { try $0.double() }
                let found: [Double]
                if image["labels"].exists {
                    let labels = try image["labels"].array()
                    found = try numbers.indices.map { number in
                        try labels.first { try $0["label"].string() == "LABEL_\(number)" }?["score"].double() ?? .nan
                    }
                } else {
                    found = try image["vector"].array().map { try $0.double() }
                }
                #expect(found.count == numbers.count)
                for (left, right) in zip(found, numbers) { #expect(abs(left - right) < 1e-4, "\(model)") }
            }
        }
    }

    @Test("each image has a line: the likeliest classes, or a vector")
    func lines() throws {
        let classes = try run(Self.images, package: "vit_leftover.accelpkg")
        let lines = classes.output.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasPrefix("LABEL_4 0.7026  LABEL_0 0.1080  LABEL_3 0.0979  LABEL_1 0.04"))
        let vectors = try run(Self.images, package: "clip_end.accelpkg").output.split(separator: "\n")
        #expect(vectors.count == 2 && vectors.allSatisfy { $0.hasPrefix("[") && $0.split(separator: ",").count == 20 })
    }

    @Test("pictures run in the batches of the package, with the same results")
    func batches() async throws {
        let path = try Self.packages.path
        func model(_ name: String) async throws -> AccelModel {
            try await AccelModel(.path("\(path)/\(name).accelpkg"), configuration: .reproducible)
        }
        let files = ["photo.png", "photo.jpg", "tall.png", "tiny.png", "photo.png", "tall.png"]
        let pictures = try files.map { try Picture(contentsOf: Fixtures.path("images/\($0)")) }
        let (single, several) = (try await model("vit_leftover"), try await model("batches"))
        for count in 0...pictures.count {
            let found = try await several.classify(pictures: Array(pictures.prefix(count)))
            #expect(found.count == count)
            for (picture, labels) in zip(pictures, found) {
                let alone = try await single.classify(pictures: [picture])[0]
                #expect(alone.map(\.label) == labels.map(\.label))
                #expect(zip(alone, labels).allSatisfy { abs($0.score - $1.score) < 1e-5 })
            }
        }
        let error = await #expect(throws: AccelError.self) { try await single.embed(pictures: pictures) }
        #expect(error?.code == .unsupported)
    }

    @Test("a model that is not a package is converted first, and keeps its settings")
    func unconverted() throws {
        let folder = try Self.packages.path
        let result = try run(Self.images + ["--compress", "float32"], package: "vit_leftover")
        #expect(try result.output == run(Self.images, package: "vit_leftover.accelpkg").output)
        let inspected = try CommandRunner.run(["inspect", "vit_leftover.accelpkg"], in: folder).output
        #expect(inspected.contains("assets: config.json, preprocessor_config.json\n"))
    }

    @Test(
        "images that cannot be run are rejected with the reason",
        arguments: [
            ("bert", pictures[0], "no function takes pictures of three colours"),
            ("gray", pictures[0], "no function takes pictures of three colours"),
            ("bare", pictures[0], "the package has no preprocessor_config.json"),
            ("small", pictures[0], "make a picture of 18 x 18, and its function takes 20 x 20"),
            (
                "edges", pictures[0],
                "make a picture of 24 x 18, and its function takes 20 x 20; the settings keep the proportions of a picture"
            ),
            (
                "other", pictures[0],
                "field image_processor_type: the image processor DetrImageProcessor is not supported"
            ),
            (
                "vit_leftover", "moving.gif",
                #"moving.gif, byte 0: is a GIF file; PNG and JPEG are read; convert the image first, e.g. "magick FILE image.png""#
            ),
            ("vit_leftover", "text.png", "is not a PNG or JPEG file"),
            ("vit_leftover", "nothing.png", "nothing.png"),
        ] as [(String, String, String)])
    func rejected(_ package: String, _ picture: String, _ reason: String) throws {
        let result = try run(["--image", picture], package: "\(package).accelpkg")
        #expect(result.status != 0 && result.output.isEmpty)
        #expect(result.errors.contains(reason), "\(result.errors)")
    }
}
