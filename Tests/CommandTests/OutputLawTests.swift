import Foundation
import TestSupport
import Testing

@testable import AccelByteIO
@testable import AccelPackages
@testable import accelc

/// No command replaces anything but an earlier output of the same kind: over every option that the tables call an output.
@Suite("Outputs")
struct OutputLawTests {
    @Test("Every output of every command has a sample here")
    func complete() {
        for command in Commands.all {
            for option in command.allOptions {
                switch option.kind {
                case .output:
                    let isThere = OutputSamples.all.contains { $0.command == command.name && $0.option == option.name }
                    #expect(isThere || command.name == "sign", "\(command.name) --\(option.name)")
                case .text, .input, .location:
                    // What is written is no input.
                    #expect(
                        !option.help.contains(/\b(to write|write the|written)\b/), "\(command.name) --\(option.name)")
                case .flag, .integer, .seconds, .decimal, .words: break
                }
            }
        }
    }

    /// Runs `body` in a copy of the samples.
    private func withSamples(_ body: (_ folder: String) throws -> Void) throws {
        try OutputSamples.folder.withCopy(body)
    }

    /// Everything in a folder; the tool's streams are in files of hidden names.
    private func contents(of folder: String) throws -> [String: Data] {
        try CommandRunner.contents(of: folder).filter { ![".stdout", ".stderr"].contains($0.key) }
    }

    private func rejected(
        _ sample: OutputSample, _ output: String, in folder: String, _ what: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let before = try contents(of: folder)
        let result = try CommandRunner.run(sample.words(in: folder, output: output), in: folder)
        #expect(result.status == 2, "\(what): exit \(result.status) \(result.errors)", sourceLocation: location)
        #expect(result.errors.hasPrefix("accelc: error: "), "\(what): \(result.errors)", sourceLocation: location)
        #expect(result.errors.count { $0 == "\n" } == 1, "\(what): \(result.errors)", sourceLocation: location)
        #expect(try contents(of: folder) == before, "\(what): something is not as it was", sourceLocation: location)
    }

    @Test(
        "An earlier output of the same kind is replaced; of another kind, or with something else in it, it stays",
        arguments: OutputSamples.all)
    func kinds(_ sample: OutputSample) throws {
        try withSamples { folder in
            for _ in 0..<2 {
                let result = try CommandRunner.run(sample.words(in: folder, output: "\(folder)/out"), in: folder)
                #expect(result.status == 0, "\(result.errors)")
            }
            for (index, kind) in OutputSamples.kinds.enumerated() where kind != sample.kind {
                // Its name tells nothing of what it is.
                let copy = "\(folder)/copy.\(index)"
                try FileManager.default.copyItem(atPath: "\(folder)/\(kind)", toPath: copy)
                try rejected(sample, copy, in: folder, kind)
            }
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: "\(folder)/out", isDirectory: &isFolder), isFolder.boolValue
            else { return }
            for name in ["notes.txt", "verify.json", "deep/notes.txt", ".hidden", "link"] {
                try FileManager.default.createDirectory(atPath: "\(folder)/out/deep", withIntermediateDirectories: true)
                if name == "link" {
                    try FileManager.default.createSymbolicLink(
                        atPath: "\(folder)/out/link", withDestinationPath: "nowhere")
                } else {
                    try Data("mine".utf8).write(to: URL(filePath: "\(folder)/out/\(name)"))
                }
                try rejected(sample, "\(folder)/out", in: folder, "with \(name)")
                try FileManager.default.removeItem(atPath: "\(folder)/out/\(name)")
            }
            try rejected(sample, "\(folder)/out", in: folder, "with an empty folder")
            try FileManager.default.removeItem(atPath: "\(folder)/out/deep")
            // What its user has changed since.
            for (name, content) in try contents(of: "\(folder)/out") where name != "verify.json" && !content.isEmpty {
                let file = URL(filePath: "\(folder)/out/\(name)")
                var changed = content
                changed[content.count / 2] ^= 1
                for edit in [content + Data([10]), changed] {
                    // Of blobs the sizes count alone.
                    if edit.count == content.count, name.hasPrefix("weights-") { continue }
                    try FileManager.default.removeItem(at: file)
                    try edit.write(to: file)
                    // White space at the end of a JSON document is no change of it.
                    if edit.count > content.count,
                        ["front.json", "runs.json", "Manifest.json", "contract.json"].contains(name)
                    {
                        continue
                    }
                    try rejected(sample, "\(folder)/out", in: folder, "\(name) is edited")
                }
                try content.write(to: file)
            }
            // The mark of what it is, damaged.
            let marks = ["manifest.json", "Manifest.json", "runs.json", "front.json", "contract.json"].map {
                URL(filePath: "\(folder)/out/\($0)")
            }
            let mark = try #require(marks.first { FileManager.default.fileExists(atPath: $0.path) })
            let whole = try Data(contentsOf: mark)
            for damaged in [Data(), whole.dropLast(3), Data("{}".utf8), whole.dropFirst(1)] {
                try damaged.write(to: mark)
                try rejected(sample, "\(folder)/out", in: folder, "damaged")
            }
            try FileManager.default.removeItem(at: mark)
            try rejected(sample, "\(folder)/out", in: folder, "without its mark")
        }
    }

    @Test("What is not accelc's stays: files, folders, links, pipes", arguments: OutputSamples.all)
    func foreign(_ sample: OutputSample) throws {
        try withSamples { folder in
            try FileManager.default.createDirectory(atPath: "\(folder)/things/deep", withIntermediateDirectories: true)
            for name in ["things/notes.txt", "things/deep/notes.txt", "notes.txt"] {
                try Data("mine".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
            }
            try Data().write(to: URL(filePath: "\(folder)/empty.txt"))
            try FileManager.default.createDirectory(atPath: "\(folder)/empty", withIntermediateDirectories: true)
            // As a package of another tool may look.
            try FileManager.default.createDirectory(atPath: "\(folder)/other", withIntermediateDirectories: true)
            for name in [
                "manifest.json", "graph.bin", "Manifest.json", "runs.json", "front.json", "recipe.json",
                "contract.json",
            ] {
                try Data("{}".utf8).write(to: URL(filePath: "\(folder)/other/\(name)"))
            }
            for (name, target) in [
                ("to nothing", "nowhere"), ("to itself", "to itself"), ("to an output", sample.kind),
            ] {
                try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
            }
            for name in [
                "things", "notes.txt", "empty.txt", "empty", "other", "to nothing", "to itself", "to an output",
            ] {
                try rejected(sample, "\(folder)/\(name)", in: folder, name)
            }
            try rejected(sample, "/dev/null", in: folder, "/dev/null")
            // The draft of an archive once had this name.
            try FileManager.default.copyItem(atPath: "\(folder)/things", toPath: "\(folder)/fresh.folder")
            let before = try contents(of: "\(folder)/fresh.folder")
            let result = try CommandRunner.run(sample.words(in: folder, output: "\(folder)/fresh"), in: folder)
            #expect(result.status == 0, "\(result.errors)")
            #expect(try contents(of: "\(folder)/fresh.folder") == before)
        }
    }

    @Test(
        "An output is no input, does not lie in one, and has none inside, however the path is written",
        arguments: OutputSamples.all)
    func inputs(_ sample: OutputSample) throws {
        try withSamples { folder in
            let links = "\(folder)/links"
            try FileManager.default.createDirectory(atPath: links, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/here", withDestinationPath: ".")
            for (index, input) in sample.inputs(in: folder).enumerated() {
                let name = URL(filePath: input).lastPathComponent
                for path in [input, "\(folder)/here/./\(name)", "\(links)/../\(name)/", folder, "\(folder)/.."] {
                    // A package is verified, and a model converted, wherever they lie: only the path matters here.
                    guard FileManager.default.fileExists(atPath: path) else { continue }
                    try rejected(sample, path, in: folder, path)
                }
                try FileManager.default.createSymbolicLink(atPath: "\(links)/\(index)", withDestinationPath: input)
                try rejected(sample, "\(links)/\(index)", in: folder, "a link to \(name)")
                var isFolder: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: input, isDirectory: &isFolder)
                if isFolder.boolValue {
                    for inside in ["\(input)/new", "\(links)/\(index)/new", "\(folder)/here/\(name)/new"] {
                        try rejected(sample, inside, in: folder, inside)
                    }
                }
                let files =
                    isFolder.boolValue
                    ? try FileManager.default.contentsOfDirectory(atPath: input).map { "\(input)/\($0)" } : [input]
                for (number, file) in files.enumerated() {
                    _ = FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
                    if isFolder.boolValue { continue }
                    try FileManager.default.linkItem(atPath: file, toPath: "\(links)/\(index).\(number)")
                    try rejected(sample, "\(links)/\(index).\(number)", in: folder, "another name of \(file)")
                }
            }
            for word in sample.line.split(separator: " ") where word.hasPrefix("%new") {
                for path in [
                    "\(folder)/\(word.dropFirst())", "\(folder)/here/\(word.dropFirst())",
                    "\(folder)/\(word.dropFirst())/x",
                ] {
                    try rejected(sample, path, in: folder, "another output of the same command")
                }
            }
        }
    }

    @Test("No output lies in a cache: neither in the one in force, nor in any other", arguments: OutputSamples.all)
    func caches(_ sample: OutputSample) throws {
        try withSamples { folder in
            for root in ["\(folder)/.cache", "\(folder)/other"] {
                try CacheFolder(root: root).prepare()
                try FileManager.default.createDirectory(atPath: "\(root)/v1/tmp", withIntermediateDirectories: true)
                for path in [root, "\(root)/new", "\(root)/v1/tmp/new"] {
                    try rejected(sample, path, in: folder, path)
                }
            }
            try FileManager.default.removeItem(atPath: "\(folder)/.cache")
            try rejected(sample, "\(folder)/.cache/v1/new", in: folder, "a cache that is not there yet")
        }
    }

    @Test("No output has a file of the model in it, however deep the link to it lies")
    func deepLinks() throws {
        try withTemporaryFolder { folder in
            let convert = ["--shape", "batch=1,sequence=8", "--no-cache", "-q", "-o", "p.accelpkg"]
            try FileManager.default.copyItem(atPath: Fixtures.path("bert_sentence_mean"), toPath: "\(folder)/model")
            #expect(try CommandRunner.run(["convert", "model"] + convert, in: folder).status == 0)
            let list = "\(folder)/model/modules.json"
            let text = try String(contentsOfFile: list, encoding: .utf8)
            try text.replacing("\"1_Pooling\"", with: "\"modules/pooling/1\"")
                .write(toFile: list, atomically: true, encoding: .utf8)
            try FileManager.default.createDirectory(
                atPath: "\(folder)/model/modules/pooling", withIntermediateDirectories: true)
            try FileManager.default.removeItem(atPath: "\(folder)/model/1_Pooling")
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/model/modules/pooling/1",
                withDestinationPath: "../../../p.accelpkg/assets/1_Pooling")
            let before = try contents(of: folder)
            let result = try CommandRunner.run(["convert", "model"] + convert, in: folder)
            #expect(result.status == 2 && result.errors.contains("it contains "), "\(result.errors)")
            #expect(try contents(of: folder) == before)
            let elsewhere = convert.dropLast() + ["q.accelpkg"]
            #expect(try CommandRunner.run(["convert", "model"] + elsewhere, in: folder).status == 0)
        }
    }

    @Test("A plan is published right after what is made by it, and tells by which digest")
    func plans() throws {
        let sample = try #require(OutputSamples.all.first { $0.option == "plan" })
        try withSamples { folder in
            let arguments = try Arguments(
                Array(sample.words(in: folder, output: "\(folder)/out").dropFirst()), for: ConvertCommand.self)
            let console = Console()
            try console.configure(arguments)
            let published = Locked<[String]>([])
            let status = try Disk.observing(
                folder,
                { event in
                    guard case .published(let path) = event, path.hasPrefix(folder) else { return }
                    published.withLock { $0.append(path) }
                }
            ) { try ConvertCommand.run(arguments, console) }
            #expect(status == .success)
            // Only front.json of the plan's draft lies between.
            let names = published.withLock { $0 }.filter { $0.hasSuffix("/new.accelpkg") || $0.hasSuffix("/out") }
            #expect(names.map { Files.name(of: $0) } == ["new.accelpkg", "out"])
            let package = try AcceleratorPackage(at: "\(folder)/new.accelpkg")
            #expect(try JSON.read("\(folder)/out/front.json")["package"] == .string(package.digest.description))
        }
    }

    @Test("What appears while a command works stays, whenever it appears", arguments: OutputSamples.all)
    func appearing(_ sample: OutputSample) throws {
        try withSamples { folder in
            let output = "\(folder)/out"
            let command = try Commands.named(sample.command)
            let arguments = try Arguments(Array(sample.words(in: folder, output: output).dropFirst()), for: command)
            let console = Console()
            try console.configure(arguments)
            for (isLate, isReplacing) in [(false, false), (true, false), (true, true)] {
                try? FileManager.default.removeItem(atPath: output)
                for name in ["new.accelpkg", "new.mlpackage", "new.safetensors"] {
                    try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
                }
                if isReplacing {
                    #expect(try command.run(arguments, console) == .success)
                    try FileManager.default.removeItem(atPath: "\(folder)/new.accelpkg", unlessMissing: true)
                }
                let appear: @Sendable () -> Void = {
                    try? FileManager.default.removeItem(atPath: output)
                    try? FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
                    try? Data("mine".utf8).write(to: URL(filePath: "\(output)/notes.txt"))
                }
                let error = #expect(throws: RequestError.self) {
                    try Disk.observing(
                        folder,
                        { event in
                            switch event {
                            case .deciding(output) where !isLate: appear()
                            case .publishing(_, output) where isLate: appear()
                            default: break
                            }
                        }
                    ) { _ = try command.run(arguments, console) }
                }
                #expect(error?.exitStatus == .usage)
                #expect(try contents(of: output) == ["notes.txt": Data("mine".utf8)], "\(error as Any)")
                let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                    $0.hasSuffix(".partial")
                }
                #expect(left.isEmpty)
            }
        }
    }

    @Test(
        "A signature beside a package that is replaced by another one is told of", .enabled(if: SigningTests.hasKeygen))
    func signatures() throws {
        try withSamples { folder in
            let convert = [
                "convert", "bert", "--shape-from", "bert/golden.safetensors", "--no-cache", "-q", "-o", "p.accelpkg",
            ]
            for (scheme, isAnother) in [("float32", false), ("float16", true)] {
                let result = try CommandRunner.run(
                    convert.dropLast(3) + ["--compress", scheme, "-o", "p.accelpkg"], in: folder)
                #expect(result.status == 0)
                for name in ["p.accelpkg.sig", "p.accelpkg.oms.sig"].filter(OutputSamples.kinds.contains) {
                    #expect(
                        result.errors.contains("\(name) is of the package that was replaced") == isAnother,
                        "\(result.errors)")
                }
            }
        }
    }
}

extension FileManager {
    fileprivate func removeItem(atPath path: String, unlessMissing: Bool) throws {
        if fileExists(atPath: path) { try removeItem(atPath: path) }
    }
}
