import AccelByteIO
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import accelc

@Suite("What options do")
struct OptionEffectTests {
    static let names = Commands.all.map { $0.name }

    @Test("Each option of each command has a run in which it changes something")
    func covered() {
        let shown = Set(OptionEffect.all.map { "\($0.command) \($0.option)" })
        let elsewhere = Set(OptionEffect.elsewhere.map(\.option))
        var known = Set(OptionEffect.signing)
        for command in Commands.all {
            for option in command.options where !elsewhere.contains(option.name) {
                let row = "\(command.name) \(option.name)"
                known.insert(row)
                #expect(
                    shown.contains(row) || OptionEffect.signing.contains(row), "\(row): add a line to OptionEffect.all")
            }
        }
        // Options of every command do the same in each.
        for option in CommonOptions.all where !elsewhere.contains(option.name) {
            known.insert("convert \(option.name)")
            #expect(shown.contains("convert \(option.name)"), "\(option.name)")
        }
        #expect(shown.subtracting(known).isEmpty, "\(shown.subtracting(known))")
    }

    @Test("With the option, a run ends, prints or leaves something else than without", arguments: OptionEffect.all)
    func effect(_ effect: OptionEffect) throws {
        let (with, without) = (try Self.observed(effect, 0), try Self.observed(effect, 1))
        #expect(with != without, "\(effect.line)\n\(with)")
    }

    @Test("A run says and leaves the same twice, so that what differs is the option's doing")
    func control() throws {
        for line in ["convert -o q bert --shape batch=1,sequence=4", "verify p.accelpkg --against bert"] {
            let effect = OptionEffect(option: "", line: line)
            #expect(try Self.observed(effect, 0) == Self.observed(effect, 0))
        }
    }

    @Test(
        "An option that needs another one is rejected without it, and one that excludes another with it",
        arguments: names)
    func rejected(_ name: String) throws {
        let command = try Commands.named(name)
        func words(_ option: Option) -> [String] {
            switch option.kind {
            case .flag: ["--\(option.name)"]
            case .words(let words): ["--\(option.name)", words[words.count - 1]]
            case .integer(let range): ["--\(option.name)", "\(range.lowerBound)"]
            default: ["--\(option.name)", "1"]
            }
        }
        /// What stands on every line of the command.
        func line(_ options: [Option], action: String?) -> [String] {
            let positionals = command.positionals.filter(\.isRequired).map { positional in
                if case .words(let words) = positional.kind { action ?? words[0] } else { "x" }
            }
            let required = command.options.filter { option in
                option.isRequired && !options.contains { $0.name == option.name }
            }
            return positionals + (required + options).flatMap(words)
        }
        func parse(_ options: [Option], action: String? = nil) throws {
            _ = try Arguments(line(options, action: action), for: command)
        }
        func option(_ name: String) throws -> Option {
            try #require(command.allOptions.first { $0.name == name }, "\(command.name) has no --\(name)")
        }
        for option in command.allOptions where !option.needs.isEmpty {
            let isFormat = option.needs.contains { if case .value = $0 { true } else { false } }
            if !isFormat {
                #expect("--\(option.name) alone") { try parse([option]) } throws: { $0 is any ReportedError }
            }
            for need in option.needs {
                switch need {
                case .option(let other):
                    try parse(
                        [option, try self.option(other, of: command)] + companions(other, of: command, besides: option))
                case .word(let word): try parse([option], action: word)
                case .value(_, let other): _ = try self.option(other, of: command)
                }
            }
            #expect(
                HelpPage.fullPage(of: command).replacing(#/\s+/#, with: " ").contains(
                    "only with \(option.needs[0].usage)"))
        }
        for option in command.allOptions {
            for other in option.excludes {
                #expect("--\(option.name) --\(other)") {
                    try parse([option, try self.option(other, of: command)])
                } throws: {
                    $0 is any ReportedError
                }
            }
        }
    }

    private func option(_ name: String, of command: any accelc.Command.Type) throws -> Option {
        try #require(command.allOptions.first { $0.name == name }, "\(command.name) has no --\(name)")
    }

    /// What the needed option needs itself.
    private func companions(
        _ name: String, of command: any accelc.Command.Type, besides option: Option
    ) throws -> [Option] {
        try self.option(name, of: command).needs.compactMap { need in
            guard case .option(let other) = need, other != option.name else { return nil }
            return try self.option(other, of: command)
        }
    }

    // MARK: Runs

    /// What a run says and leaves behind, without times. An error is its exit status: another sentence is no effect of an option.
    private struct Observation: Equatable, CustomStringConvertible {
        var status: Int32
        var output: String
        var errors: String
        var files: [String: Data]
        var description: String { "\(status)\n\(output)\(errors)\(files.keys.sorted())" }
    }

    private static func observed(_ effect: OptionEffect, _ index: Int) throws -> Observation {
        try kit.withCopy(of: effect.mentions) { folder in
            let result = try CommandRunner.run(effect.words(index), in: folder)
            let cached = [".cache/", "filled/", "damaged/", "shared/"]
            let files = try CommandRunner.contents(of: folder).filter { name, _ in
                !cached.contains(where: name.hasPrefix) && ![".stdout", ".stderr"].contains(name)
            }
            func timeless(_ text: String) -> String {
                text.replacing(folder, with: "").replacing(#/[0-9.]+ m?s\b/#, with: "")
                    .replacing(#/"(seconds|\w*_ms|peak_memory_bytes)": [^\n]*/#, with: "")
                    .replacing(#/peak memory [0-9.]+ \w+|at most [0-9.]+ \w+ of memory/#, with: "")
            }
            let isAnswer = [0, 1].contains(result.status)
            return Observation(
                status: result.status, output: isAnswer ? timeless(result.output) : "",
                errors: isAnswer && effect.isOfMessages ? timeless(result.errors) : "", files: files)
        }
    }

    /// Small models, and what is made of them.
    private static let kit = SharedFolder { folder in
        for (fixture, name) in [
            ("bert_base", "bert"), ("adapters/bert", "adapter"), ("clip_end", "clip"), ("qwen3_small", "qwen"),
            ("coreml/functions.mlpackage", "functions.mlpackage"), ("runtimes", "runtimes"),
            ("llama_bfloat16", "llama"), ("bert_prefixed", "prefixed"), ("text/llama", "llm"), ("text/sentence", "enc"),
            ("speech/talk.wav", "talk.wav"), ("sound/int16.wav", "other.wav"), ("speech/whisper", "whisper"),
            ("vit_leftover", "vit"), ("images/photo.png", "photo.png"), ("images/photo.jpg", "photo.jpg"),
            ("phonemes_kokoro", "kokoro"), ("snac_chunks", "snac"),
        ] {
            try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: "\(folder)/\(name)")
        }
        try FileManager.default.copyItem(
            atPath: Fixtures.path("ctranslate2/qwen3_small/tokenizer.json"), toPath: "\(folder)/qwen/tokenizer.json")
        let configuration = try String(contentsOfFile: "\(folder)/bert/config.json", encoding: .utf8)
        let decoder = try String(contentsOfFile: "\(folder)/qwen/config.json", encoding: .utf8)
        for (name, text) in [
            ("other.json", configuration.replacing("\"gelu\"", with: "\"relu\"")),
            ("surprise.json", decoder.replacing("{", with: "{\"attention_chunk_size\": 4,", maxReplacements: 1)),
            ("recipe.json", #"{"default": "int8"}"#),
            ("lines.txt", "The sky is blue, and why it is so is asked often.\nAnna and Bob.\nWho knows?\n"),
            ("long.txt", String(repeating: "apples ", count: 60)),
            ("chat.json", #"[{"role": "user", "content": "Where is Paris?"}]"#),
            (
                "roles.json",
                #"{"one": {"role": "encode", "inputs": {}, "outputs": {"y": {"kind": "embedding"}}, "states": {}, "links": []}}"#
            ),
            ("idle.json", #"{"default": "float16", "rules": [{"match": "nothing", "compress": "int8"}]}"#),
            ("budget.json", #"{"outputs": [{"match": "*", "sqnr": 400}]}"#),
            ("trust.json", #"{"allowedSigners": "s", "rules": [{"origin": "*", "unsigned": true}]}"#),
            ("vit/preprocessor_config.json", #"{"image_processor_type": "ViTImageProcessor", "size": 20}"#),
            ("named.json", #"{"allowedSigners": "s", "rules": [{"origin": "*", "identities": ["a"]}]}"#),
        ] {
            try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        try EnergyDetector.write(to: "\(folder)/silent", isDeaf: true)
        try CodeWriter.write(to: "\(folder)/writer", frames: 3)
        let styles = (0..<40).map { Float($0 % 7) / 7 }
        try SafetensorsWriter.write(
            [StoredTensor(name: "voice", floats: styles, shape: [5, 1, 8])], to: "\(folder)/other.safetensors",
            as: .outputs)
        let shape = ["--shape-from", "bert/golden.safetensors", "-q"]
        for words in [
            ["convert", "bert", "--no-cache", "-o", "p.accelpkg"] + shape,
            ["convert", "bert", "--no-cache", "-o", "damaged.accelpkg"] + shape,
            ["convert", "llm", "--no-cache", "-o", "l.accelpkg", "-q"],
            ["convert", "enc", "--no-cache", "-o", "s.accelpkg", "-q"],
            ["convert", "whisper", "--no-cache", "-o", "w.accelpkg", "-q"],
            ["convert", "vit", "--no-cache", "-o", "v.accelpkg", "-q"],
            [
                "convert", "kokoro", "--part", "all", "--shape", "batch=1,sequence=8,asr_frames=60,frames=120",
                "--no-cache", "-o", "k.accelpkg", "-q",
            ],
            ["convert", "writer", "--no-cache", "-o", "o.accelpkg", "-q"],
            ["convert", "snac", "--no-cache", "-o", "snac.accelpkg", "-q"],
            ["convert", "snac", "--part", "decoder_zero_noise", "--no-cache", "-o", "quiet.accelpkg", "-q"],
            ["convert", "silent", "--no-cache", "-o", "silent.accelpkg", "-q"],
            ["convert", "qwen", "--no-cache", "-o", "d.accelpkg", "--shape-from", "qwen/golden.safetensors", "-q"],
            ["convert", "functions.mlpackage", "--no-cache", "-o", "f.accelpkg", "-q"],
            ["export", "llama", "--no-cache", "--format", "gguf", "-o", "gguf", "-q"],
            ["convert", "bert", "--cache", "filled", "-o", "x"] + shape,
            ["convert", "bert", "--cache", "damaged", "-o", "x"] + shape,
            ["convert", "bert", "--cache", "shared", "-o", "x"] + shape,
            ["export", "bert", "--no-cache", "--format", "coreml", "-o", "p.mlpackage"] + shape,
            ["verify-record", "p.mlpackage", "-o", "bundle"],
            ["importance", "bert", "--calibrate", "bert/golden.safetensors", "-o", "imatrix.gguf"],
        ] {
            try CommandRunner.succeed(words, in: folder)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: "\(folder)/shared")
        for name in try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/damaged") + [
            "../damaged.accelpkg/weights-0000.bin"
        ]
        where name.contains("/cas/") || name.hasSuffix(".bin") {
            let url = URL(filePath: "\(folder)/damaged/\(name)")
            guard var bytes = try? Data(contentsOf: url), bytes.count > 64 else { continue }
            bytes[64] ^= 1
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: url.path)
            try bytes.write(to: url)
        }
    }
}
