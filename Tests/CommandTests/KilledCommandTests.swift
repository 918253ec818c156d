#if os(Linux)
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    @Suite("Killed commands")
    struct KilledCommandTests {
        private static let convert = ["convert", Fixtures.path("bert_base"), "--shape", "batch=1,sequence=8", "-q"]
        private static let commands: [(words: [String], output: String)] = [
            (convert + ["--no-cache", "-o", "p.accelpkg"], "p.accelpkg"),
            (convert + ["--no-cache", "--zip", "-o", "p.zip"], "p.zip"),
            (
                ["export"] + convert.dropFirst() + ["--format", "coreml", "--no-cache", "-o", "p.mlpackage"],
                "p.mlpackage"
            ),
        ]

        /// The entries of a folder, without the files of the test's own.
        private func entries(_ folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                ![".cache", ".stdout", ".stderr"].contains($0)
            }.sorted()
        }

        private func start(_ words: [String], in folder: String) throws -> Process {
            let process = CommandRunner.process(words, in: folder)
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            return process
        }

        @Test(
            "whenever a command is killed, the next one leaves nothing beside its output", arguments: commands.indices)
        func killed(_ index: Int) throws {
            let (words, output) = Self.commands[index]
            try withTemporaryFolder { folder in
                let then = Date()
                let whole = try start(words, in: folder)
                whole.waitUntilExit()
                #expect(whole.terminationStatus == 0)
                let took = Date().timeIntervalSince(then)
                // What a user may call so stays.
                let users = [".\(output).partial", ".\(output).0123456789abcdef.partial"]
                for name in users {
                    try FileManager.default.createDirectory(
                        atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
                    try Data("yours".utf8).write(to: URL(filePath: "\(folder)/\(name)/file"))
                }
                var left = 0
                let moments = 16
                for moment in 0..<moments {
                    let process = try start(words, in: folder)
                    usleep(UInt32(took * 1_000_000 * (Double(moment) + 0.5) / Double(moments)))
                    // At every other moment it goes on until it has begun its output, if it has not.
                    while moment % 2 == 1, process.isRunning, try entries(folder).count == users.count + 1 {
                        usleep(100)
                    }
                    kill(process.processIdentifier, SIGKILL)
                    process.waitUntilExit()
                    // At every moment the output is there, this one's or the one before.
                    #expect(try entries(folder).contains(output))
                    left = max(left, try entries(folder).count - users.count - 1)
                    guard moment % 4 == 3 else { continue }
                    #expect(try CommandRunner.run(words, in: folder).status == 0)
                    #expect(try entries(folder) == (users + [output]).sorted())
                }
                // Otherwise the test has shown nothing.
                #expect(left > 0, "no moment of \(took) s left anything")
                for name in users { #expect(FileManager.default.fileExists(atPath: "\(folder)/\(name)/file")) }
            }
        }

        private func isStopped(_ process: Process) -> Bool {
            guard
                let status = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8),
                let state = status.split(separator: ")").last?.split(separator: " ").first
            else { return false }
            return state == "T"
        }

        @Test(
            "the draft of a command that lives stays, however long it waits; and what a cache was left with goes by cache gc"
        )
        func living() throws {
            try withTemporaryFolder { folder in
                let words = Self.convert + ["-o", "p.accelpkg"]
                func partials() throws -> [String] { try entries(folder).filter { $0.hasSuffix(".partial") } }
                let process = try start(words, in: folder)
                let deadline = Date(timeIntervalSinceNow: 60)
                while try partials().isEmpty, process.isRunning, Date() < deadline { usleep(500) }
                kill(process.processIdentifier, SIGSTOP)
                // On another processor it goes on for a moment.
                while process.isRunning, !isStopped(process), Date() < deadline { usleep(500) }
                let waiting = try partials()
                let other = try CommandRunner.run(Self.commands[0].words, in: folder)
                #expect(other.status == 0, "\(other.errors)")
                #expect(try partials() == waiting)
                kill(process.processIdentifier, SIGCONT)
                process.waitUntilExit()
                #expect(process.terminationStatus == 0)
                #expect(try entries(folder) == ["p.accelpkg"])
                try #require(!waiting.isEmpty, "the command was not seen at work")

                // A half-made file in the cache, whose process is gone.
                func inCache() -> [String] {
                    (FileManager.default.subpaths(atPath: "\(folder)/.cache") ?? []).filter {
                        Files.isUnfinished($0)
                    }
                }
                var found = 0
                for moment in 0..<40 where found == 0 {
                    try? FileManager.default.removeItem(atPath: "\(folder)/.cache")
                    let process = try start(words, in: folder)
                    usleep(UInt32(5000 * (moment + 1)))
                    while inCache().isEmpty, process.isRunning { usleep(100) }
                    kill(process.processIdentifier, SIGKILL)
                    process.waitUntilExit()
                    found = inCache().count
                }
                #expect(found > 0)
                #expect(try CommandRunner.run(["cache", "gc"], in: folder).status == 0)
                #expect(inCache() == [])
            }
        }
    }

    private enum Files {
        static func isUnfinished(_ path: String) -> Bool {
            path.split(separator: "/").contains { $0.hasSuffix(".partial") }
        }
    }
#endif
