import Foundation
import TestSupport
import Testing

/// A compression plan's recipe is a file that people edit.
@Suite("Edited plans")
struct EditedPlanTests {
    private static let request = ["convert", "bert_base", "--shape", "batch=2,sequence=8"]
    private static let samples = ["--calibrate", "bert_base/golden.safetensors"]
    private static let pinned = """
        {"default": "palette:bits=4", "rules": [
          {"match": "encoder.layer.0.output.dense.weight", "compress": "int8"},
          {"match": "pooler.dense.weight", "compress": "int4:method=gptq"}]}
        """

    /// Makes a plan with two rules of its own, and returns the text of its recipe.
    private func plan(in folder: String) throws -> String {
        try FileManager.default.copyItem(atPath: Fixtures.path("bert_base"), toPath: "\(folder)/bert_base")
        try Data(Self.pinned.utf8).write(to: URL(filePath: "\(folder)/pinned.json"))
        let words = ["--recipe", "pinned.json", "--target-bits", "6", "-o", "p.accelpkg"]
        let made = try CommandRunner.run(Self.request + Self.samples + words, in: folder)
        try #require(made.status == 0, "\(made.errors)")
        return try String(contentsOf: URL(filePath: "\(folder)/p.accelpkg.plan/recipe.json"), encoding: .utf8)
    }

    private func convert(_ recipe: String, _ options: [String], in folder: String) throws -> CommandRunner.Result {
        try Data(recipe.utf8).write(to: URL(filePath: "\(folder)/p.accelpkg.plan/recipe.json"))
        return try CommandRunner.run(
            Self.request + ["--recipe", "p.accelpkg.plan/recipe.json", "-o", "q.accelpkg"] + options, in: folder)
    }

    /// Returns the recipe with the scheme of one weight replaced.
    private func edited(_ recipe: String, _ weight: String, to scheme: String) throws -> String {
        let name = try #require(recipe.range(of: weight))
        let key = try #require(recipe.range(of: "\"compress\"", range: name.upperBound..<recipe.endIndex))
        let end = try #require(recipe.range(of: "}", range: key.upperBound..<recipe.endIndex))
        return recipe.replacingCharacters(in: key.lowerBound..<end.lowerBound, with: "\"compress\": \"\(scheme)\"")
    }

    @Test("a changed scheme is rejected where statistics depend on it, and samples take their place")
    func changed() throws {
        try withTemporaryFolder { folder in
            let recipe = try plan(in: folder)
            #expect(try convert(recipe, [], in: folder).status == 0)
            for (weight, scheme) in [
                ("encoder.layer.0.output.dense.weight", "int4"), ("pooler.dense.weight", "int8:method=gptq"),
            ] {
                let other = try edited(recipe, weight, to: scheme)
                let rejected = try convert(other, [], in: folder)
                #expect(rejected.status == 2)
                #expect(
                    rejected.errors.contains(
                        "stores \(weight) as \(scheme), and its statistics are those for int")
                        && rejected.errors.contains("--calibrate FILE"), "\(rejected.errors)")
                let made = try convert(other, Self.samples, in: folder)
                #expect(made.status == 0, "\(made.errors)")
            }
        }
    }

    @Test("a plan without gptq may be edited, for its statistics do not depend on schemes")
    func independent() throws {
        try withTemporaryFolder { folder in
            var recipe = try plan(in: folder)
            for method in ["gptq", "awq"] {
                recipe = recipe.replacingOccurrences(of: "method=\(method)", with: "method=nearest")
            }
            let other = try edited(recipe, "encoder.layer.0.output.dense.weight", to: "int4")
            let made = try convert(other, [], in: folder)
            #expect(made.status == 0, "\(made.errors)")
        }
    }
}
