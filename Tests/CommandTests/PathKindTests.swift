import AccelByteIO
import AccelFormats
import Foundation
import TestSupport
import Testing

@testable import accelc

/// Every command says what it was given instead of what it takes.
@Suite("What stands at a path")
struct PathKindTests {
    /// A path of each kind that can be recognised, in `folder`.
    private func samples(in folder: String) throws -> [PathKind: String] {
        func copy(_ fixture: String, as name: String) throws {
            try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: "\(folder)/\(name)")
        }
        func write(_ bytes: [UInt8], _ name: String) throws {
            try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        try copy("digits", as: "digits")
        try copy("coreml/states.mlpackage", as: "states.mlpackage")
        try write(Array("GGUF".utf8) + [UInt8](repeating: 0, count: 60), "quantised")
        try write([8, 7, 18, 0], "graph.onnx")
        try write([0x80, 4, 0x95] + [UInt8](repeating: 0, count: 60), "pickled")
        try write([0x50, 0x4B, 3, 4] + [UInt8](repeating: 0, count: 60), "zipped")
        try FileManager.default.createDirectory(atPath: "\(folder)/plan", withIntermediateDirectories: false)
        for name in ["front.json", "recipe.json"] { try write(Array("{}".utf8), "plan/\(name)") }
        try write(Array(#"{"default": "int8"}"#.utf8), "recipe.json")
        try write(Array(#"{"accelc": "parity report"}"#.utf8), "report")
        for words in [
            ["convert", "digits", "--shape", "batch=1,sequence=65", "-q", "-o", "made"],
            ["verify", "record", "states.mlpackage", "-o", "runs"],
        ] {
            let result = try CommandRunner.run(words, in: folder)
            #expect(result.status == 0, "\(result.errors)")
        }
        return [
            .package: "made", .coreML: "states.mlpackage", PathKind(HuggingFaceFormat.self): "digits",
            .tensors: "digits/golden.safetensors",
            .gguf: "quantised", .onnx: "graph.onnx", .pickle: "pickled", .archive: "zipped", .recordedRuns: "runs",
            .plan: "plan", .recipe: "recipe.json", .report: "report",
        ]
    }

    /// A command line with `path` at a place, and something that fits at all others.
    private func line(
        _ command: any accelc.Command.Type, _ samples: [PathKind: String], positional: String? = nil,
        option: accelc.Option? = nil, _ path: String
    ) -> [String] {
        var words = [command.name]
        for other in command.positionals {
            if case .words(let allowed) = other.kind {
                words.append(allowed.contains("get") ? "get" : allowed[0])
            } else if other.name == positional {
                words.append(path)
            } else if let kind = other.takes.first, let sample = samples[kind], other.isRequired {
                words.append(sample)
            }
        }
        for other in command.allOptions where other.isRequired && other.name != option?.name {
            let value =
                switch other.kind {
                case .words(let allowed): allowed[0]
                default: other.takes.first.flatMap { samples[$0] } ?? "new"
                }
            words += ["--\(other.name)", value]
        }
        // Of what it needs the first thing is enough.
        if case .option(let name)? = option?.needs.first,
            let other = command.allOptions.first(where: { $0.name == name })
        {
            if case .flag = other.kind { words.append("--\(name)") } else { words += ["--\(name)", "new"] }
        }
        return words + (option.map { ["--\($0.name)", path] } ?? [])
    }

    @Test("Each command with each kind of thing that it does not take ends with 2, and names both")
    func wrongKinds() throws {
        try withTemporaryFolder { folder in
            let samples = try samples(in: folder)
            for (kind, path) in samples { #expect(PathKind(of: "\(folder)/\(path)") == kind, "\(path)") }
            var tried = 0
            for command in Commands.all {
                let places =
                    command.positionals.map {
                        ($0.takes, line(command, samples, positional: $0.name, "@"), "as \($0.name)")
                    }
                    + command.allOptions.map { ($0.takes, line(command, samples, option: $0, "@"), "for --\($0.name)") }
                for (takes, words, place) in places where !takes.isEmpty {
                    for (kind, path) in samples where !takes.contains(kind) {
                        let words = words.map { $0 == "@" ? path : $0 }
                        let result = try CommandRunner.run(words, in: folder)
                        #expect(result.status == 2, "\(words): \(result.errors)")
                        // A folder in place of a file of tensors may hold any kind of thing.
                        let isFolder = takes == [.tensors] && Files.kind(of: "\(folder)/\(path)") == .folder
                        let title = isFolder ? "a folder" : kind.title
                        // What follows is the end, or a remedy.
                        let ends = ["\n", "; "]
                        #expect(
                            result.errors.hasPrefix("accelc: error: \(path) is \(title); \(command.name) takes ")
                                && ends.contains { result.errors.contains(" \(place)\($0)") },
                            "\(words): \(result.errors)")
                        tried += 1
                    }
                }
            }
            #expect(tried > 100)
        }
    }

    @Test(
        "A file of tensors whose header has 640 bytes, which begins like a pickle, is one of tensors",
        arguments: [640, 896, 1152])
    func headerLengths(_ length: Int) throws {
        try withTemporaryFolder { folder in
            let header = #"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#
            let padded = header + String(repeating: " ", count: length - header.utf8.count)
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + Array(padded.utf8)
            try Data(bytes).write(to: URL(filePath: "\(folder)/tensors"))
            #expect(PathKind(of: "\(folder)/tensors") == .tensors)
        }
    }

    @Test("Each positional that is a path says what it takes")
    func tables() {
        for command in Commands.all {
            for positional in command.positionals {
                if case .path = positional.kind {
                    #expect(!positional.takes.isEmpty, "\(command.name) \(positional.name)")
                }
            }
        }
    }

    @Test("What is not there, or cannot be told, is left to the command, and what fits passes")
    func control() throws {
        try withTemporaryFolder { folder in
            let samples = try samples(in: folder)
            #expect(try CommandRunner.run(["run", "none.mlpackage", "--inputs", "none"], in: folder).status == 3)
            #expect(try CommandRunner.run(["decompress", "none.mlpackage", "-o", "o"], in: folder).status == 3)
            for (kind, path) in samples {
                guard kind == .package || kind == .coreML else { continue }
                let result = try CommandRunner.run(["inspect", path], in: folder)
                #expect(result.status == 0, "\(path): \(result.errors)")
            }
            // Too broken to be recognised by what it holds.
            try FileManager.default.moveItem(atPath: "\(folder)/made", toPath: "\(folder)/made.accelpkg")
            try FileManager.default.removeItem(atPath: "\(folder)/made.accelpkg/graph.bin")
            #expect(try CommandRunner.run(["inspect", "made.accelpkg"], in: folder).status == 4)
            try FileManager.default.removeItem(atPath: "\(folder)/states.mlpackage/Manifest.json")
            #expect(try CommandRunner.run(["inspect", "states.mlpackage"], in: folder).status == 4)
        }
    }

    /// Of a package of accelc's and of one without digests: cut files, flipped bytes, files that are gone.
    @Test("A damaged Core ML package is corrupt input to each command that reads it", arguments: ["ours", "theirs"])
    func damaged(whose: String) throws {
        try withTemporaryFolder { folder in
            for (fixture, name) in [
                ("bert_sentence_mean", "model"), ("coreml/checkpoint_right.mlpackage", "theirs.mlpackage"),
            ] {
                try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: "\(folder)/\(name)")
            }
            let made = try CommandRunner.run(
                [
                    "export", "model", "--format", "coreml", "--shape", "batch=1,sequence=4", "--compress",
                    "int8:axis=channel", "-q", "-o", "ours.mlpackage",
                ], in: folder)
            #expect(made.status == 0)
            let path = "\(folder)/\(whose).mlpackage"
            let data = "\(path)/Data/com.apple.CoreML"
            var state: UInt64 = 7
            func drawn(_ limit: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % max(limit, 1)
            }
            func check(_ what: String, isCertain: Bool) throws {
                for words in [
                    ["decompress", path, "-o", "out.safetensors"], ["inspect", path], ["inspect", path, "--check"],
                    ["verify", path, "--against", "model"],
                ] {
                    let result = try CommandRunner.run(words, in: folder)
                    #expect(
                        [0, 1, 3, 4].contains(result.status), "\(what), \(words): \(result.status) \(result.errors)")
                    if isCertain { #expect(result.status == 4, "\(what), \(words): \(result.status) \(result.errors)") }
                    try? FileManager.default.removeItem(atPath: "\(folder)/out.safetensors")
                }
            }
            for file in ["\(path)/Manifest.json", "\(data)/model.mlmodel", "\(data)/weights/weight.bin"] {
                let original = try Data(contentsOf: URL(filePath: file))
                let name = URL(filePath: file).lastPathComponent
                for count in [0, 40, original.count / 2, original.count - 1] {
                    try original.prefix(count).write(to: URL(filePath: file))
                    // The last byte of Manifest.json may be the end of a line.
                    let isCertain =
                        count < original.count / 2 || name == "Manifest.json" && count < original.count - 1
                    try check("\(name) cut to \(count)", isCertain: isCertain)
                }
                for _ in 0..<4 {
                    var flipped = original
                    flipped[drawn(original.count)] ^= 1 << UInt8(drawn(8))
                    try flipped.write(to: URL(filePath: file))
                    try check("\(name) flipped", isCertain: false)
                }
                try FileManager.default.removeItem(atPath: file)
                try check("\(name) is gone", isCertain: true)
                try original.write(to: URL(filePath: file))
            }
        }
    }
}
