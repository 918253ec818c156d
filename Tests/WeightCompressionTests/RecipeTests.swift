import AccelByteIO
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

@Suite("recipes")
struct RecipeTests {
    private func parsed(_ text: String) throws -> JSON {
        try JSON.parse(ByteView([UInt8](text.utf8)), file: "recipe.json")
    }
    private func recipe(_ text: String) throws -> Recipe {
        try Recipe(JSONField(parsed(text), file: "recipe.json"))
    }

    private func tensor(_ name: String, _ shape: Shape = [4, 4]) -> StoredTensor {
        StoredTensor(name: name, floats: [Float](repeating: 1, count: shape.count), shape: shape)
    }

    @Test("the first rule that fits wins, else the default")
    func order() throws {
        let recipe = try recipe(
            """
            {"default": "float16", "rules": [
              {"match": "*.attention.*", "compress": "int8"},
              {"operator": "gather", "compress": "palette:bits=8"},
              {"match": "encoder.*", "atLeast": 100, "compress": "int4:block=64"},
              {"match": "encoder.*", "compress": "float32"}]}
            """)
        func choice(_ name: String, _ shape: Shape = [4, 4], readBy operators: [String] = ["linear"]) -> String {
            recipe.choice(for: tensor(name, shape), readBy: operators).codec.specification
        }
        #expect(choice("encoder.0.attention.query") == "int8")
        #expect(choice("embeddings.word", readBy: ["linear", "gather"]) == "palette:bits=8")
        #expect(choice("encoder.0.dense", [10, 10]) == "int4:block=64")
        #expect(choice("encoder.0.dense", [3, 33]) == "float32")
        #expect(choice("pooler.dense") == "float16")
    }

    @Test("what a codec objects to is stored as it is, with the reason")
    func rejectionReason() throws {
        let recipe = try recipe(#"{"default": "palette"}"#)
        let choice = recipe.choice(for: tensor("bias", [7]), readBy: ["add"])
        #expect(choice.codec.specification == "stored")
        #expect(choice.reason == "a vector has no output channels")
        #expect(recipe.choice(for: tensor("weight"), readBy: ["linear"]).reason == nil)
    }

    @Test(
        "a vector with axes of size 1 around it stays as vectors do",
        arguments: ["palette", "int8", "sparse+float16", "q8_0"])
    func unitAxes(scheme: String) throws {
        let recipe = try recipe(#"{"default": "\#(scheme)"}"#)
        for shape in [[32], [1, 32, 1], [1, 1, 32], [32, 1, 1], [1, 1, 1]] as [Shape] {
            let choice = recipe.choice(for: tensor("alpha", shape), readBy: ["snake"])
            #expect(choice.codec.specification == "stored", "\(shape)")
            #expect(choice.reason == "a vector has no output channels", "\(shape)")
            #expect(!shape.hasOutputChannels)
        }
        // A classifier of one label, and a depthwise convolution.
        for shape in [[1, 32], [32, 1, 32]] as [Shape] {
            #expect(recipe.choice(for: tensor("weight", shape), readBy: ["linear"]).reason == nil, "\(shape)")
            #expect(shape.hasOutputChannels)
        }
        // Casts have no scales.
        let cast = try self.recipe(#"{"default": "float16"}"#)
        #expect(cast.choice(for: tensor("alpha", [1, 32, 1]), readBy: ["snake"]).codec.specification == "float16")
    }

    @Test(
        "patterns",
        arguments: [
            ("*", "", true), ("*", "anything", true), ("a*c", "abbbc", true), ("a*c", "abcb", false),
            ("a?c", "abc", true), ("a?c", "ac", false), ("[ab]x", "bx", true), ("[!ab]x", "bx", false),
            ("[!ab]x", "cx", true), ("layer.[0-3].*", "layer.2.w", true), ("layer.[0-3].*", "layer.4.w", false),
            ("*.weight", "a.b.weight", true), ("*.weight", "a.b.weight_g", false), ("[]]", "]", true),
            ("*a*b*c*", "xxaxxbxxcxx", true), ("*a*b*c*", "xxaxxcxxbxx", false), ("[a-]", "-", true),
            ("abc", "abc", true), ("abc", "abcd", false), ("", "", true), ("", "a", false),
        ])
    func patterns(pattern: String, name: String, matches: Bool) throws {
        let glob = try #require(Glob(pattern))
        #expect(glob.matches(name) == matches)
    }

    @Test("a pattern of many stars does not take forever")
    func manyStars() throws {
        let glob = try #require(Glob(String(repeating: "a*", count: 60) + "b"))
        #expect(!glob.matches(String(repeating: "a", count: 5000)))
    }

    @Test(
        "what is wrong with a recipe is named with its field",
        arguments: [
            (#"{}"#, "default"), (#"{"default": 1}"#, "default"), (#"{"default": "int9"}"#, "default"),
            (#"{"default": "int8", "rule": []}"#, "rule"), (#"{"default": "int8", "rules": {}}"#, "rules"),
            (#"{"default": "int8", "rules": [{"match": "*"}]}"#, "rules[0].compress"),
            (#"{"default": "int8", "rules": [{"match": "[a", "compress": "int8"}]}"#, "rules[0].match"),
            (#"{"default": "int8", "rules": [{"compress": "palette:bits=5"}]}"#, "rules[0].compress"),
            (#"{"default": "int8", "rules": [{"atLeast": -1, "compress": "int8"}]}"#, "rules[0].atLeast"),
            (#"{"default": "int8", "rules": [{"atleast": 1, "compress": "int8"}]}"#, "rules[0]"),
        ])
    func rejections(text: String, field: String) {
        let error = #expect(throws: FormatError.self) { try recipe(text) }
        guard case .field(let place) = error?.location else {
            Issue.record("no field is named: \(String(describing: error))")
            return
        }
        #expect(place.hasPrefix(field))
    }

    @Test("a recipe that is written reads back the same, and follows the schema")
    func written() throws {
        let original = try recipe(
            """
            {"default": "palette:group=16", "rules": [{"match": "a*", "operator": "linear", "atLeast": 4, "compress": "int8"}]}
            """)
        let json = original.json
        let back = try Recipe(JSONField(json, file: "again.json"))
        #expect(back.json == json)
        #expect(json.text().contains("palette:bits=4,group=16,scale=none,entries=float32"))
        #expect(try JSONSchema(named: "recipe.schema.json").violations(of: json) == [])
    }

    @Test("the schema rejects what the reader rejects")
    func schema() throws {
        let schema = try JSONSchema(named: "recipe.schema.json")
        for (text, isGood) in [
            (#"{"default": "int8"}"#, true), (#"{"default": "int4:block=32,mode=asymmetric", "rules": []}"#, true),
            (#"{"default": "int8", "activations": "bfloat16"}"#, true),
            (#"{"default": "int8", "activations": "bfloat16:static"}"#, false),
            (#"{"rules": []}"#, false), (#"{"default": "int8", "rules": [{}]}"#, false),
            (#"{"default": "int8", "more": 1}"#, false), (#"{"default": "int8:"}"#, false),
            (#"{"default": "int8", "rules": [{"compress": "int8", "atLeast": -1}]}"#, false),
        ] {
            #expect(schema.violations(of: try parsed(text)).isEmpty == isGood, "\(text)")
            #expect(((try? recipe(text)) != nil) == isGood, "\(text)")
        }
    }

    @Test(
        "specifications that make no sense are rejected, with what there is",
        arguments: [
            ("palete", "did you mean \"palette\"?"), ("q3_0", "unknown scheme \"q3_0\""),
            ("int8:axes=channel", "did you mean \"axis\"?"),
            ("palette:bits=5", "1, 2, 3, 4, 6, 8"), ("palette:group=0", "a positive integer"),
            ("palette:group=-1", "a positive integer"), ("palette:group=+4", "unknown scheme \"4\""),
            ("palette:group=04", "a positive integer"),
            ("int4:block=48", "16, 32, 64, 128, channel"), ("int8:axis", "option=value"), ("int8:=4", "option=value"),
            ("int8:,", "option=value"), ("int8:", "option=value"),
            ("int8:axis=tensor,axis=channel", "twice"), ("float16:x=1", "takes none"), ("", "unknown scheme"),
            ("int4:mode=asymmetric,range=7", "remove range"),
        ])
    func specifications(text: String, part: String) {
        let error = #expect(throws: RequestError.self) { try Codecs.codec(text) }
        #expect(error?.description.contains(part) == true, "\(String(describing: error))")
        #expect(error?.exitStatus == .usage)
    }
}
