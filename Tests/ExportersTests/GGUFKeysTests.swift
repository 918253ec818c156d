import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelFormats

/// Keys and tensors of GGUF files. scripts/fixtures_gguf_keys.py makes the files with what libllama computes of them, and
/// scripts/peers/gguf_keys.py compares many more with libllama itself.
@Suite("Keys of GGUF files")
struct GGUFKeysTests {
    /// What differs from the file of an architecture, and what a reader has to do with it.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let architecture: String
        let outcome: String
        let tokens: Int
        /// libllama computes other numbers than for the unchanged file.
        let changes: Bool
        let layers: Int?
        let keys: [(key: String, value: GGUFValue?)]
        let tensors: [(name: String, tensor: GGUFTensor?)]
        var testDescription: String { name }

        init(_ field: JSONField) throws {
            (name, architecture) = (try field["name"].string(), try field["architecture"].string())
            (outcome, tokens) = (try field["outcome"].string(), try field["tokens"].int())
            changes = try field["changes"].bool()
            layers = field["layers"].exists ? try field["layers"].int() : nil
            keys = try field["keys"].members().map { ($0, try Self.value($1)) }
            tensors = try field["tensors"].members().map { name, field in
                guard field.exists else { return (name, nil) }
                let floats = try field["numbers"].array().map { Float(try $0.double()) }
                let shape = Shape(try field["shape"].array().map { try $0.int() })
                return (name, GGUFTensor(name: name, type: .plain(.float32)!, shape: shape, bytes: ByteView(floats)))
            }
        }

        private static func value(_ field: JSONField) throws -> GGUFValue? {
            guard field.exists else { return nil }
            let parts = try field.array()
            switch try parts[0].string() {
            case "u32": return .uint32(UInt32(try parts[1].int()))
            case "f32": return .float32(Float(try parts[1].double()))
            case "bool": return .bool(try parts[1].bool())
            case "str": return .string(try parts[1].string())
            case "u32s": return .array(.uint32, try parts[1].array().map { .uint32(UInt32(try $0.int())) })
            case "bools": return .array(.bool, try parts[1].array().map { .bool(try $0.bool()) })
            default: return .strings(try parts[1].array().map { try $0.string() })
            }
        }

        /// The names by which an error may name what is wrong; a bias that a family lacks is named as in checkpoints.
        var names: [String] { keys.map(\.key) + tensors.map(\.name) + ["o_proj.bias"] }
    }

    private static let document = try! JSONField(JSON.read(Fixtures.path("gguf_keys/cases.json")), file: "cases.json")
    static let cases = try! document["cases"].array().map { try Case($0) }
    static let architectures = try! document["covered"].members().map(\.key)
    private static let golden = Dictionary(
        uniqueKeysWithValues: try! SafetensorsFile(Fixtures.path("gguf_keys/golden.safetensors")).tensors.map {
            ($0.name, $0.floats())
        })
    private static let tokens = try! document["tokens"].array().map { Int64(try $0.int()) }

    private func base(_ architecture: String) throws -> GGUFFile {
        try GGUFFile(Fixtures.path("gguf_keys/\(architecture).gguf"))
    }

    /// Opens the file of an architecture with changes.
    private func opened<Result>(
        _ architecture: String, keys: [(key: String, value: GGUFValue?)] = [],
        tensors: [(name: String, tensor: GGUFTensor?)] = [], layers: Int? = nil,
        _ body: (any ModelSource) throws -> Result
    ) throws -> Result {
        let file = try base(architecture)
        var pairs = file.metadata.filter { pair in !keys.contains { $0.key == pair.key } }
        pairs += keys.compactMap { key, value in value.map { (key, $0) } }
        var list = file.tensors
        if let layers {
            let count = try #require(
                file["\(architecture).block_count"].flatMap { try? JSONField($0.json, file: "").int() })
            list = list.flatMap { tensor -> [GGUFTensor] in
                let words = tensor.name.split(separator: ".", maxSplits: 2)
                guard words[0] == "blk", let layer = Int(words[1]) else { return [tensor] }
                return stride(from: layer, to: layers, by: count).map {
                    GGUFTensor(
                        name: "blk.\($0).\(words[2])", type: tensor.type, shape: tensor.shape, bytes: tensor.bytes)
                }
            }
        }
        list = list.filter { old in !tensors.contains { $0.name == old.name } } + tensors.compactMap(\.tensor)
        return try withTemporaryFolder { folder in
            let path = "\(folder)/model.gguf"
            try GGUFWriter.write(pairs, list, to: path)
            return try body(try ModelFormats.open(path))
        }
    }

    private func results(_ source: any ModelSource, tokens count: Int) throws -> [String: [Float]] {
        let program = try #require(try source.model().programs.first)
        let tokens = HostTensor(Array(Self.tokens.prefix(count)), [1, count])
        var states: [String: HostTensor] = [:]
        let isEncoder = program.name == "model"
        let shapes = isEncoder ? ["batch": 1, "sequence": count] : ["batch": 1, "tokens": count, "cache": count]
        let inputs =
            isEncoder
            ? [
                "input_ids": tokens, "attention_mask": HostTensor([Int64](repeating: 1, count: count), [1, count]),
                "token_type_ids": HostTensor([Int64](repeating: 0, count: count), [1, count]),
            ] : ["input_ids": tokens, "position": HostTensor([0] as [Int64], [1])]
        let outputs = try program.freezing(ShapeBindings(shapes)).evaluate(inputs, states: &states)
        return Dictionary(uniqueKeysWithValues: outputs.map { ($0.name, $0.tensor.floats) })
    }

    /// The largest difference, relative to the largest number.
    private func distance(_ left: [Float], _ right: [Float]) -> Float {
        guard left.count == right.count else { return .infinity }
        let largest = right.map(abs).max() ?? 1
        return zip(left, right).map { $0 == $1 ? 0 : abs($0 - $1) / largest }.max() ?? .infinity
    }

    /// As of scripts/peers/gguf_keys.py: exact, with ggml's table of gelu, and for models of many layers.
    private func limit(_ architecture: String, layers: Int?) -> Float {
        layers != nil ? 5e-2 : ["gemma", "gemma3", "gpt2", "bert"].contains(architecture) ? 2e-3 : 2e-5
    }

    private func rows(of results: [String: [Float]]) -> [Float] {
        results["logits"] ?? results["last_hidden_state"] ?? []
    }

    @Test(
        "frequencies of Llama 3.1 are divided for waves longer than the context, and little for those between the limits"
    )
    func llama3() throws {
        let scaling: JSON = [
            "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 50.0, "original_max_position_embeddings": 1000,
        ]
        let field = JSONField(["rope_scaling": scaling], file: "config.json")
        let found = try GGUFRotary.llama3(field["rope_scaling"], field, theta: 10_000, width: 8)
        // Waves of 6.3, 63, 628 and 6283 positions; the limits are 1000 / 50 and 1000 / 4.
        let share = (1000 / (20 * Double.pi) - 4) / 46
        let between = 1 / ((1 - share) / 8 + share)
        #expect(found.count == 4 && found[0] == 1 && found[2] == 8 && found[3] == 8)
        #expect(abs(Double(found[1]) - between) < 1e-6 && between > 2 && between < 4)
    }

    @Test("A file as it is gives the numbers of libllama", arguments: architectures)
    func unchanged(architecture: String) throws {
        let found = try opened(architecture) { try rows(of: results($0, tokens: Self.tokens.count)) }
        let expected = try #require(Self.golden["\(architecture): as it is.rows"])
        #expect(distance(found, expected) < limit(architecture, layers: nil))
    }

    @Test(
        "Keys and tensors that are read give the numbers of libllama",
        arguments: cases.filter { $0.outcome != "rejected" })
    func read(item: Case) throws {
        let found = try opened(item.architecture, keys: item.keys, tensors: item.tensors, layers: item.layers) {
            try results($0, tokens: item.tokens)
        }
        let expected = try #require(Self.golden["\(item.name).rows"])
        let plain = try #require(Self.golden["\(item.architecture): as it is.rows"])
        #expect(distance(rows(of: found), expected) < limit(item.architecture, layers: item.layers))
        // The case can fail: what the key changes is beyond the limit, or the key is neutral.
        if item.changes { #expect(distance(plain, expected) > 1e-2) }
        if item.outcome == "neutral" { #expect(plain == expected) }
        guard let pooled = Self.golden["\(item.name).pooled"] else { return }
        let length = pooled.reduce(0) { $0 + $1 * $1 }.squareRoot()
        let isPlain = item.keys.contains { $0.key == GGUFPooling.normalisationKey }
        let embedding = try #require(found["sentence_embedding"])
        #expect(distance(embedding, isPlain ? pooled : pooled.map { $0 / length }) < 2e-3)
    }

    @Test("Kinds of pooling give different embeddings")
    func poolings() throws {
        let vectors = ["mean", "first token", "last token"].compactMap { Self.golden["bert: \($0).pooled"] }
        #expect(vectors.count == 3)
        for (left, right) in [(0, 1), (0, 2), (1, 2)] { #expect(distance(vectors[left], vectors[right]) > 1e-2) }
    }

    @Test("Other keys and tensors are rejected by name", arguments: cases.filter { $0.outcome == "rejected" })
    func rejected(item: Case) throws {
        try requireRejection(item.architecture, keys: item.keys, tensors: item.tensors, names: item.names)
    }

    private func requireRejection(
        _ architecture: String, keys: [(key: String, value: GGUFValue?)] = [],
        tensors: [(name: String, tensor: GGUFTensor?)] = [], names: [String]
    ) throws {
        do {
            try opened(architecture, keys: keys, tensors: tensors) { _ = try $0.model() }
            Issue.record("\(architecture): the file is read with \(names)")
        } catch let error as any ReportedError {
            #expect(error.exitStatus == .unavailable || error is FormatError, "\(error)")
            #expect(names.contains { "\(error)".contains($0) }, "\(error)")
        }
    }

    @Test("An unknown key and an unknown tensor are rejected with their names", arguments: architectures)
    func unknown(architecture: String) throws {
        try requireRejection(
            architecture, keys: [("\(architecture).zzz", .float32(1.5))],
            names: ["model.gguf, field \(architecture).zzz: 1.5 is"])
        let tensor = GGUFTensor(
            name: "zzz.weight", type: .plain(.float32)!, shape: [2], bytes: ByteView([1, 2] as [Float]))
        try requireRejection(
            architecture, tensors: [("zzz.weight", tensor)], names: ["model.gguf, tensor \"zzz.weight\""])
        // The same key of a tool that llama.cpp does not know is none of the model.
        try opened(architecture, keys: [("zzz.zzz", .float32(1.5))]) { _ = try $0.model() }
    }

    @Test("Each key that is read or listed is compared with libllama", arguments: architectures)
    func covered(architecture: String) throws {
        let file = try base(architecture)
        let tensors = Dictionary(uniqueKeysWithValues: file.tensors.map { ($0.name, $0) })
        let read = try GGUFConfiguration(of: file, tensors).metadata.keysRead
        let listed = GGUFKeys.inert(in: architecture).flatMap(\.names).filter { !$0.hasSuffix("*") }
        let known = read.union(listed).union(GGUFKeys.constants(of: architecture).map(\.key))
        let compared = Set(try Self.document["covered"][architecture].array().map { try $0.string() })
        #expect(known.count > 10)
        #expect(known.subtracting(compared).sorted() == [])
        // The law can fail: a key that no case has is missed.
        #expect(known.union(["\(architecture).zzz.zzz"]).subtracting(compared) == ["\(architecture).zzz.zzz"])
    }

    @Test("The share of a head that is rotated gives the number of its elements back")
    func shares() {
        // The plain quotient does not, as families multiply and round it down.
        #expect(Int(52 * (30.0 / 52)) == 29)
        for head in stride(from: 2, through: 256, by: 2) {
            for width in stride(from: 2, through: head, by: 2) {
                #expect(Int(Double(head) * GGUFRotaryKeys.share(width, of: head)) == width, "\(width) of \(head)")
            }
        }
    }

    @Test("A key of a further file has to be one of the first, with its value")
    func furtherFiles() throws {
        let file = try base("llama")
        for (value, isRead) in [(100 as Float, true), (101, false)] {
            try withTemporaryFolder { folder in
                for (index, tensors) in [file.tensors[..<4], file.tensors[4...]].enumerated() {
                    var pairs = index == 0 ? file.metadata : [("llama.rope.freq_base", .float32(value))]
                    pairs += [("split.no", .uint16(UInt16(index))), ("split.count", .uint16(2))]
                    pairs.append(("split.tensors.count", .int32(Int32(file.tensors.count))))
                    try GGUFWriter.write(
                        pairs, Array(tensors), to: "\(folder)/\(GGUFFolder.name(ofShard: index + 1, of: 2))")
                }
                do {
                    _ = try ModelFormats.open(folder)
                    #expect(isRead)
                } catch let error as RequestError {
                    #expect(!isRead && error.description.contains("field llama.rope.freq_base: 101"), "\(error)")
                }
            }
        }
    }

    @Test(
        "The modules of a sentence encoder state its pooling, as an export reads it",
        arguments: ["mean", "cls", "lasttoken"], [true, false])
    func pooling(mode: String, normalises: Bool) throws {
        let kind = try #require(["mean": GGUFPooling.mean, "cls": .cls, "lasttoken": .last][mode])
        let assets = kind.documents(width: 16, normalises: normalises).map {
            Asset(name: $0.key, content: ByteView(Array($0.value.text().utf8)))
        }
        #expect(try GGUFPooling(of: assets) == kind)
        #expect(try GGUFPooling.normalises(assets) == normalises)
    }
}
