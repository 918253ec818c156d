import AccelByteIO
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// CTranslate2 models that accelc writes. scripts/peers/ctranslate2.py compares them with CTranslate2 itself.
@Suite("CTranslate2 models")
struct CTranslate2Tests: CTranslate2Samples {
    private typealias Model = CTranslate2SampleModel

    @Test("The report's bits per weight are those of the file's variables", arguments: ["int8", "float16", "own"])
    func bits(type: String) throws {
        try withTemporaryFolder { folder in
            let report = try withModel("llama_llama3") { try export($0, type, to: "\(folder)/a") }
            let weights = try ModelFormats.open("\(folder)/a").weights
            let bits = weights.reduce(0) { $0 + $1.storedBits }
            #expect(report.bitsPerWeight == Double(bits) / Double(weights.reduce(0) { $0 + $1.shape.count }))
        }
    }

    private static let digests: [(name: String, digests: JSON)] = {
        guard case .object(let members)? = try? JSON.read(Fixtures.path("ctranslate2/digests.json")) else { return [] }
        return members.map { ($0.key, $0.value) }
    }()

    @Test(
        "Every model has in every type the bytes that CTranslate2's converter writes",
        arguments: Set(digests.compactMap { $0.name.split(separator: " ").first.map(String.init) }).sorted())
    func bytes(fixture: String) throws {
        let rows = Self.digests.filter { $0.name.hasPrefix("\(fixture) ") }
        #expect(rows.count == CTranslate2Type.all.count)
        try withModel(fixture) { model in
            for (name, digests) in rows {
                let path = "\(model)-\(name)"
                _ = try export(model, String(name.split(separator: " ")[1]), to: path)
                guard case .object(let files) = digests, files.count == 3 else {
                    Issue.record("\(name)")
                    continue
                }
                for file in files {
                    let content = try MappedFile("\(path)/\(file.key)").bytes
                    #expect(.string(SHA256.digest(of: content).description) == file.value, "\(name): \(file.key)")
                }
            }
        }
    }

    @Test("A Whisper without generation_config.json has the languages that its tokens are called by")
    func languages() throws {
        try withModel("speech/whisper") { model in
            let settings = "\(model)/generation_config.json"
            let listed = JSONField(try JSON.read(settings), file: settings)["lang_to_id"]
            let expected = try listed.members().map { Int64(try $0.field.int()) }.sorted()
            try FileManager.default.removeItem(atPath: settings)
            _ = try export(model, "float32", to: "\(model)-out")
            let written = "\(model)-out/config.json"
            let found = try JSONField(try JSON.read(written), file: written)["lang_ids"].array()
            #expect(try found.map { Int64(try $0.int()) } == expected && expected.count == 3)
        }
    }

    private func file(_ path: String) throws -> CTranslate2File {
        try CTranslate2File(parsing: MappedFile("\(path)/model.bin").bytes, file: path)
    }

    @Test("A model of CTranslate2's converter is read: names, second names, and codes near the model's weights")
    func reading() throws {
        let path = Fixtures.path("ctranslate2/whisper_int8")
        let read = try file(path)
        #expect(read.specification == ("WhisperSpec", 3))
        #expect(read.aliases.contains { $0 == ("decoder/projection/weight", "decoder/embeddings/weight") })
        let source = try ModelFormats.open(path)
        let words = try #require(try source.weights.first { $0.name == "model.decoder.embed_tokens.weight" })
        #expect(words.scheme.hasPrefix("int8") && words.storedBits == 8 * (47 * 18 + 47 * 4))
        let original = try #require(
            try SafetensorsFile(Fixtures.path("whisper_small/model.safetensors"))["model.decoder.embed_tokens.weight"])
        let (found, wanted) = (try words.values().floats(), original.floats())
        #expect(found.count == wanted.count)
        for row in 0..<47 {
            let part = row * 18..<(row + 1) * 18
            let step = (wanted[part].map(abs).max() ?? 0) / 127
            for index in part { #expect(abs(found[index] - wanted[index]) <= 0.501 * step) }
        }
        let model = try source.model()
        #expect(model.family == "whisper" && model.programs.map(\.name) == ["encoder", "cross_kv", "decoder"])
    }

    @Test("Better scales are those of the original floats: the codes of int8_float32 beside float16")
    func betterScales() throws {
        try withModel("llama_llama3") { model in
            for (type, exact) in [("int8_float16", false), ("int8_float16", true), ("int8_float32", false)] {
                _ = try export(model, type, isExact: exact, to: "\(model)-\(type)-\(exact)")
            }
            func codes(_ name: String) throws -> [String: ByteView] {
                let variables = try file("\(model)-\(name)").variables
                let coded = variables.filter { $0.elementType == .int8 && $0.shape.rank > 0 }.map(\.name)
                return Dictionary(
                    uniqueKeysWithValues: variables.filter { variable in
                        coded.contains { variable.name == $0 || variable.name == "\($0)_scale" }
                    }.map { ($0.name, $0.bytes) })
            }
            let (rounded, exact) = (try codes("int8_float16-false"), try codes("int8_float16-true"))
            #expect(try exact == codes("int8_float32-false") && exact.count > 10)
            #expect(rounded != exact)
            let norm = try file("\(model)-int8_float16-true").variables.first { $0.name.hasSuffix("gamma") }
            #expect(norm?.elementType == .float16)
        }
    }

    @Test("Equal tensors are stored once, whatever the type, and zeros of either sign are equal")
    func aliases() throws {
        func variable(_ name: String, _ floats: [Float]) -> CTranslate2Variable {
            let tensor = StoredTensor(name: name, floats: floats, shape: [floats.count])
            return CTranslate2Variable(name, [floats.count], [.init(tensor: tensor, elements: 0..<floats.count)])
        }
        let variables = [
            variable("a", [0, 1]), variable("b", [-0.0, 1]), variable("c", [0, 1 + 0x1p-20]), variable("d", [1, 0]),
            variable("e/rotary_scaling_long_factor", [0, 1]),
        ]
        for (type, wanted) in [("float32", ["b": "a"]), ("float16", ["b": "a", "c": "a"])] {
            let values = CTranslate2Values(.named(type), elementType: .float32, isExact: false)
            #expect(try CTranslate2Aliases(of: variables, as: values).targets == wanted)
        }
    }

    @Test("Odd rows: zeros, the smallest numbers, ties, and numbers beyond a type")
    func rows() throws {
        func sections(_ floats: [Float], _ type: String, columns: Int) throws -> [CTranslate2Values.Section] {
            let shape: Shape = [floats.count / columns, columns]
            let tensor = StoredTensor(name: "t", floats: floats, shape: shape)
            let values = CTranslate2Values(.named(type), elementType: .float32, isExact: false)
            return try values.sections(
                of: CTranslate2Variable("x/weight", shape, [.init(tensor: tensor, elements: 0..<floats.count)]))
        }
        func codes(_ section: CTranslate2Values.Section) -> [Float] {
            StoredTensor(
                name: "", elementType: section.elementType, shape: section.shape, bytes: section.pieces[0]
            ).floats()
        }
        let parts = try sections(
            [0, 0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 127, 0.5, 2, -63.5], "int8", columns: 2)
        #expect(parts.map(\.name) == ["x/weight", "x/weight_scale"])
        #expect(codes(parts[0]) == [0, 0, 0, 0, 127, 0, 4, -127])
        #expect(codes(parts[1]).prefix(3) == [1, Float.greatestFiniteMagnitude, 1])
        let words = try sections([-512, 0.25, 0.75, 512], "int16", columns: 2)
        #expect(codes(words[0]) == [-1024, 0, 2, 1024] && codes(words[1]) == [2] && words[1].shape.rank == 0)
        #expect(try codes(sections([0, 0], "int16", columns: 2)[0]) == [0, 0])
        for (type, number) in [("int8", Float.nan), ("int16", .infinity), ("float16", 70000), ("int8_float16", -70000)]
        {
            #expect(throws: FormatError.self, "\(type)") { _ = try sections([1, number], type, columns: 2) }
        }
    }

    /// A fixture, a scheme, a file that is changed before, with the old and the new text, and what the rejection says.
    private static let rejections: [(fixture: String, scheme: String, change: [String], words: [String])] = [
        ("llama_llama3", "palette:bits=4", [], ["palette", "quantization=int8"]),
        ("llama_llama3", "int8", [], ["cannot express int8", "quantization=int8"]),
        ("llama_llama3", "sparse:target=0.5+float16", [], ["sparse", "quantization=float16"]),
        ("gpt2_small", "stored", [], ["\"gpt2\"", "whisper, bert"]),
        ("bert_base", "stored", [], ["no tokenizer.json, vocab.json or vocab.txt"]),
        ("llama_yarn", "stored", [], ["\"yarn\"", "default, linear, llama3"]),
        ("phi3_partial", "stored", [], ["an even number", "3 of 6"]),
        (
            "phi3_long", "stored",
            ["config.json", "\"max_position_embeddings\": 64", "\"max_position_embeddings\": 60"],
            ["whole numbers only", "7.5", "60 of 8 positions"]
        ),
        ("whisper_small", "stored", ["config.json", "\"gelu\"", "\"relu\""], ["no activation but gelu"]),
        ("llama_llama3", "stored", ["config.json", "\"silu\"", "\"tanh\""], ["no activation \"tanh\"", "swish"]),
    ]

    @Test("What CTranslate2 cannot express is rejected before anything is done", arguments: rejections.indices)
    func rejected(index: Int) throws {
        let (fixture, scheme, change, words) = Self.rejections[index]
        try withModel(fixture) { path in
            if change.count == 3 {
                let text = try String(contentsOfFile: "\(path)/\(change[0])", encoding: .utf8)
                #expect(text.contains(change[1]))
                try text.replacingOccurrences(of: change[1], with: change[2])
                    .write(toFile: "\(path)/\(change[0])", atomically: true, encoding: .utf8)
            }
            do {
                let model = try Model(path, Recipe(default: try Codecs.codec(scheme)))
                _ = try CTranslate2Exporter(.stored).check(model.planned)
                Issue.record("\(fixture) \(scheme) is accepted")
            } catch let error as any ReportedError {
                let said = ([error.description] + error.diagnostic.candidates).joined(separator: " ")
                for word in words { #expect(said.contains(word), "\(said)") }
            }
        }
    }

    /// Changes of phi3_long's configuration, and the numbers of positions from which CTranslate2 computes a factor of cosine and sine; nil
    /// for none. `scripts/peers/rotary.py` compares the same cases with transformers.
    private static let positions: [(changes: [(String, String)], original: Int32?, longest: Int32?)] = [
        ([], 8, 64),
        ([("\"rms_norm_eps\"", "\"rope_scaling\": {\"rope_type\": \"default\"}, \"rms_norm_eps\"")], nil, nil),
        (
            [
                ("\"rms_norm_eps\"", "\"rope_scaling\": {\"rope_type\": \"default\"}, \"rms_norm_eps\""),
                (
                    "\"original_max_position_embeddings\": 8,\n  \"pad",
                    "\"original_max_position_embeddings\": 64,\n  \"pad"
                ),
            ], 64, 64
        ),
        ([("\"rope_type\": \"longrope\"", "\"rope_type\": \"longrope\", \"factor\": 4.0")], 8, 32),
        ([("\"rope_type\": \"longrope\"", "\"rope_type\": \"longrope\", \"factor\": 0.5")], 8, 8),
    ]

    @Test("Phi 3 has the numbers of positions of its own factor of cosine and sine", arguments: positions.indices)
    func phiPositions(index: Int) throws {
        let (changes, original, longest) = Self.positions[index]
        try withModel("phi3_long") { path in
            var text = try String(contentsOfFile: "\(path)/config.json", encoding: .utf8)
            for (old, new) in changes {
                #expect(text.contains(old))
                text = text.replacingOccurrences(of: old, with: new)
            }
            try text.write(toFile: "\(path)/config.json", atomically: true, encoding: .utf8)
            _ = try export(path, "float32", to: "\(path)-out")
            let variables = try file("\(path)-out").variables
            func number(_ name: String) -> Int32? {
                variables.first { $0.name == "decoder/layer_0/self_attention/\(name)" }.map { variable in
                    var bytes: [UInt8] = []
                    variable.bytes.withBytes { bytes.append(contentsOf: $0) }
                    return bytes.reversed().reduce(0) { $0 << 8 | Int32($1) }
                }
            }
            #expect(number("original_max_position_embeddings") == original)
            #expect(number("max_position_embeddings") == longest)
        }
    }

    @Test("One type of floats makes the type of the model, and two are rejected")
    func mixed() throws {
        try withModel("llama_llama3") { path in
            let half = Recipe(default: try Codecs.codec("float16"))
            let names = try CTranslate2Exporter(.stored).check(try Model(path, half).planned)
            #expect(Set(names.values) == ["float16"])
            let both = Recipe(
                default: try Codecs.codec("float16"),
                rules: [try Recipe.Rule(weight: "model.norm.weight", codec: Codecs.codec("bfloat16"))])
            let error = try #require(
                throws: RequestError.self
            ) { try CTranslate2Exporter(.stored).check(try Model(path, both).planned) }
            #expect(error.description.contains("bfloat16 and float16"))
        }
    }

    @Test("Tokens are read from each kind of tokenizer file, and rows without one are named")
    func tokens() throws {
        func tokenizer(_ files: [String: String]) throws -> CTranslate2Tokenizer {
            try CTranslate2Tokenizer(files.map { Asset(name: $0.key, content: ByteView(Array($0.value.utf8))) })
        }
        func name(_ missing: Int) -> String { "<\(missing)>" }
        let added = #""added_tokens": [{"id": 3, "content": "d"}]"#
        let pieces = try tokenizer(["tokenizer.json": #"{"model": {"vocab": [["a", 0.0], ["b", -1.5]]}, \#(added)}"#])
        #expect(try pieces.vocabulary(5, name) == ["a", "b", "<0>", "d", "<1>"])
        #expect(try pieces.vocabulary(1, name) == ["a"])
        let words = try tokenizer(["vocab.json": #"{"b": 1, "a": 0}"#, "added_tokens.json": #"{"c": 2}"#])
        #expect(try words.vocabulary(3, name) == ["a", "b", "c"])
        let lines = try tokenizer(["vocab.txt": "a\r\nb\n", "tokenizer_config.json": #"{"pad_token": null}"#])
        #expect(try lines.vocabulary(2, name) == ["a", "b"])
        #expect(lines.special("pad_token", family: "gemma") == .null)
        #expect(lines.special("bos_token", family: "gemma") == "<bos>")
        #expect(try tokenizer(["vocab.txt": "a"]).special("unk_token", family: "bert") == "[UNK]")
        let languages = try tokenizer([
            "tokenizer.json": #"{"model": {"vocab": {"<|en|>": 1, "<|translate|>": 0, "<|de|>": 2}}}"#,
            "special_tokens_map.json":
                #"{"additional_special_tokens": ["<|translate|>", "<|de|>", {"content": "<|en|>"}]}"#,
        ])
        #expect(languages.ids(of: languages.additional, except: ["<|translate|>"]) == [2, 1])
        for text in [#"{"model": {"vocab": {"a": -1}}}"#, #"{"model": {"vocab": {"a": 99999999999}}}"#, "{", "[[]]"] {
            #expect(throws: FormatError.self, "\(text)") {
                _ = try tokenizer(["tokenizer.json": text]).vocabulary(1, name)
            }
        }
    }

    @Test("JSON is written as Python writes it")
    func python() {
        let value: JSON = [
            "b": [1, [], "a\"\\\n\u{8}\u{7F}é😀"], "a": ["x": 1e-12, "n": .null, "t": true, "f": 0.0001, "o": [:]],
        ]
        let wanted = #"""
            {
              "a": {
                "f": 0.0001,
                "n": null,
                "o": {},
                "t": true,
                "x": 1e-12
              },
              "b": [
                1,
                [],
                "a\"\\\n\bDEL\u00e9\ud83d\ude00"
              ]
            }
            """#.replacingOccurrences(of: "DEL", with: "\u{7F}")
        #expect(value.pythonText() == wanted)
    }

    /// Bytes of the fixture's model file, and what the error says: of the version, the specification's name with its length and
    /// its zero, the number of variables, and the length of the first name.
    private static let corruptions: [(offset: Int, bytes: [UInt8], words: String)] = [
        (0, [7], "expected version 6"), (4, [0, 0], "a name has no bytes"), (17, [1], "does not end with a zero"),
        (22, [255, 255, 255, 255], "there are 4294967295 variables"), (26, [0, 0], "a name has no bytes"),
    ]

    /// A variable of float32: its name, sizes, and how many bytes it has.
    private typealias Variable = (name: String, sizes: [UInt32], bytes: Int)

    /// A model file of variables and second names.
    private static func content(_ variables: [Variable], _ aliases: [(alias: String, target: String)]) -> ByteView {
        var writer = ByteWriter()
        func append(_ text: String) {
            writer.append(UInt16(text.utf8.count + 1))
            writer.append(Array(text.utf8) + [0])
        }
        writer.append(UInt32(6))
        append("WhisperSpec")
        writer.append(UInt32(3))
        writer.append(UInt32(variables.count))
        for (name, sizes, bytes) in variables {
            append(name)
            writer.append(UInt8(sizes.count))
            sizes.forEach { writer.append($0) }
            writer.append(UInt8(0))
            writer.append(UInt32(bytes))
            writer.append([UInt8](repeating: 1, count: bytes))
        }
        writer.append(UInt32(aliases.count))
        for (alias, target) in aliases {
            append(alias)
            append(target)
        }
        return writer.view
    }

    private static let (matrix, number): (Variable, Variable) = (("a", [2, 3], 24), ("b", [], 4))

    /// Files whose sizes or names contradict each other, and what the error says.
    private static let contradictions:
        [(variables: [Variable], aliases: [(alias: String, target: String)], words: String)] =
            [
                ([("a", [2, 3], 20)], [], "has 20 bytes"), ([("a", [2, 3], 28)], [], "has 28 bytes"),
                ([("a", [], 0)], [], "has 0 bytes"), ([matrix, matrix], [], "the name \"a\" occurs twice"),
                ([matrix, number], [("c", "a"), ("c", "b")], "the name \"c\" occurs twice"),
                ([matrix, number], [("b", "a")], "the name \"b\" occurs twice"),
                ([matrix], [("a", "a")], "the name \"a\" occurs twice"), ([matrix], [("c", "b")], "is no variable"),
            ]

    @Test(
        "Variables have the bytes of their shape, and each name is of one variable", arguments: contradictions.indices)
    func contradiction(index: Int) throws {
        let whole = Self.content([Self.matrix, Self.number], [("c", "a"), ("d", "a")])
        let file = try CTranslate2File(parsing: whole, file: "f")
        #expect(file.variables.map(\.shape) == [[2, 3], []] && file.aliases.map(\.alias) == ["c", "d"])
        let (variables, aliases, words) = Self.contradictions[index]
        let error = try #require(throws: FormatError.self) {
            try CTranslate2File(parsing: Self.content(variables, aliases), file: "f")
        }
        #expect(error.reason.contains(words), "\(error)")
    }

    @Test("A corrupt model file is rejected with its offset", arguments: corruptions.indices)
    func corrupt(index: Int) throws {
        let (offset, bytes, words) = Self.corruptions[index]
        var content = [UInt8](try Data(contentsOf: URL(filePath: Fixtures.path("ctranslate2/whisper_int8/model.bin"))))
        _ = try CTranslate2File(parsing: ByteView(content), file: "f")
        content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        do {
            _ = try CTranslate2File(parsing: ByteView(content), file: "f")
            Issue.record("\(words)")
        } catch let error as FormatError {
            if case .offset? = error.location {} else { Issue.record("\(error)") }
            #expect(error.description.contains(words), "\(error)")
        }
    }
}
