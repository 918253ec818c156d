import AccelByteIO
import Foundation
import Testing

@testable import AccelHub

@Suite("A reference to the Hub")
struct HubReferenceTests {
    @Test(
        "has an owner and a name, and may have a revision and a file",
        arguments: [
            ("hf:a/b", "a/b", "main", nil),
            ("hf:HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct", "main", nil),
            ("hf:a/b@v1.0", "a/b", "v1.0", nil),
            ("hf:a_1/b.c-d@refs/pr/3:model.safetensors", "a_1/b.c-d", "refs/pr/3", "model.safetensors"),
            ("hf:a/b:Q4_K_M", "a/b", "main", "Q4_K_M"),
            ("hf:a/b:BF16/x (1)@2-00001-of-00002.gguf", "a/b", "main", "BF16/x (1)@2-00001-of-00002.gguf"),
        ] as [(String, String, String, String?)])
    func valid(text: String, repository: String, revision: String, file: String?) throws {
        let reference = try HubReference(parsing: text)
        #expect(reference.repository == repository)
        #expect(reference.revision == revision)
        #expect(reference.file == file)
        #expect(reference.description == text)
        #expect(!reference.isCommit)
    }

    @Test("is nothing else")
    func invalid() throws {
        let bad = [
            "", "hf:", "a/b", "HF:a/b", "hf:a", "hf:a/b/c", "hf:/b", "hf:a/", "hf://a/b", "hf:../b", "hf:a/..",
            "hf:.a/b",
            "hf:a/b.", "hf:-a/b", "hf:a--b/c", "hf:a/b..c", "hf:a/b.git", "hf:a b/c", "hf:ä/b", "hf:a/b\n", "hf:a\\b/c",
            "hf:a/\(String(repeating: "x", count: 97))", "hf:a/b@", "hf:a/b@..", "hf:a/b@x/../y", "hf:a/b@/x",
            "hf:a/b@x/",
            "hf:a/b@x//y", "hf:a/b@x y", "hf:a/b@x?y", "hf:a/b@.x", "hf:a/b@x@y", "hf:a/b:", "hf:a/b:/x", "hf:a/b:../x",
            "hf:a/b:x/../../y", "hf:a/b:.x", "hf:a/b:x:y", "hf:a/b:x\\y", "hf:a/b:x\u{0}", "hf:a/b:x\n",
            "hf:a/b:\(String(repeating: "x", count: 256))",
        ]
        for text in bad {
            let error = #expect(throws: HubError.self, "\(text)") { try HubReference(parsing: text) }
            #expect(error?.code == .invalidReference)
            #expect(error?.subject == text)
            #expect(error?.exitStatus == .usage)
        }
        let commit = try HubReference(parsing: "hf:a/b@\(String(repeating: "0a", count: 20))")
        #expect(commit.isCommit)
        #expect(HubName.escaped("a b/ü%+.gguf") == "a%20b/%C3%BC%25%2B.gguf")
        #expect(HubName.escaped("refs/pr/3", keepsSlashes: false) == "refs%2Fpr%2F3")
    }
}

@Suite("The Hub's environment")
struct HubEnvironmentTests {
    @Test(
        "names the folder of the cache",
        arguments: [
            (["HOME": "/home/me"], "/home/me/.cache/huggingface/hub"),
            (["HOME": "/home/me", "XDG_CACHE_HOME": "/caches"], "/caches/huggingface/hub"),
            (["HOME": "/home/me", "HF_HOME": "~/hf"], "/home/me/hf/hub"),
            (["HF_HOME": "/data/hf/"], "/data/hf/hub"),
            (["HF_HOME": "/data/hf", "HF_HUB_CACHE": "/models"], "/models"),
            (["HOME": "/home/me", "HF_HUB_CACHE": "", "HUGGINGFACE_HUB_CACHE": "~"], "/home/me"),
        ] as [([String: String], String)])
    func folder(variables: [String: String], expected: String) throws {
        #expect(try HubEnvironment(variables).cacheFolder == expected)
    }

    @Test("is checked")
    func invalid() throws {
        let secret = "hf_do_not show"
        let bad: [(String, [String: String])] = [
            ("HF_HUB_CACHE", [:]), ("HF_HOME", ["HF_HOME": "~/x"]),
            ("HF_ENDPOINT", ["HOME": "/", "HF_ENDPOINT": "hub"]),
            ("HF_ENDPOINT", ["HOME": "/", "HF_ENDPOINT": "https://a b"]),
            ("HF_TOKEN", ["HOME": "/", "HF_TOKEN": secret]),
            ("HF_TOKEN", ["HOME": "/", "HF_TOKEN": "hf_a\u{7}"]), ("HF_TOKEN", ["HOME": "/", "HF_TOKEN": "hf_ä"]),
        ]
        for (name, variables) in bad {
            let error = #expect(throws: HubError.self) { try HubEnvironment(variables) }
            #expect(error?.code == .invalidEnvironment)
            #expect(error?.subject == name)
            #expect(error?.description.contains("show") == false)
        }
    }

    @Test("has a token, from a variable or a file")
    func token() throws {
        let folder = Files.absolutePath(of: "\(NSTemporaryDirectory())/hub-\(UUID().uuidString)")
        try Files.makeFolder(folder)
        defer { try? Files.removeTree(folder) }
        func token(_ variables: [String: String]) throws -> String? {
            try HubEnvironment(["HF_HOME": folder].merging(variables) { $1 }).token?.secret
        }
        #expect(try token([:]) == nil)
        try AtomicFile.write(" hf_file\n", to: "\(folder)/token", as: .internal)
        try AtomicFile.write("\n", to: "\(folder)/empty", as: .internal)
        #expect(try token([:]) == "hf_file")
        #expect(try token(["HF_TOKEN": "hf_variable\n"]) == "hf_variable")
        #expect(try token(["HUGGING_FACE_HUB_TOKEN": "hf_old"]) == "hf_old")
        #expect(try token(["HF_TOKEN_PATH": "\(folder)/empty"]) == nil)
        #expect(try token(["HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"]) == nil)
        #expect(throws: HubError.self) { try token(["HF_TOKEN_PATH": folder]) }
    }

    @Test("names the server, and whether it may be asked")
    func server() throws {
        #expect(try HubEnvironment(["HOME": "/"]).endpoint == "https://huggingface.co")
        #expect(
            try HubEnvironment(["HOME": "/", "HF_ENDPOINT": "http://mirror:80/hf//"]).endpoint == "http://mirror:80/hf")
        for (value, isOffline) in [("1", true), ("true", true), ("ON", true), ("0", false), ("", false), ("no", false)]
        {
            #expect(try HubEnvironment(["HOME": "/", "HF_HUB_OFFLINE": value]).isOffline == isOffline)
        }
    }
}

@Suite("The files that are taken")
struct HubSelectionTests {
    private func selection(_ names: [String], file: String? = nil) throws -> HubSelection {
        let listing = HubListing(commit: "", files: names.map { HubFile(path: $0) })
        return try HubSelection(
            of: listing, for: HubReference(parsing: "hf:a/b\(file.map { ":\($0)" } ?? "")"))
    }

    @Test("are those of a model, without other weights and code")
    func model() throws {
        let all = try selection([
            ".gitattributes", "README.md", "modeling.py", "pytorch_model.bin", "onnx/model.onnx", "model.safetensors",
            "model.fp16.safetensors", "generation_config.json", "config.json", "tokenizer.json", "chat_template.jinja",
            "additional_chat_templates/tool.jinja", "vocab.txt", "onnx/config.json", "model.safetensors.index.json",
            "training_args.json", "x.gguf",
        ])
        #expect(all.configuration == ["config.json", "generation_config.json"])
        #expect(
            all.texts == ["additional_chat_templates/tool.jinja", "chat_template.jinja", "tokenizer.json", "vocab.txt"])
        #expect(all.weights == .files(["model.safetensors"]))
        #expect(!all.isSingleFile)
    }

    @Test("are those of sentence-transformers' modules")
    func modules() throws {
        let all = try selection([
            "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin",
            "config.json", "config_sentence_transformers.json", "model.safetensors", "modules.json",
            "sentence_bert_config.json", "x_1/config.json",
        ])
        #expect(
            all.configuration == [
                "config.json", "1_Pooling/config.json", "2_Dense/config.json", "config_sentence_transformers.json",
                "modules.json", "sentence_bert_config.json",
            ])
        #expect(all.weights == .files(["model.safetensors", "2_Dense/model.safetensors"]))
    }

    @Test(
        "are shards, the only safetensors file, or the only GGUF file",
        arguments: [
            (
                ["model.safetensors.index.json", "model-00001-of-00002.safetensors"],
                .index("model.safetensors.index.json"), false
            ),
            (
                ["adapter_model.safetensors", "x.gguf", "a/b.safetensors"], .files(["adapter_model.safetensors"]), false
            ),
            (["x.gguf", "mmproj-x.gguf", "pytorch_model.bin"], .files(["x.gguf"]), true),
            (
                ["x-00002-of-00002.gguf", "x-00001-of-00002.gguf"],
                .files(["x-00001-of-00002.gguf", "x-00002-of-00002.gguf"]), true
            ),
        ] as [([String], HubSelection.Weights, Bool)])
    func weights(names: [String], weights: HubSelection.Weights, isSingleFile: Bool) throws {
        #expect(try selection(names).weights == weights)
        #expect(try selection(names).isSingleFile == isSingleFile)
    }

    private static let quantized = [
        "m-Q4_K_M.gguf", "m-Q8_0.gguf", "m-UD-Q4_K_M.gguf", "BF16/m-BF16-00001-of-00002.gguf",
        "BF16/m-BF16-00002-of-00002.gguf", "m.i1-IQ2_M.gguf", "mmproj-m-Q8_0.gguf", "config.json", "tokenizer.json",
        "extra.safetensors", "other.safetensors",
    ]

    @Test(
        "are a file that is named, or the GGUF file whose name ends so",
        arguments: [
            ("Q8_0", ["m-Q8_0.gguf"]), ("q8_0", ["m-Q8_0.gguf"]), ("m-Q4_K_M.gguf", ["m-Q4_K_M.gguf"]),
            ("m-Q4_K_M", ["m-Q4_K_M.gguf"]), ("UD-Q4_K_M", ["m-UD-Q4_K_M.gguf"]), ("i1-IQ2_M", ["m.i1-IQ2_M.gguf"]),
            ("BF16", ["BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"]),
            (
                "BF16/m-BF16-00001-of-00002.gguf",
                ["BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"]
            ),
            ("mmproj-m-Q8_0.gguf", ["mmproj-m-Q8_0.gguf"]),
        ])
    func named(name: String, expected: [String]) throws {
        let selection = try selection(Self.quantized, file: name)
        #expect(selection.weights == .files(expected))
        #expect(selection.configuration.isEmpty && selection.texts.isEmpty)
        #expect(selection.isSingleFile)
        #expect(selection.snapshot("/s", "c").file == "/s/\(expected[0])")
    }

    @Test("have the model's configuration, if a safetensors file is named")
    func namedTensors() throws {
        let selection = try selection(Self.quantized, file: "other.safetensors")
        #expect(selection.weights == .files(["other.safetensors"]))
        #expect(selection.configuration == ["config.json"] && selection.texts == ["tokenizer.json"])
    }

    @Test("are not guessed")
    func ambiguous() throws {
        let all = [
            "BF16/m-BF16-00001-of-00002.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf", "m-UD-Q4_K_M.gguf", "m.i1-IQ2_M.gguf",
        ]
        func error(_ names: [String], _ file: String? = nil) -> HubError? {
            #expect(throws: HubError.self) { try selection(names, file: file) }
        }
        let models = Self.quantized.filter { $0.hasSuffix(".gguf") }
        #expect(error(models) == HubError(.severalFiles, subject: "hf:a/b", candidates: all))
        #expect(
            error(models, "Q4_K_M")
                == HubError(
                    .severalFiles, subject: "hf:a/b:Q4_K_M", location: "Q4_K_M",
                    candidates: ["m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf"]))
        #expect(error(models, "Q5") == HubError(.fileNotFound, subject: "hf:a/b:Q5", location: "Q5", candidates: all))
        // A part of a word is not its end.
        #expect(error(models, "8_0x")?.code == .fileNotFound && error(models, "4_K_M")?.code == .fileNotFound)
        #expect(
            error(Self.quantized)
                == HubError(
                    .severalFiles, subject: "hf:a/b", candidates: ["extra.safetensors", "other.safetensors"]))
        #expect(error(["config.json", "pytorch_model.bin"]) == HubError(.noWeights, subject: "hf:a/b"))
    }

    @Test("of an index are safetensors files beside it")
    func shards() throws {
        let path = Files.absolutePath(of: "\(NSTemporaryDirectory())/hub-\(UUID().uuidString).json")
        defer { try? Files.removeTree(path) }
        func shards(_ text: String) throws -> [String] {
            try AtomicFile.write(text, to: path, as: .internal)
            return try HubSelection.shards(ofIndex: path, named: "index", HubReference(parsing: "hf:a/b"))
        }
        #expect(
            try shards(#"{"weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"1.safetensors"}}"#)
                == ["1.safetensors", "2.safetensors"])
        for bad in [
            "", "{}", #"{"weight_map":{}}"#, #"{"weight_map":{"a":1}}"#, #"{"weight_map":{"a":"../x.safetensors"}}"#,
            #"{"weight_map":{"a":"x/y.safetensors"}}"#, #"{"weight_map":{"a":"x.bin"}}"#,
        ] {
            let error = #expect(throws: HubError.self, "\(bad)") { try shards(bad) }
            #expect(error?.code == .unexpectedAnswer && error?.location == "index")
        }
    }
}

@Suite("The parts of the Hub's protocol")
struct HubProtocolTests {
    @Test("SHA-1 is that of FIPS 180-4, and of git")
    func sha1() {
        func digest(_ text: String, pieces: Int = .max) -> String {
            var (hash, rest) = (SHA1(), Array(text.utf8)[...])
            while !rest.isEmpty {
                Array(rest.prefix(pieces)).withUnsafeBytes { hash.update($0) }
                rest = rest.dropFirst(pieces)
            }
            return hash.finalize()
        }
        #expect(digest("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(digest("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        for pieces in [1, 3, 55, 56] {
            #expect(digest(long, pieces: pieces) == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
        }
        let thousands = String(repeating: "a", count: 10_000)
        for pieces in [63, 64, 65, 1000] { #expect(digest(thousands, pieces: pieces) == digest(thousands)) }
        #expect(digest(thousands) == "a080cbda64850abb7b7f67ee875ba068074ff6fe")
        // `git hash-object` of "hello\n".
        let blob = ContentDigest.gitBlob("ce013625030ba8dba906f756967f9e9ca394464a")
        var hasher = ContentHasher(like: blob, byteCount: 6)
        Array("hello\n".utf8).withUnsafeBytes { hasher.update($0) }
        #expect(hasher.finalized() == blob)
    }

    @Test("an etag is a digest in quotation marks")
    func etags() {
        let (long, short) = (String(repeating: "a1", count: 32), String(repeating: "b2", count: 20))
        #expect(ContentDigest(etag: "\"\(long)\"") == .sha256(long))
        #expect(ContentDigest(etag: "W/\"\(short)\"") == .gitBlob(short))
        #expect(ContentDigest(etag: short)?.etag == short)
        for bad in ["", "\"", "\"\"", "x", "\(short)0", short.uppercased(), "../\(short)", "\"\(long)"] {
            #expect(ContentDigest(etag: bad) == nil)
        }
    }

    @Test("the head of an answer has a status and headers of any case")
    func heads() {
        let head = HubAnswerHead(parsing: "HTTP/2 206 \r\nETag: \"x\"\r\ncontent-length:12\r\nbroken\r\nEmpty:\r\n\r\n")
        #expect(head?.status == 206)
        #expect(head?["etag"] == "\"x\"")
        #expect(head?.number("Content-Length") == 12)
        #expect(head?["Empty"] == "")
        #expect(head?["broken"] == nil)
        for bad in ["", "HTTP/1.1", "HTTP/1.1 x", "HTTP/1.1 99 y", "SSH-2.0 200", "\r\n\r\n"] {
            #expect(HubAnswerHead(parsing: bad) == nil)
        }
    }

    @Test("an answer arrives in any parts, after interim ones", arguments: [1, 2, 7, 1000])
    func parts(size: Int) throws {
        let text = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nHTTP\r\n\r\nbody"
        var (reader, heads, body) = (HubAnswerReader(), [HubAnswerHead](), [UInt8]())
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let goesOn = try Array(rest.prefix(size)).withUnsafeBytes {
                try reader.read($0) { part in
                    switch part {
                    case .head(let head): heads.append(head)
                    case .body(let bytes): body += bytes
                    }
                    return true
                }
            }
            #expect(goesOn)
            rest = rest.dropFirst(size)
        }
        #expect(heads.map(\.status) == [200])
        #expect(heads.first?["A"] == "b")
        #expect(body == Array("HTTP\r\n\r\nbody".utf8))
    }

    @Test("a listing has sizes and digests, and its record gives it back")
    func listing() throws {
        let commit = String(repeating: "c", count: 40)
        let (blob, large) = (String(repeating: "1", count: 40), String(repeating: "2", count: 64))
        let text = """
            {"sha":"\(commit)","siblings":[{"rfilename":"a","size":3,"blobId":"\(blob)"},{"rfilename":"n"},
            {"rfilename":"b/c","size":9,"blobId":"\(blob)","lfs":{"sha256":"\(large)","size":9,"pointerSize":1}}]}
            """
        func listing(_ text: String) throws -> HubListing {
            try HubListing(answer: JSONField(JSON.parse(ByteView(Array(text.utf8)), file: "x"), file: "x"))
        }
        let parsed = try listing(text)
        #expect(
            parsed
                == HubListing(
                    commit: commit,
                    files: [
                        HubFile(path: "a", byteCount: 3, digest: .gitBlob(blob)), HubFile(path: "n"),
                        HubFile(path: "b/c", byteCount: 9, digest: .sha256(large)),
                    ]))
        #expect(try HubListing(record: JSONField(parsed.record, file: "x"), commit: commit) == parsed)
        for (old, new) in [
            (commit, "main"), ("\"size\":3", "\"size\":-1"), (blob, "../x"), ("\"size\":3", "\"size\":\"3\""),
            ("\"rfilename\":\"n\"", "\"name\":1"), (large, blob + "x"),
            ("\"size\":9,\"pointer", "\"size\":1.5,\"pointer"),
        ] {
            #expect(throws: FormatError.self, "\(new)") { try listing(text.replacing(old, with: new)) }
        }
    }

    @Test("an error is one sentence, and data")
    func errors() {
        let error = HubError(
            .sizeMismatch, subject: "hf:a/b", location: "x.gguf", expected: "2 bytes", found: "1")
        #expect(error.description == "hf:a/b, x.gguf: the file has another size: expected 2 bytes, found 1")
        #expect(error.exitStatus == .corrupt)
        #expect(
            error.json
                == .object([
                    .init("code", "corrupt"), .init("message", .string(error.description)),
                    .init("reason", "sizeMismatch"), .init("subject", "hf:a/b"), .init("location", "x.gguf"),
                    .init("expected", "2 bytes"), .init("found", "1"), .init("exitStatus", 4),
                ]))
        let sentences = HubError.Code.allCases.map { HubError($0, subject: "s").description }
        #expect(Set(sentences).count == sentences.count)
        #expect(sentences.allSatisfy { $0.hasPrefix("s: ") && $0.split(separator: " ").count < 20 })
    }
}
