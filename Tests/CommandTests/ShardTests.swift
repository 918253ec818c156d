#if os(Linux)
    import AccelByteIO
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    @Suite("Shares of a conversion in processes of their own")
    struct ShardTests {
        private static let convert = [
            "convert", Fixtures.path("bert_base"), "--shape", "batch=1,sequence=4", "--compress", "int4:block=16",
        ]

        private func document(_ words: [String], in folder: String) throws -> JSON {
            let result = try CommandRunner.run(Self.convert + words + ["--json"], in: folder)
            #expect(result.status == 0, "\(result.errors)")
            return try JSON.parse(ByteView(Array(result.output.utf8)), file: "output")
        }

        private func count(_ name: String, of document: JSON) throws -> Int {
            try JSONField(document, file: "output")["weights"][name].int(in: 0...1000)
        }

        @Test(
            "Processes at once, one of them killed: its share is made again, and nothing else; the package is one process's"
        )
        func killed() throws {
            try withTemporaryFolder { folder in
                #expect(
                    try CommandRunner.run(Self.convert + ["--no-cache", "-o", "one.accelpkg"], in: folder).status == 0)
                // Nobody reads what it says, and its pipe is full: it stops when it begins to compress.
                let stream = Pipe()
                let writer = stream.fileHandleForWriting
                _ = fcntl(writer.fileDescriptor, 1031 /* F_SETPIPE_SZ */, 4096)
                try writer.write(contentsOf: Data(count: 4096))
                let stuck = CommandRunner.process(
                    Self.convert + ["--shard", "4/4", "--progress", "lines"], in: folder)
                stuck.standardError = stream
                stuck.standardOutput = FileHandle.nullDevice
                try stuck.run()
                let others = try (1...3).map { number in
                    let process = CommandRunner.process(
                        Self.convert + ["--shard", "\(number)/4", "--quiet"], in: folder)
                    try process.run()
                    return process
                }
                for process in others {
                    process.waitUntilExit()
                    #expect(process.terminationStatus == 0)
                }
                #expect(stuck.isRunning)
                kill(stuck.processIdentifier, SIGKILL)
                stuck.waitUntilExit()
                #expect(stuck.terminationReason == .uncaughtSignal)

                let whole = try document(["-o", "two.accelpkg"], in: folder)
                let share = try document(["--shard", "4/4"], in: folder)
                let own = try JSONField(share, file: "output")["jobs"].int(in: 1...1000)
                #expect(try count("made", of: whole) == own && count("found", of: whole) == 39 - own)
                #expect(try count("made", of: share) == 0)
                #expect(
                    try CommandRunner.contents(of: "\(folder)/one.accelpkg")
                        == CommandRunner.contents(of: "\(folder)/two.accelpkg"))
            }
        }
    }
#endif
