import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelTensors

@Suite("Every file of a model that is opened is a source")
struct SourceLawTests {
    /// Ways to open a file, or to see what is in a folder.
    private let openers =
        /\b(MappedFile|FileContent|OpenedFile|SafetensorsFile|FileManager|FileHandle|InputStream)\(|\b(JSON\.read|Files\.list|open|fopen|openat|opendir|mmap)\(|\((contentsOf|contentsOfFile|forReadingFrom): ?|import Foundation|import (Glibc|Darwin|Musl)/
    private let appending = /\.(append|insert)\(contentsOf:/
    /// Who may do so: the reader itself, what it reads with, and what finds the folder.
    private static let allowed = [
        "ModelFiles.swift", "SafetensorsFile.swift", "ModelLocation.swift", "ModelFiles+Assets.swift",
        // Looks at an output that is to be replaced, which is no source.
        "TensorFileKind.swift",
        // Threads and buffers of the C library.
        "WorkerPool.swift",
    ]

    private func offenders(in text: String) -> [String] {
        text.split(separator: "\n").filter { line in
            !line.trimmingCharacters(in: .whitespaces).hasPrefix("//") && line.contains(openers)
                // The reader's own functions, and what is added to an array, have like names.
                && !line.contains("func open(") && !line.contains(appending)
        }.map(String.init)
    }

    @Test(
        "nothing in AccelTensors and AccelModelFamilies but the reader can open one",
        arguments: ["AccelTensors", "AccelModelFamilies"])
    func oneReader(module: String) throws {
        let sources = try Fixtures.sources(of: module)
        #expect(sources.count > 20)
        for (name, text) in sources where !Self.allowed.contains(URL(filePath: name).lastPathComponent) {
            for line in offenders(in: text) { Issue.record("\(name) opens a file by itself: \(line)") }
        }
    }

    @Test("the search finds what it looks for")
    func control() {
        for line in [
            "let file = try MappedFile(path)", "JSONField(try JSON.read(path), file: path)", "import Foundation",
            "  let names = try Files.list(folder)", "let d = open(path, O_RDONLY)", "try SafetensorsFile(path)",
            "let text = try String(contentsOf: url)", "try Data(contentsOf: url)",
        ] { #expect(offenders(in: line).count == 1, "\(line)") }
        for line in ["// MappedFile(path)", "try checkpoint.document(name)", "try checkpoint.reader.sources"] {
            #expect(offenders(in: line).isEmpty, "\(line)")
        }
    }

    @Test("a file is read once: what is parsed is what is digested, whatever becomes of the file")
    func readOnce() throws {
        try withTemporaryFolder { folder in
            try SafetensorsWriter.write(
                [StoredTensor(name: "a", floats: [1, 2], shape: [2])], to: "\(folder)/model.safetensors", as: .weights)
            try Data(#"{"n": 1}"#.utf8).write(to: URL(filePath: "\(folder)/config.json"))
            try Data("[]".utf8).write(to: URL(filePath: "\(folder)/modules.json"))
            let checkpoint = try Checkpoint(model: folder)
            for name in ["config.json", "modules.json"] {
                let file = try FileHandle(forWritingTo: URL(filePath: "\(folder)/\(name)"))
                try file.write(contentsOf: Data("{}        ".utf8))
                try file.close()
            }
            #expect(try checkpoint.configuration["n"].int() == 1)
            #expect(try checkpoint.document("modules.json")?.array().isEmpty == true)
            let contents = checkpoint.reader.sources.filter { $0.role == .asset }.map { source in
                source.content.withBytes { String(decoding: $0, as: UTF8.self) }
            }
            #expect(contents == [#"{"n": 1}"#, "[]"])
        }
    }
}
