import Foundation
import TestSupport
import Testing

@Suite("Commands")
struct CommandTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts")
    /// All scripts; with `ACCELC_SCRIPTS="NAME..."` in the environment only those.
    static let scripts =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasSuffix(".txt") && (asked.isEmpty || asked.contains($0.dropLast(4))) }.sorted()
    private static let asked = (ProcessInfo.processInfo.environment["ACCELC_SCRIPTS"] ?? "").split(separator: " ")

    @Test("A script's commands print and leave what it says", arguments: scripts)
    func script(_ name: String) throws {
        let text = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
        let script = try CommandScript(text)
        try withTemporaryFolder { folder in
            for (line, action) in script.actions {
                try perform(action, in: folder, at: "\(name):\(line) (\(script.title))")
            }
        }
    }

    private func perform(_ action: CommandScript.Action, in folder: String, at place: String) throws {
        func path(_ name: String) -> String { "\(folder)/\(name)" }
        switch action {
        case .fixture(let name, let target):
            try FileManager.default.copyItem(atPath: Fixtures.path(name), toPath: path(target))
        case .file(let name, let text):
            let parent = URL(filePath: path(name)).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: path(name)))
        case .run(let invocation):
            try run(invocation, in: folder, at: place)
        case .exists(let name, let wanted):
            #expect(FileManager.default.fileExists(atPath: path(name)) == wanted, "\(place): \(name)")
        case .same(let left, let right, let wanted):
            let equal = try CommandRunner.contents(of: path(left)) == CommandRunner.contents(of: path(right))
            #expect(equal == wanted, "\(place): \(left) and \(right)")
        case .contains(let name, let text):
            let content = String(decoding: try Data(contentsOf: URL(filePath: path(name))), as: UTF8.self)
            #expect(content.contains(text), "\(place): \(name)")
        case .flip(let name, let offset):
            try edit(path(name)) { $0[offset < 0 ? $0.count + offset : offset] ^= 0xFF }
        case .write(let name, let offset, let bytes):
            try edit(path(name)) { data in
                let start = offset < 0 ? data.count + offset : offset
                data.replaceSubrange(start..<start + bytes.count, with: bytes)
            }
        case .truncate(let name, let count):
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path(name))
            let file = try FileHandle(forUpdating: URL(filePath: path(name)))
            try file.truncate(atOffset: UInt64(count))
            try file.close()
        case .link(let name, let other):
            try FileManager.default.linkItem(atPath: path(name), toPath: path(other))
        case .symbolicLink(let target, let name):
            try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
        case .remove(let name):
            try FileManager.default.removeItem(atPath: path(name))
        }
    }

    private func edit(_ path: String, _ change: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: URL(filePath: path))
        change(&data)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        try data.write(to: URL(filePath: path))
    }

    private func run(_ invocation: CommandScript.Invocation, in folder: String, at place: String) throws {
        let result = try CommandRunner.run(invocation.words, in: folder, environment: invocation.environment)
        let streams = "\n--- standard output\n\(result.output)--- standard error\n\(result.errors)---"
        #expect(result.status == invocation.exitStatus, "\(place)\(streams)")
        for (expected, text) in [(invocation.output, result.output), (invocation.errors, result.errors)] {
            guard let expected else { continue }
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if lines.last == "" { lines.removeLast() }
            #expect(
                fits(lines[...], expected[...]), "\(place): expected\n\(expected.joined(separator: "\n"))\(streams)")
        }
        if let name = invocation.savedTo {
            try Data(result.output.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
    }
}

@Suite("Script patterns")
struct ScriptPatternTests {
    @Test(
        "Dots stand for anything within a line, and alone for any number of lines",
        arguments: [
            (["a", "b"], ["a", "b"], true), (["a", "b"], ["a"], false), (["a"], ["a", "b"], false),
            (["size 12 kB"], ["size ... kB"], true), (["size 12 kB"], ["size ... MB"], false),
            (["a", "b", "c"], ["...", "c"], true), (["a", "b", "c"], ["a", "..."], true), ([], ["..."], true),
            (["a", "b", "c"], ["...", "b"], false), (["x y z"], ["... y ..."], true), (["ab"], ["ab...ab"], false),
        ])
    func pattern(_ lines: [String], _ pattern: [String], _ expected: Bool) {
        #expect(fits(lines[...], pattern[...]) == expected)
    }
}
