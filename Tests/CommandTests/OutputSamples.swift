import Foundation
import TestSupport
import Testing

@testable import accelc

/// A command line that writes one output: `@` is where, `%NAME` is a file or folder that `OutputSamples` has made.
struct OutputSample: CustomTestStringConvertible, Sendable {
    /// The command and the option that says where the output is.
    let command: String
    let option: String
    let line: String
    /// What `OutputSamples` calls an output of the same kind.
    let kind: String

    init(_ command: String, _ option: String, _ line: String, kind: String) {
        (self.command, self.option, self.line, self.kind) = (command, option, line, kind)
    }

    var testDescription: String { "\(command) --\(option) (\(kind))" }

    /// What it reads, by its path.
    func inputs(in folder: String) -> [String] {
        line.split(separator: " ").filter { $0.hasPrefix("%") && !$0.hasPrefix("%new") }.map {
            "\(folder)/\($0.dropFirst())"
        }
    }

    /// The line's words. A path may be outside of the folder where the command runs.
    func words(in folder: String, output: String) -> [String] {
        [command]
            + line.split(separator: " ").map {
                $0 == "@" ? output : $0.hasPrefix("%") ? "\(folder)/\($0.dropFirst())" : "\($0)"
            }
    }
}

/// A folder with a model, a package and an output of every kind that accelc writes; made once, copied by tests.
enum OutputSamples {
    static let all: [OutputSample] = {
        let digits = "%digits --shape batch=1,sequence=65 --compress float16 --no-cache -q"
        let target =
            "%bert --shape batch=2,sequence=8 --target-bits 6 --calibrate %bert/golden.safetensors --no-cache -q"
        let run = "%p.accelpkg --inputs %bert/golden.safetensors -q"
        return [
            OutputSample("convert", "output", "\(digits) -o @", kind: "p.accelpkg"),
            OutputSample("convert", "output", "\(digits) --zip -o @", kind: "p.zip"),
            OutputSample("convert", "plan", "\(target) -o %new.accelpkg --plan @", kind: "plan"),
            OutputSample("export", "output", "\(digits) --format coreml -o @", kind: "x.mlpackage"),
            OutputSample(
                "export", "output", "%whisper --format coreml --contract whisperkit --no-cache -q -o @",
                kind: "whisperkit"),
            OutputSample("export", "plan", "\(target) --format coreml -o %new.mlpackage --plan @", kind: "plan"),
            OutputSample(
                "verify", "report", "%p.accelpkg --golden %bert/golden.safetensors -q --report @", kind: "report.json"),
            OutputSample(
                "verify", "html", "%p.accelpkg --golden %bert/golden.safetensors -q --html @", kind: "page.html"),
            OutputSample("verify-record", "output", "%x.mlpackage -q -o @", kind: "runs"),
            OutputSample(
                "verify-replay", "report", "%runs %runs/expected.safetensors -q --report @", kind: "report.json"),
            OutputSample("verify-replay", "html", "%runs %runs/expected.safetensors -q --html @", kind: "page.html"),
            OutputSample("run", "outputs", "\(run) --outputs @", kind: "outputs.safetensors"),
            OutputSample(
                "run", "save-states",
                "%d.accelpkg --inputs %qwen/golden.safetensors -q --outputs %new.safetensors --save-states @",
                kind: "states.safetensors"),
            OutputSample(
                "run", "audio-output",
                "%k.accelpkg --phonemes ab --voice %kokoro/voice.safetensors -q --audio-output @", kind: "sound.wav"),
            OutputSample("run", "trace", "\(run) --trace @", kind: "trace.json"),
            OutputSample("decompress", "output", "%p.accelpkg -q -o @", kind: "weights.safetensors"),
            OutputSample(
                "importance", "output", "%bert --calibrate %bert/golden.safetensors -q -o @", kind: "imatrix.gguf"),
            OutputSample("sign", "output", "%p.accelpkg --key %key -q -o @", kind: "p.accelpkg.sig"),
            OutputSample(
                "sign", "output", "%p.accelpkg --key %key.pem --format oms -q -o @", kind: "p.accelpkg.oms.sig"),
        ].filter { $0.command != "sign" || (SigningTests.hasKeygen && SigningTests.hasOpenSSL) }
    }()

    /// Outputs, by the names that `OutputSample.kind` uses, in the order in which they can be made.
    static let kinds = [
        "p.accelpkg", "p.zip", "x.mlpackage", "whisperkit", "plan", "report.json", "page.html", "runs",
        "outputs.safetensors",
        "states.safetensors", "trace.json", "sound.wav", "weights.safetensors", "imatrix.gguf", "p.accelpkg.sig",
        "p.accelpkg.oms.sig",
    ].filter { kind in all.contains { $0.kind == kind } }

    static let folder = SharedFolder { folder in
        try FileManager.default.copyItem(atPath: Fixtures.path("digits"), toPath: "\(folder)/digits")
        try FileManager.default.copyItem(atPath: Fixtures.path("bert_base"), toPath: "\(folder)/bert")
        try FileManager.default.copyItem(atPath: Fixtures.path("whisper_small"), toPath: "\(folder)/whisper")
        if kinds.contains("p.accelpkg.sig") {
            try run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], in: folder)
            try run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "key.pem"], in: folder)
        }
        try FileManager.default.copyItem(atPath: Fixtures.path("qwen3_small"), toPath: "\(folder)/qwen")
        for (model, package) in [("bert", "p.accelpkg"), ("qwen", "d.accelpkg")] {
            let line = "%\(model) --shape-from %\(model)/golden.safetensors --compress float32 --no-cache -q -o @"
            let sample = OutputSample("convert", "output", line, kind: package)
            try CommandRunner.succeed(sample.words(in: folder, output: "\(folder)/\(package)"), in: folder)
        }
        try FileManager.default.copyItem(atPath: Fixtures.path("phonemes_kokoro"), toPath: "\(folder)/kokoro")
        let shape = "batch=1,sequence=8,asr_frames=60,frames=120"
        try CommandRunner.succeed(
            ["convert", "kokoro", "--part", "all", "--shape", shape, "--no-cache", "-q", "-o", "k.accelpkg"],
            in: folder)
        for kind in kinds.dropFirst() {
            guard let sample = all.first(where: { $0.kind == kind }) else { continue }
            try CommandRunner.succeed(sample.words(in: folder, output: "\(folder)/\(kind)"), in: folder)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where name.hasPrefix("new") || name.hasPrefix(".") {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    private static func run(_ words: [String], in folder: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.currentDirectoryURL = URL(filePath: folder)
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CommandScript.Problem(description: "\(words) fails") }
    }
}
